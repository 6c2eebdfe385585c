"""Variational State Tabulation: Algorithm 1 of the paper's supplement.

Comments cite the lines of the algorithm in its order. What other files do is named where the
algorithm does it. What is ours and changes states, table or decisions is in `extensions`; what
concerns speed only, such as segments, bursts and training beside acting, is here, and off in the
preset `paper`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vast.agents.core import SeedPair
from vast.agents.encoders import TrainableEncoder, bits_of, trainable
from vast.agents.extension import Extensions
from vast.agents.table import TableAgent, make_sweeper
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.extensions import Context, build
from vast.agents.vast.trainers import InlineTrainer, JobTrainer, ThreadTrainer
from vast.agents.vast.training_job import TrainJob, TrainResult, run_job
from vast.agents.vast.training_memory import TrainerSpec
from vast.agents.vast.training_process import ProcessTrainer
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch, Tabulator
from vast.planning import TransitionTable
from vast.replay import Replay, TransitionBatch
from vast.replay.ring import Numbers
from vast.training.protocol import Pose, StateDict

FITTED_FRAMES = 5000
"""frames, at most, that give the mean and spread of observations"""
REVISED_AT_ONCE = 8192
"""frames, at most, whose states are revised at once when all are"""


class VaST(TableAgent):
    """Variational State Tabulation (Corneil, Gerstner & Brea, ICML 2018).

    A variational model learns to encode observations as binary states; a table counts the
    transitions between them, and is revised as the encoder learns; prioritized sweeping plans in
    the table. See `AgentCore` for the arguments of the constructor; `encoder` replaces the learned
    states by those of another encoder, which is trained only if it can be.
    """

    name = "vast"
    config_class = VaSTConfig
    config: VaSTConfig

    def _build(self, seeds: SeedPair) -> None:
        config, planning = self.config, self.config.planning
        extensions = Extensions()
        table = TransitionTable(
            self.n_actions, planning.discount, planning.min_priority, queue=planning.queue
        )
        self.replay = Replay(
            config.replay.capacity,
            self.shape,
            self.n_actions,
            dtype=self.spaces.dtype,
            history=config.history,
            table=table,
            listener=extensions,
            compressed=config.replay.compressed,
            delete_evicted=config.replay.delete_evicted,
        )
        sampling, weights = seeds
        encoder = self._encoder_from(weights)
        context = Context(table, self.replay, bits_of(encoder))
        extensions.parts += build(config.extensions, context)
        sweeper = make_sweeper(table, planning.planner, planning.backups_per_step)
        self._assemble(encoder, table, sweeper, extensions, planning.neighbours)
        self._trainable = trainable(encoder)
        self._jobs = self._make_job_trainer()
        self._sampling = np.random.default_rng(sampling)
        self._trained_at = 0  # the step after which the last training step began
        self._bursts = 0  # training steps of the burst that are done
        self._trainings = 0  # training steps whose results are in use
        self._waiting = 0  # frames stored since the last encoding

    def _make_encoder(self, seed: np.random.SeedSequence) -> Tabulator:
        generator = torch.Generator().manual_seed(int(seed.generate_state(1)[0]))
        return Tabulator(
            self.shape, self.n_actions, self.config.model, generator, device=self.device
        )

    def _make_job_trainer(self) -> JobTrainer:
        """Return what does the training steps."""
        encoder, training = self._trainable, self.config.training
        if encoder is None or not training.overlap:
            return InlineTrainer(encoder)
        encoder.publish()
        if training.process and isinstance(encoder, Tabulator) and encoder.on_cpu:
            return ProcessTrainer(encoder, self._trainer_spec())
        return ThreadTrainer(encoder)

    def _trainer_spec(self) -> TrainerSpec:
        training = self.config.training
        return TrainerSpec(
            shape=self.shape,
            dtype=self.spaces.dtype.str,
            n_actions=self.n_actions,
            model=self.config.model,
            segments=training.batch // training.segment,
            length=training.segment,
            again=training.retabulate,
            threads=self.threads,
        )

    @property
    def frame_store(self) -> Replay:
        """Where the frames are."""
        return self.replay

    # --- experience -------------------------------------------------------------------------------

    def _begun(self, pose: Pose | None) -> None:
        # lines 1-3: `Actor.step` resets the environment and calls `begin`
        self.extensions.begin_episode()
        # line 4: `_tabulate`, as soon as the state is needed
        self.replay.begin(self._frames.newest, pose)  # line 5
        self._waiting += 1

    def _current_state(self) -> int:
        # lines 6-7: `Actor.step` goes on until the episode ends, and `decide` counts the steps
        # line 8: `decide` is epsilon-greedy, by `Decisions.choose`, on Q~ of this state
        self._tabulate()
        (state,), _ = self.replay.states([self.replay.end - 1])
        return int(state)

    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        # line 9: `Actor.step` receives reward and observation, and calls `observe`
        # line 10: `_tabulate`, as soon as the state is needed
        self.replay.append(action, self._visible(reward), self._frames.newest, pose)  # line 11
        self._waiting += 1
        self._tabulate_and_plan()

    def _terminated(self, action: int, reward: float) -> None:
        self.replay.end_terminal(action, self._visible(reward))
        self._count_end(action)
        self._tabulate_and_plan()

    def _cut_off(self) -> None:
        self.replay.end_truncated()

    def _visible(self, reward: float) -> float:
        """Return the reward, or 0 during latent learning."""
        return 0.0 if self.steps <= self.config.latent_steps else reward

    def _tabulate_and_plan(self) -> None:
        if self._waiting >= self.config.encode_batch and self._may_tabulate:
            self._tabulate()
        self._sweeper.plan()

    @property
    def _may_tabulate(self) -> bool:
        config = self.config
        burst_done = self._trainable is None or self._bursts >= config.training.burst
        trained = self.steps >= config.exploration.burn_in and burst_done
        return trained or config.tabulate_burn_in

    def _tabulate(self) -> None:
        """Give all waiting frames their states, and so the table its transitions."""
        numbers = self.replay.waiting()
        self._waiting = 0
        if not len(numbers):
            return
        codes = self.encoder.encode(self.replay.histories(numbers))
        needed = range(1, self.extensions.actions_needed + 1)
        last = [self.replay.actions_before(numbers, steps) for steps in needed]
        states = self.extensions.tag(codes, last)
        revision = self.replay.assign(numbers, states)  # line 12: it adds the transitions
        self._count_revisits(revision.added)
        self.extensions.on_tabulated(revision.added)

    def plan_fully(self) -> int:
        """Tabulate all waiting frames and sweep until nothing changes; return the backups done.

        The model stays as it is. For analysis: an agent that acts plans by its budget.
        """
        self._tabulate()
        return self.table.sweep()

    def _count_revisits(self, added: TransitionBatch) -> None:
        """Count the state-action pairs that had been met before (Fig. 4B), as they are met.

        Steps that waited for their states longer than `encode_batch`, as those of a burn-in that is
        tabulated at its end, do not count: there was nothing yet that they could have revisited.
        """
        pairs = list(zip(added.states.tolist(), added.actions.tolist(), strict=True))
        # A pair is new if all its transitions are among those just added, but only once.
        new = {pair for pair, n in Counter(pairs).items() if self.table.count(*pair) == n}
        waited_since = self.replay.end - 2 - self.config.encode_batch
        met = revisited = 0
        for pair, number in zip(pairs, added.numbers.tolist(), strict=True):
            if number >= waited_since:
                met += 1
                revisited += pair not in new
            new.discard(pair)
        self._visits.add(met, revisited)

    def _count_end(self, action: int) -> None:
        """Count the pair that ended an episode, unless its frame waits and is counted later."""
        (state,), (assigned,) = self.replay.states([self.replay.end - 1])
        if assigned:
            self._visits.add(1, self.table.count(int(state), action) > 1)

    # --- training ---------------------------------------------------------------------------------

    @property
    def burst_left(self) -> int:
        """Training steps left of the burst at the end of the burn-in."""
        return self.config.training.burst - self._bursts if self._trainable else 0

    def train(self) -> bool:
        """Do one training step if one is due; return whether more are due before the next step."""
        encoder, training = self._trainable, self.config.training
        self._jobs.prepare()
        frozen = training.freeze_after is not None and self.steps >= training.freeze_after
        # There is nothing to train on before the first step, whatever the burn-in.
        burning_in = self.steps < max(self.config.exploration.burn_in, 1)
        if encoder is None or burning_in or frozen:
            self._use_result()
            if frozen and self.steps == training.freeze_after and training.retabulate:
                self._retabulate_all()
            return False
        if self._bursts < training.burst:
            self._fit_standardisation(encoder)
            result = run_job(encoder, self._next_job(burst=True))
            self._bursts += 1
            self._use_result(result)
            if self._bursts == training.burst:
                self._tabulate()
                self._plan_after_training(training.burst)
            return self._bursts < training.burst
        if self.steps - self._trained_at >= training.every:  # line 13
            self._fit_standardisation(encoder)
            self._use_result()
            self._trained_at = self.steps
            self._jobs.begin(self._next_job())
            if not training.overlap:
                self._use_result()
        return False

    def _fit_standardisation(self, encoder: TrainableEncoder) -> None:
        """Learn the mean and spread of observations before the first training step."""
        if self.config.model.fits_frames and encoder.steps == 0 and not encoder.fitted:
            stored = np.arange(self.replay.oldest, self.replay.end)
            some = stored[:: -(-len(stored) // FITTED_FRAMES)]
            encoder.fit_standardisation(self.replay.frames(some))

    def _next_job(self, burst: bool = False) -> TrainJob:
        """Draw a minibatch, and further frames to encode again."""
        training = self.config.training
        if training.segment == 1:
            drawn = self.replay.sample(self._sampling, training.batch)  # lines 14-16
            batch = Batch(drawn.frames, drawn.actions, drawn.first)
            numbers, valid = drawn.numbers, drawn.valid
        else:
            runs = self.replay.sample_segments(
                self._sampling, training.batch // training.segment, training.segment
            )
            batch = Batch(runs.frames, runs.actions, runs.first, runs.trained)
            numbers, valid = runs.numbers, runs.valid
        untabulated = burst and not self.config.tabulate_burn_in
        if untabulated or not training.reassign:
            valid = np.zeros_like(valid)
        again = self.replay.next_frames(0 if untabulated else training.retabulate)
        return TrainJob(batch, numbers, valid, self.replay.histories(again), again)

    def _use_result(self, result: TrainResult | None = None) -> None:
        """Let the table follow what the encoder has learned, and plan."""
        # lines 17-20: `Model.forward`, of all samples at once
        result = result or self._jobs.take()
        if result is None:
            return
        self._trainings += 1
        for name, value in zip(result.terms._fields, result.terms, strict=True):
            self._means.add(f"train/{name}", value)
        # Within a burst nothing is encoded to act.
        if self._trainable and self.config.training.overlap and not self.burst_left:
            self._trainable.publish()
        # lines 21-22: `Tabulator.train_and_encode`
        if len(result.numbers):
            numbers, states = self._states_to_revise(result)
            self.replay.reassign(numbers, states)  # lines 23-30
        # line 31: `Tabulator.train_and_encode`, which also returned these states
        # lines 32-34: `Trainer.run` goes on with the next step
        self._plan_after_training()

    def _states_to_revise(self, result: TrainResult) -> tuple[Numbers, NDArray[np.uint64]]:
        """Return the new states of frames that are still stored and already have a state.

        A frame that still waits gets its first state when its turn comes: only then is it known
        whether its state-action pair had been met before.
        """
        stored = result.numbers >= self.replay.oldest
        numbers, codes = result.numbers[stored], result.codes[stored]
        states, assigned = self.replay.states(numbers)
        new = self.extensions.retag(codes, states)
        sampled = np.flatnonzero(stored) < result.sampled
        for name, part in (("reassigned", sampled), ("retabulated", ~sampled)):
            changed = (new != states)[part & assigned]
            if len(changed):
                self._means.add(f"table/{name}", float(changed.mean()), len(changed))
        return numbers[assigned], new[assigned]

    def _retabulate_all(self) -> None:
        """Give every stored frame the state that the encoder, now final, gives it; plan."""
        stored = np.arange(self.replay.oldest, self.replay.end)
        for numbers in np.array_split(stored, -(-len(stored) // REVISED_AT_ONCE)):
            states, assigned = self.replay.states(numbers)
            codes = self.encoder.encode(self.replay.histories(numbers))
            new = self.extensions.retag(codes, states)
            self.replay.reassign(numbers[assigned], new[assigned])
        if self.config.planning.planner == "inline":
            self.table.sweep()

    def _plan_after_training(self, steps: int = 1) -> None:
        """Spend the budget of these training steps; in the background, planning goes on anyway."""
        planning = self.config.planning
        if planning.planner == "inline":
            self.table.sweep(steps * planning.backups_per_training)

    # --- looking ----------------------------------------------------------------------------------

    def _sizes(self) -> dict[str, float]:
        return {"train/steps": self._trainings, **super()._sizes()}

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {**super().progress_stats(), "training steps": self._trainings}

    def close(self) -> None:
        """Stop training and planning in the background."""
        self._jobs.close()
        super().close()

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> StateDict:
        # A training step under way is waited for, and its result saved without being used.
        result = self._jobs.wait()
        return {
            **super()._own_state(),
            "replay": self.replay.state_dict(frames=False),
            "sampling": self._sampling.bit_generator.state,
            "trained_at": self._trained_at,
            "bursts": self._bursts,
            "trainings": self._trainings,
            "waiting": self._waiting,
            "result": None
            if result is None
            else {
                "terms": list(result.terms),
                "numbers": result.numbers,
                "codes": result.codes,
                "sampled": result.sampled,
            },
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self._jobs.take()
        self.replay.load_state_dict(state["replay"], frames)
        super()._load_own_state(state, frames)
        self._sampling.bit_generator.state = state["sampling"]
        self._trained_at, self._bursts = int(state["trained_at"]), int(state["bursts"])
        self._trainings, self._waiting = int(state["trainings"]), int(state["waiting"])
        saved = state["result"]
        self._jobs.restore(
            None
            if saved is None
            else TrainResult(
                Terms(*saved["terms"]), saved["numbers"], saved["codes"], int(saved["sampled"])
            )
        )
