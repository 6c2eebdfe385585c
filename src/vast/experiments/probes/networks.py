"""What Fig. 2 shows: one step of a trained agent, through all its networks.

Of two successive observations, the first one is sampled, and each action's transition network says
which code it expects next; the second one is encoded, sampled, discretised and reconstructed.
"""

from typing import Any

import numpy as np
import torch

from vast.agents.vast.agent import VaST
from vast.errors import UserError
from vast.experiments.probes.images import image_text
from vast.experiments.probes.values import rounded
from vast.experiments.runs import Run
from vast.model import codes
from vast.model.tabulator import Tabulator


def networks(run: Run) -> dict[str, Any]:
    """Return what the networks of the run's agent make of one step, chosen by the run's seed."""
    agent = run.agent
    if not isinstance(agent, VaST) or not isinstance(agent.encoder, Tabulator):
        raise UserError(
            f"the run's agent must be 'vast' with a learned encoder, got {agent.name!r}"
        )
    if len(agent.shape) != 3:
        raise UserError(f"observations must be images, got the shape {agent.shape}")
    number, action = _step(agent, run.config.seed)
    pair = agent.replay.histories(np.array([number - 1, number]))
    return {"action": action, **_through(agent.encoder, pair, run.config.seed)}


def _step(agent: VaST, seed: int) -> tuple[int, int]:
    """Return the number of a stored frame with one before it, and the action between them."""
    numbers = np.arange(agent.replay.encodable_from + 1, agent.replay.end)
    actions, known = agent.replay.actions_before(numbers)
    if not known.any():
        raise UserError("the run's replay must hold two successive frames")
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(known))
    return int(numbers[chosen]), int(actions[chosen])


def _through(encoder: Tabulator, pair: np.ndarray, seed: int) -> dict[str, Any]:
    """Return the outputs of all networks for two successive observations with their histories."""
    model = encoder.model
    generator = torch.Generator(model.initial.device).manual_seed(seed)
    logits = encoder.logits(pair)
    keys = encoder.encode(pair)
    with torch.inference_mode():
        drawn = model.estimator.sample(torch.as_tensor(logits).to(model.initial), generator)
        sample = model.estimator.code(drawn)
        before = model.network_code(sample[:1]).expand(model.n_actions, -1)
        expected = torch.cat(model.transitions(before, [1] * model.n_actions)).sigmoid()
        picture = model.reconstructed(sample[1:])[0].movedim(0, -1)
    return {
        "n_actions": model.n_actions,
        "observations": [image_text(frames[-1]) for frames in pair],
        "logits": rounded(logits[1].astype(float), 3),
        "sample": rounded(sample[1].double().numpy(), 4),
        "mode": codes.unpack(keys[1:], encoder.n_bits)[0].astype(int).tolist(),
        "reconstruction": image_text(picture.numpy()),
        "previous_sample": rounded(sample[0].double().numpy(), 4),
        "expected_next": rounded(expected.double().numpy(), 4),
    }
