"""Neural Episodic Control: values by similarity to earlier states, the similarity learned."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.base import ReplayAgent, Values
from vast.agents.core import SeedPair
from vast.agents.nearest import Keys, Rows
from vast.agents.nec.config import NECConfig
from vast.agents.nec.dictionary import Dictionary
from vast.agents.nec.returns import Returns, Step
from vast.model import network_state
from vast.training.protocol import Pose, StateDict


class NEC(ReplayAgent):
    """Neural episodic control (Pritzel et al. 2017, Algorithm 1).

    Each step is stored with its N-step return, in the dictionary of its action under the embedding
    of the observation, and as a sample in the replay. Training moves the network, and keys and
    values of the neighbours found, so that lookups give the returns. An episode that is cut off
    bootstraps from its last frame.
    """

    name = "nec"
    config_class = NECConfig
    config: NECConfig

    def _build(self, seeds: SeedPair) -> None:
        super()._build(seeds)
        config = self.config
        self.dictionary = Dictionary(
            self.n_actions,
            config.capacity,
            config.embedding,
            config.neighbours,
            config.kernel_offset,
            config.inverted,
        )
        self._returns = Returns(config.n_steps, config.discount, config.embedding)
        self._target = np.full(config.replay, np.nan)
        """the return of the step at each frame stored, by slot; nan if not known or none"""
        self._action = np.zeros(config.replay, np.uint8)
        self._number = -1
        self._key: Keys = np.zeros(config.embedding, np.float32)
        self._values: Values | None = None
        """the values at the present key, if they were looked up already"""

    @property
    def _n_outputs(self) -> int:
        return self.config.embedding

    def embed(self, history: NDArray[Any]) -> Keys:
        """Return the key of a frame after the k before it, [k + 1, *shape]."""
        key: Keys = self.network.outputs(history[None])[0]
        return key

    def values(self, history: NDArray[Any]) -> Values:
        """Return the value that each action's dictionary gives."""
        return self.dictionary.look_up(self.embed(history)).values

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {**super().progress_stats(), "entries": len(self.dictionary)}

    def _sizes(self) -> dict[str, float]:
        return {**super()._sizes(), "memory/entries": len(self.dictionary)}

    # --- experience -------------------------------------------------------------------------------

    def _begun(self, pose: Pose | None) -> None:
        self._arrive(self.replay.begin(self._frames.newest, pose))

    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        self._returns.add(Step(self._number, self._key, action, reward))
        self._arrive(self.replay.append(action, reward, self._frames.newest, pose))
        if self._returns.is_due:
            self._write(*self._returns.take_oldest(self._decision_values().max()))

    def _terminated(self, action: int, reward: float) -> None:
        self._returns.add(Step(self._number, self._key, action, reward))
        self.replay.end_terminal(action, reward)
        for done in self._returns.take_all(0.0):
            self._write(*done)

    def _cut_off(self) -> None:
        self.replay.end_truncated()
        for done in self._returns.take_all(self._decision_values().max()):
            self._write(*done)

    def _arrive(self, number: int) -> None:
        self._number, self._key, self._values = number, self.embed(self._frames.history), None
        self._target[number % self.config.replay] = np.nan

    def _decision_values(self) -> Values:
        """Look up the present key, once, for the decision and for the returns that end here."""
        if self._values is None:
            found = self.dictionary.look_up(self._key)
            self.dictionary.touch(found)
            for distances in found.distances:
                if len(distances):
                    self._means.add("memory/distance", float(distances.mean()), len(distances))
            self._values = found.values
        return self._values

    def _write(self, step: Step, following: float) -> None:
        self.dictionary.write(step.action, step.key, following, self.config.tabular_rate)
        slot = step.number % self.config.replay
        self._target[slot], self._action[slot] = following, step.action

    # --- learning ---------------------------------------------------------------------------------

    def _learn(self) -> bool:
        """Do one step of gradient descent on the squared errors of a minibatch's lookups."""
        batch = self._sample()
        if not len(batch):
            return False
        slots = batch % self.config.replay
        queries = self.network(self.replay.histories(batch))
        q, lookups = self.dictionary.estimates(queries, self._action[slots].astype(np.int64))
        targets = network_state.tensor_like(self._target[slots], q)
        loss = (q - targets).square().mean()
        self._optimiser.descend(loss)
        self.dictionary.descend(lookups, self.config.memory_rate * self.config.batch)
        self._means.add("train/loss", loss.item())
        return True

    def _sample(self) -> Rows:
        """Draw the frames of a minibatch, uniformly from those whose return is known.

        Nearly all stored frames have one: others drawn are left out. Only where most have none are
        all of them looked at. Empty if there is none.
        """
        config, first, end = self.config, self.replay.encodable_from, self.replay.end
        if first < end:
            known = self._known(self._rng.integers(first, end, size=2 * config.batch))
            if len(known) >= config.batch:
                return known[: config.batch]
        known = self._known(np.arange(first, end))
        return self._rng.choice(known, config.batch) if len(known) else known

    def _known(self, numbers: Rows) -> Rows:
        """Return those of these frames whose return is known."""
        known: Rows = numbers[~np.isnan(self._target[numbers % self.config.replay])]
        return known

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> StateDict:
        return {
            **super()._own_state(),
            "dictionary": self.dictionary.state_dict(),
            "returns": self._returns.state_dict(),
            "target": self._target.copy(),
            "action": self._action.copy(),
            "number": self._number,
            "key": self._key.copy(),
            "values": None if self._values is None else self._values.copy(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        super()._load_own_state(state, frames)
        self.dictionary.load_state_dict(state["dictionary"])
        self._returns.load_state_dict(state["returns"])
        self._target = np.array(state["target"], np.float64)
        self._action = np.array(state["action"], np.uint8)
        self._number = int(state["number"])
        self._key = np.array(state["key"], np.float32)
        values = state["values"]
        self._values = None if values is None else np.array(values, np.float64)
