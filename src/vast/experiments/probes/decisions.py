"""What plain VaST would gain from our extensions of decisions alone, on the table that it has.

The table, and so what was learned and planned, stays as it is. If tests become better, decisions
were at fault; if they do not, nor when the table is planned to the end, states or experience are.
"""

from contextlib import closing
from dataclasses import replace
from typing import Any

from vast.agents.encoders import bits_of
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context, build
from vast.errors import UserError
from vast.experiments.config import default_run
from vast.experiments.probes.follow_up import tested
from vast.experiments.runs import Run
from vast.tasks import make_env

STEPS = 6000
"""environment steps of each test"""
FIELDS = {
    "as trained": (),
    "repeat penalty": ("repeat_penalty", "repeat_by"),
    "smoothing": ("smoothing",),
    "caution": ("caution",),
    "all three": ("repeat_penalty", "repeat_by", "smoothing", "caution"),
}
"""the tests, and which fields of `extensions` they have from the preset `cpu` of the task"""


def decisions(run: Run) -> dict[str, Any]:
    """Test plain VaST with each extension of decisions, and once more when it has planned."""
    agent, task = run.agent, run.config.task
    if not isinstance(agent, VaST) or agent.config.extensions != ExtensionsConfig():
        raise UserError(f"the probe 'decisions' must have plain VaST, got {run.config.agent}")
    ours = default_run(task, "vast", "cpu").settings.extensions
    context = Context(agent.table, agent.replay, bits_of(agent.encoder))
    found = {}
    with closing(make_env(task)) as env:
        run.copy_env_settings(env)
        for name, fields in FIELDS.items():
            chosen = {field: getattr(ours, field) for field in fields}
            agent.extensions.parts[:] = build(replace(ExtensionsConfig(), **chosen), context)
            found[name] = tested(run, env, STEPS)
        agent.extensions.parts[:] = []
        agent.plan_fully()
        found["planned to the end"] = tested(run, env, STEPS)
    return found
