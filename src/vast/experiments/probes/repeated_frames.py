"""How often a trained policy sees a frame that it has seen before, pixel by pixel."""

from contextlib import closing
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

from vast.experiments.runs import Run
from vast.training.rollout import episode_seeds, rollout

STEPS = 10_000
EPSILON = 0.05


def repeated_frames(run: Run) -> dict[str, Any]:
    """Return the share of frames that were seen in an earlier episode."""
    acting, resetting = np.random.SeedSequence(run.config.seed).spawn(2)
    policy = run.agent.policy(EPSILON, np.random.default_rng(acting))
    earlier: set[bytes] = set()
    present: set[bytes] = set()
    episode, repeated = 0, 0
    with closing(run.config.make_env()) as env:
        run.copy_env_settings(env)
        for step in islice(rollout(policy, env, episode_seeds(resetting)), STEPS):
            if step.episode != episode:
                earlier |= present
                present, episode = set(), step.episode
            frame = blake2b(step.observation.tobytes(), digest_size=16).digest()
            repeated += frame in earlier
            present.add(frame)
    return {"steps": STEPS, "epsilon": EPSILON, "episodes": episode + 1, "share": repeated / STEPS}
