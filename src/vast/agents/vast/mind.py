"""Variational State Tabulation: the paper's Algorithm 1 (supplement)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from vast.agents.seen import Seen
from vast.agents.tables import Visits, sweeper
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.estimate import Estimate
from vast.agents.vast.leaps import Leaps
from vast.agents.vast.lockstep import Learned, Lockstep, Task, learn
from vast.agents.vast.marks import Marks
from vast.agents.vast.policy import TablePolicy
from vast.agents.vast.recency import RecentRewards
from vast.agents.vast.restless import Restless
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch, Tabulator
from vast.planning import TransitionTable
from vast.replay import Replay, Transitions
from vast.replay.ring import Numbers
from vast.replay.shrinking import Shrinking
from vast.training.exploration import explores, greedy
from vast.training.protocol import Observation, State
from vast.training.tally import Tally

FITTED_FRAMES = 5000
"""frames from which the mean and spread of observations are taken, at most"""


class VaSTMind:
    """Tabulator, replay, table and sweeper, and when each of them has its turn."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: VaSTConfig,
        seed: np.random.SeedSequence,
        device: str = "cpu",
    ) -> None:
        self.config = config
        self.n_actions = n_actions
        self.steps = 0
        acting, sampling, learning = seed.spawn(3)
        self._acting = np.random.default_rng(acting)
        self._sampling = np.random.default_rng(sampling)
        generator = torch.Generator(device)
        generator.manual_seed(int(learning.generate_state(1)[0]))
        self._arriving = tuple(shape), np.dtype(dtype)
        self._shrinking = Shrinking(shape, config.resize)
        planning, replay = config.planning, config.replay
        self.table = TransitionTable(
            n_actions, planning.discount, planning.min_priority, queue=planning.queue
        )
        self._recent = (
            None
            if planning.reward_horizon is None
            else RecentRewards(
                self.table, planning.reward_horizon, planning.reward_width, planning.change_point
            )
        )
        self.tabulator = Tabulator(self._shrinking.shape, n_actions, config.model, generator)
        self.replay = Replay(
            replay.capacity,
            self._shrinking.shape,
            n_actions,
            dtype=dtype,
            history=config.model.history,
            table=self.table,
            ledger=self._recent,
            compressed=replay.compressed,
            delete_evicted=replay.delete_evicted,
        )
        self._leaps = (
            None if planning.leap is None else Leaps(self.table, self.replay, planning.leap)
        )
        self._sweeper = sweeper(self.table, planning.planner, planning.backups_per_step)
        self._visits = Visits(self.table)
        self._estimate = Estimate(self.table, planning, learning=True)
        self._marks = Marks(n_actions, config.model.n_bits, config.last_action)
        self._restless = self._new_restless()
        self._newest = np.zeros(self._shrinking.shape, dtype)  # the frame stored last
        self._lockstep = Lockstep()
        if config.training.overlap:
            self.tabulator.publish()
        self._trained_at = 0  # the step after which the last training step was begun
        self._bursts = 0  # training steps of the burst done
        self._trainings = 0  # training steps whose results are in use
        self._waiting = 0  # frames stored since the last were encoded
        self._tally = Tally()

    @property
    def frame_store(self) -> Replay:
        """Where the frames are."""
        return self.replay

    # --- living -----------------------------------------------------------------------------------

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode (Algorithm 1, lines 3 to 5)."""
        self._newest = self._shrinking(observation)
        self.replay.begin(self._newest)
        self._restless.begin()
        self._waiting += 1

    def decide(self) -> int:
        """Act epsilon-greedily on the neighbour estimate (line 8)."""
        epsilon = self.config.exploration.epsilon_at(self.steps)
        self.steps += 1
        if explores(epsilon, self._acting):
            return int(self._acting.integers(self.n_actions))
        self._tabulate()
        (state,), _ = self.replay.states([self.replay.end - 1])
        q, distances = self._estimate(int(state))
        self._tally.add("table/lookup_distance", float(distances.mean()))
        action = greedy(self._restless.worth(self._newest, int(state), q), self._acting)
        self._restless.take(self._newest, int(state), action)
        return action

    def observe(
        self,
        action: int,
        reward: float,
        observation: Observation,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Store a step, encode if enough frames wait, plan (lines 9 to 12)."""
        if self.steps <= self.config.latent_steps:
            reward = 0.0
        if terminated:
            self.replay.end_terminal(action, reward)
            self._count_end(action)
        else:
            self._newest = self._shrinking(observation)
            self.replay.append(action, reward, self._newest)
            self._waiting += 1
            if truncated:
                self.replay.end_truncated()
        if self._waiting >= self.config.encode_batch and self._may_tabulate:
            self._tabulate()
        self._sweeper.plan()

    def cut(self) -> None:
        """Take note that the episode is abandoned here, as if truncated."""
        self.replay.end_truncated()

    @property
    def _may_tabulate(self) -> bool:
        config = self.config
        burnt_in = (
            self.steps >= config.exploration.burn_in and self._bursts >= config.training.burst
        )
        return burnt_in or config.tabulate_burn_in

    def _tabulate(self) -> None:
        """Give all frames that wait their states, and so the table its transitions."""
        numbers = self.replay.waiting()
        self._waiting = 0
        if not len(numbers):
            return
        codes = self.tabulator.encode(self.replay.histories(numbers))
        revision = self.replay.assign(numbers, self._marks.first(self.replay, numbers, codes))
        self._count_revisits(revision.added)
        if self._leaps is not None:
            self._leaps.notice(revision.added)

    def settle(self) -> int:
        """Give all frames that wait their states, and plan to the end; return the backups done.

        The model stays as it is. For looking at an agent: one that lives plans by its budget.
        """
        self._tabulate()
        return self.table.sweep()

    def _count_revisits(self, added: Transitions) -> None:
        """Count which state-action pairs had been met before (Fig. 4B)."""
        pairs = Counter(zip(added.states.tolist(), added.actions.tolist(), strict=True))
        # A pair is new if all its transitions are among those just added.
        new = sum(self.table.count(*pair) == count for pair, count in pairs.items())
        self._visits.note(pairs.total(), pairs.total() - new)

    def _count_end(self, action: int) -> None:
        """Count the pair that ended an episode, unless its frame waits and is counted later."""
        (state,), (assigned,) = self.replay.states([self.replay.end - 1])
        if assigned:
            self._visits.note(1, self.table.count(int(state), action) > 1)

    # --- training ---------------------------------------------------------------------------------

    def train(self) -> bool:
        """Do one training step if one is due; return whether more are due before the next step."""
        training, burn_in = self.config.training, self.config.exploration.burn_in
        frozen = training.freeze_after is not None and self.steps >= training.freeze_after
        # There is nothing to train on before the first step, whatever the burn-in.
        if self.steps < max(burn_in, 1) or frozen:
            self._finish()
            return False
        if self._bursts < training.burst:
            self._prepare()
            self._finish(learn(self.tabulator, self._next_task(burst=True)))
            self._bursts += 1
            if self._bursts == training.burst:
                self._tabulate()
                self._plan(training.burst)
            return self._bursts < training.burst
        if self.steps - self._trained_at >= training.every:
            self._prepare()
            self._finish()
            self._trained_at = self.steps
            task = self._next_task()
            if training.overlap:
                self._lockstep.begin(lambda: learn(self.tabulator, task))
            else:
                self._finish(learn(self.tabulator, task))
        return False

    def _prepare(self) -> None:
        """Learn the mean and spread of observations before the first training step."""
        model = self.config.model
        fits = model.standardise or model.network.mean_output_bias
        if fits and self.tabulator.steps == 0 and not self.tabulator.fitted:
            stored = np.arange(self.replay.oldest, self.replay.end)
            some = stored[:: -(-len(stored) // FITTED_FRAMES)]
            self.tabulator.fit_standardisation(self.replay.frames(some))

    def _next_task(self, burst: bool = False) -> Task:
        """Draw a minibatch (lines 14 to 16), and the frames to encode again."""
        training = self.config.training
        if training.segment == 1:
            drawn = self.replay.sample(self._sampling, training.batch)
            batch = Batch(drawn.frames, drawn.actions, drawn.first)
            numbers, valid = drawn.numbers, drawn.valid
        else:
            runs = self.replay.sample_segments(
                self._sampling, training.batch // training.segment, training.segment
            )
            batch = Batch(runs.frames, runs.actions, runs.first, runs.trained)
            numbers, valid = runs.numbers, runs.valid
        if not training.reassign or (burst and not self.config.tabulate_burn_in):
            valid = np.zeros_like(valid)
        count = 0 if burst and not self.config.tabulate_burn_in else training.retabulate
        again = self.replay.next_frames(count)
        return Task(batch, numbers, valid, self.replay.histories(again), again)

    def _finish(self, learned: Learned | None = None) -> None:
        """Let the table follow what was learned (lines 20 to 28), and plan."""
        learned = learned or self._lockstep.take()
        if learned is None:
            return
        self._trainings += 1
        for name, value in zip(learned.terms._fields, learned.terms, strict=True):
            self._tally.add(f"train/{name}", value)
        if self.config.training.overlap:
            self.tabulator.publish()
        numbers, states = self._assigned(learned)
        revision = self.replay.reassign(numbers, states)
        if revision.frames:
            self._tally.add("table/reassigned", revision.share, revision.frames)
        self._plan()

    def _assigned(self, learned: Learned) -> tuple[Numbers, NDArray[np.uint64]]:
        """Return what was learned of frames that have a state to be revised.

        A frame may have been evicted meanwhile. One that still waits gets its first state when its
        turn comes: only then is it known whether what was done there had been done before.
        """
        stored = learned.numbers >= self.replay.oldest
        numbers, codes = learned.numbers[stored], learned.codes[stored]
        states, assigned = self.replay.states(numbers)
        return numbers[assigned], self._marks.again(states, codes)[assigned]

    def _plan(self, steps: int = 1) -> None:
        """Plan as much as these training steps are worth; in the background it goes on anyway."""
        planning = self.config.planning
        if planning.planner == "inline":
            self.table.sweep(steps * planning.backups_per_training)

    # --- looking ----------------------------------------------------------------------------------

    def policy(self, epsilon: float, rng: np.random.Generator) -> TablePolicy:
        """Return the present policy, random in a share `epsilon` of steps, with its own chance."""
        restless = self._new_restless()
        seen = Seen(*self._arriving, self.config.model.history, self.config.resize)
        estimate = Estimate(self.table, self.config.planning, learning=False)
        return TablePolicy(self.tabulator, estimate, seen, self._marks, restless, epsilon, rng)

    def _new_restless(self) -> Restless:
        config = self.config
        return Restless(
            self.table,
            self.n_actions,
            config.planning.discount,
            config.restlessness,
            config.restless_by,
        )

    def metrics(self) -> dict[str, float]:
        """Return what was measured since the last call."""
        return {
            "agent/epsilon": self.config.exploration.epsilon_at(self.steps),
            "train/steps": self._trainings,
            **self._visits.metrics(),
            **self._tally.means(),
        }

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        return {
            "epsilon": self.config.exploration.epsilon_at(self.steps),
            "trainings": self._trainings,
            "states": len(self.table),
            "backups/s": self._sweeper.statistics.backups_per_second,
        }

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return all that the future depends on, but for the frames."""
        # A training step under way is waited for, and its result saved without being used.
        learned = self._lockstep.wait()
        return {
            "steps": self.steps,
            "trained_at": self._trained_at,
            "bursts": self._bursts,
            "trainings": self._trainings,
            "waiting": self._waiting,
            "pairs": self._visits.counts(),
            "acting": self._acting.bit_generator.state,
            "sampling": self._sampling.bit_generator.state,
            "restless": self._restless.state_dict(),
            "tally": self._tally.state_dict(),
            "model": self.tabulator.state_dict(),
            "table": self.table.state_dict(),
            "recent": None if self._recent is None else self._recent.state_dict(),
            "replay": self.replay.state_dict(frames=False),
            "learned": None
            if learned is None
            else {
                "terms": list(learned.terms),
                "numbers": learned.numbers,
                "codes": learned.codes,
            },
        }

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        """Become the saved agent; `frames` are pieces from `frames_since`, oldest first."""
        self._lockstep.take()
        self.replay.load_state_dict(state["replay"], frames)
        if len(self.replay):
            (self._newest,) = self.replay.frames([self.replay.end - 1])
        self.table.load_state_dict(state["table"])
        if self._recent is not None:
            self._recent.load_state_dict(state["recent"])
        self.tabulator.load_state_dict(state["model"])
        self._acting.bit_generator.state = state["acting"]
        self._sampling.bit_generator.state = state["sampling"]
        self._restless.load_state_dict(state["restless"])
        self._tally.load_state_dict(state["tally"])
        self._visits.load_counts(state["pairs"])
        self.steps, self._trained_at = int(state["steps"]), int(state["trained_at"])
        self._bursts, self._waiting = int(state["bursts"]), int(state["waiting"])
        self._trainings = int(state["trainings"])
        learned = state["learned"]
        self._lockstep.restore(
            None
            if learned is None
            else Learned(Terms(*learned["terms"]), learned["numbers"], learned["codes"])
        )

    def close(self) -> None:
        """End what runs in the background."""
        self._lockstep.close()
        self._sweeper.stop()
