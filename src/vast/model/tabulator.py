"""The tabulator: trains the model on minibatches, and maps observations to discrete states."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from vast.model import bernoulli, codes, network_state
from vast.model.adam import Adam
from vast.model.config import ModelConfig
from vast.model.free_energy import Terms, as_numbers
from vast.model.model import Model
from vast.model.networks import Encoder
from vast.model.single import SingleEncoders

VERSION = 1
ROWS_AT_ONCE = 512
"""observations encoded at once: enough to keep a processor busy, few enough to limit memory"""


class Batch(NamedTuple):
    """A minibatch of single steps, or of segments of L consecutive steps."""

    observations: NDArray[Any]
    """o[j-k-1 : j], both ends included, [B, k + 2, *shape], blank (zero) before an episode's start;
    for segments, [B, k + 1 + L, *shape]"""
    actions: NDArray[np.integer[Any]]
    """the action that led to each o_j, [B] or [B, L]; any valid one where o_j is a first frame"""
    first: NDArray[np.bool_]
    """whether o_j is the first frame of an episode: frames before it are then ignored, and it
    trains the initial distribution; [B] or [B, L]"""
    trained: NDArray[np.bool_] | None = None
    """which o_j are trained on, [B] or [B, L]: segments may extend beyond an episode; None: all"""


class Tabulator:
    """Owns the networks and their optimiser; knows nothing of rewards or tables.

    `shape` is that of one observation: (rows, columns, channels) of bytes, or (n,) floats. All
    random numbers come from the generator, on the CPU, wherever the networks are: so weights begin
    alike on every `device`, and what is saved on one can be loaded on another.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        n_actions: int,
        config: ModelConfig,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> None:
        self.shape = tuple(shape)
        self.n_actions = n_actions
        self.config = config
        self.generator = generator
        self.steps = 0
        """training steps done"""
        self.device = device or generator.device
        self.model = Model(self.shape, n_actions, config, generator, dtype).to(self.device)
        self._optimiser = Adam(self.model, config.learning_rate, config.betas, config.epsilon)
        self._average = copy.deepcopy(self.model.encoder) if config.ema_decay else None
        self._published: Encoder | None = None
        self._singles = SingleEncoders(self.model.observations)

    @property
    def n_bits(self) -> int:
        """Bits of a state."""
        return self.config.n_bits

    @property
    def on_cpu(self) -> bool:
        """Whether its networks are in main memory."""
        return self.device.type == "cpu"

    # --- learning ---------------------------------------------------------------------------------

    def train(self, batch: Batch) -> Terms[float]:
        """Take one gradient step on the free energy; return its terms from before the step."""
        return self._train(batch)[0]

    def train_and_encode(self, batch: Batch) -> tuple[Terms[float], NDArray[np.uint64]]:
        """Do the same, and also return the states of the frames, [B, 2] or [B, L + 1].

        Reassignment needs them (supplement, Algorithm 1, lines 21 to 22). They are those from
        before the step, whose logits are known already. With `ema_decay`, they come from the
        averaged encoder after the step. The state of a frame before a first frame is meaningless.
        """
        terms, posterior, inputs = self._train(batch)
        if self._average is not None:
            with torch.no_grad():
                posterior = self.model.posterior(inputs, self._average)
        return terms, self._keys(posterior)

    def publish(self) -> None:
        """Make `encode` use a copy of the encoder as it is now, until the next call.

        For training beside acting: the encoder that `encode` uses must not change meanwhile.
        """
        newest = self._average or self.model.encoder
        if self._published is None:
            self._published = copy.deepcopy(newest)
        with torch.no_grad():
            for copied, new in zip(self._published.parameters(), newest.parameters(), strict=True):
                copied.copy_(new)

    def fit_standardisation(self, observations: NDArray[Any]) -> None:
        """Compute mean and standard deviation from these [N, *shape] observations, once.

        A second call raises an error: codes from before and after it would not be comparable. With
        `mean_output_bias`, the decoder's output starts from the mean, too; with `weighting`, the
        pixels of the target get their weights.
        """
        model = self.model
        if not self.config.fits_frames:
            raise RuntimeError(
                "fit_standardisation needs standardise, mean_output_bias or weighting to be set"
            )
        if model.observations.fitted or self.steps:
            raise RuntimeError("fit_standardisation must be called only once, before training")
        if not len(observations):
            raise ValueError("fit_standardisation needs at least one observation, got 0")
        with torch.no_grad():
            frames = torch.cat([model.observations.frames(part) for part in _parts(observations)])
            model.fit(frames)

    @property
    def fitted(self) -> bool:
        """Whether the standardisation has been fitted."""
        return bool(self.model.observations.fitted)

    # --- tabulating -------------------------------------------------------------------------------

    def encode(self, observations: NDArray[Any], *, newest: bool = False) -> NDArray[np.uint64]:
        """Return the states of observations: argmax q(s | o[t-k : t]) as [N] 64-bit keys.

        Observations are [N, k + 1, *shape], oldest first; if k = 0, [N, *shape] will do.
        `newest` uses the encoder as it is now, even if an earlier copy is published.
        """
        encoder = (None if newest else self._published) or self._average or self.model.encoder
        k = self.config.history
        if k == 0 and observations.ndim == 1 + len(self.shape):
            observations = observations[:, None]
        self._check_frames(observations, k + 1)
        if len(observations) == 1:
            single = self._singles.of(encoder)
            if single is not None:
                self.model.observations.check(observations[0])
                return codes.pack(single.logits(observations[0])[None] > 0)
        keys = [np.empty(0, np.uint64)]
        with torch.inference_mode():
            for part in _parts(observations):
                no_steps = torch.zeros(len(part), 0, dtype=torch.bool)
                inputs = self.model.encoder_inputs(self._frames(part), no_steps)
                keys.append(self._keys(self.model.posterior(inputs, encoder))[:, 0])
        return np.concatenate(keys)

    def logits(self, observations: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """Return the encoder's outputs x, of whose signs `encode` makes states: [N, d]."""
        self._check_frames(observations, self.config.history + 1)
        encoder = self._published or self._average
        with torch.inference_mode():
            no_steps = torch.zeros(len(observations), 0, dtype=torch.bool)
            inputs = self.model.encoder_inputs(self._frames(observations), no_steps)
            return network_state.array(self.model.posterior(inputs, encoder)[:, 0])

    def decode(self, keys: ArrayLike) -> NDArray[np.floating[Any]]:
        """Return the expected observation in each state, images in [0, 1]: [N, *shape]."""
        bits = codes.unpack(np.asarray(keys, np.uint64), self.config.n_bits)
        parts = []
        with torch.inference_mode():
            for part in _parts(bits):
                z = torch.from_numpy(part).to(self.model.initial)
                parts.append(network_state.array(self.model.reconstructed(z)))
        frames: NDArray[np.floating[Any]] = (
            np.concatenate(parts) if parts else np.empty((0, *self.model.observations.frame))
        )
        return np.moveaxis(frames, 1, -1) if self.model.observations.is_image else frames

    def reconstruct(self, observations: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """Return the expected observations in the states of these: `decode(encode(...))`."""
        return self.decode(self.encode(observations))

    # --- saving -----------------------------------------------------------------------------------

    def trained_tensors(self) -> dict[str, Tensor]:
        """Return all tensors that training changes, by name."""
        parts = [("model", self.model), ("average", self._average)]
        return {
            **{
                f"{prefix}/{name}": tensor
                for prefix, part in parts
                if part is not None
                for name, tensor in part.state_dict(keep_vars=True).items()
            },
            **self._optimiser.tensors(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return all that training continues from, as NumPy arrays and integers."""
        state: dict[str, Any] = {"version": VERSION, "steps": self.steps}
        state["generator"] = network_state.array(self.generator.get_state())
        state |= {name: network_state.array(tensor) for name, tensor in self._tensors().items()}
        return state | self._optimiser.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state; if it does not fit, raise ValueError and change nothing."""
        if "version" in state and int(state["version"]) != VERSION:
            raise ValueError(f"saved model: version must be {VERSION}, got {state['version']}")
        tensors = self._tensors()
        moments = self._optimiser.expected(state)
        generator = self.generator.get_state()
        expected: dict[str, Tensor | int]
        expected = {"version": VERSION, "steps": 0, "generator": generator, **tensors, **moments}
        network_state.check(state, expected)
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))
        network_state.copy_into(tensors, state)
        self._optimiser.load_state_dict(state)
        self.steps = int(state["steps"])

    def _tensors(self) -> dict[str, Tensor]:
        tensors = network_state.tensors_of(self.model)
        for prefix, encoder in (("average", self._average), ("published", self._published)):
            if encoder is not None:
                weights = encoder.state_dict()
                tensors |= {f"{prefix}/{name}": tensor for name, tensor in weights.items()}
        return tensors

    # --- internals --------------------------------------------------------------------------------

    def _train(self, batch: Batch) -> tuple[Terms[float], Tensor, Tensor]:
        config, model = self.config, self.model
        needs_fit = config.standardise or config.target.weighting
        if needs_fit and not model.observations.fitted:
            option = "standardise" if config.standardise else "weighting"
            raise RuntimeError(f"call fit_standardisation before training: {option} is set")
        frames, actions, first, trained = self._tensors_of(batch)
        evaluation = model(frames, actions, first, trained, self.generator)
        self._optimiser.differentiate(evaluation.loss)
        self._optimiser.require_finite_gradient(evaluation.loss, config.max_gradient_norm)
        self._optimiser.learning_rate = config.learning_rate_at(self.steps)
        self._optimiser.step()
        self.steps += 1
        if self._average is not None:
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self._average.parameters()),
                    list(model.encoder.parameters()),
                    1 - config.ema_decay,
                )
        terms = Terms(*(term.detach() for term in evaluation.terms))
        return as_numbers(terms), evaluation.posterior.detach(), evaluation.inputs

    def _tensors_of(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Check a batch; return its frames, and actions, first and trained as [B, L]."""
        actions, first = np.asarray(batch.actions), np.asarray(batch.first)
        trained = np.ones_like(first) if batch.trained is None else np.asarray(batch.trained)
        if actions.ndim == 1:
            actions, first, trained = actions[:, None], first[..., None], trained[..., None]
        if actions.ndim != 2 or not actions.shape == first.shape == trained.shape:
            raise ValueError(
                "actions, first and trained must all have shape [B] or all [B, L], got "
                f"{actions.shape}, {first.shape} and {trained.shape}"
            )
        if actions.dtype.kind not in "iu" or not first.dtype == trained.dtype == np.bool_:
            raise ValueError(
                "actions must be integers, first and trained must be booleans, got "
                f"{actions.dtype}, {first.dtype} and {trained.dtype}"
            )
        if not trained.any():
            raise ValueError("trained must be true for at least one step, got none")
        wrong = (actions < 0) | (actions >= self.n_actions)
        if wrong.any():
            raise ValueError(
                f"actions must be between 0 and {self.n_actions - 1}, got {actions[wrong][0]}"
            )
        length = self.config.history + 1 + actions.shape[1]
        self._check_frames(batch.observations, length, len(actions))
        return (
            self._frames(batch.observations),
            torch.from_numpy(actions.astype(np.int64)),
            torch.from_numpy(first.copy()),
            torch.from_numpy(trained.copy()),
        )

    def _check_frames(
        self, observations: NDArray[Any], length: int, rows: int | None = None
    ) -> None:
        expected = (len(observations) if rows is None else rows, length, *self.shape)
        if observations.shape != expected:
            raise ValueError(
                f"observations must have shape {expected} with history {self.config.history}, "
                f"got {observations.shape}"
            )

    def _frames(self, observations: NDArray[Any]) -> Tensor:
        """Return [B, T, *shape] observations as [B, T, *frame] frames."""
        rows, length = observations.shape[:2]
        flat = self.model.observations.frames(observations.reshape(-1, *self.shape))
        return flat.reshape(rows, length, *flat.shape[1:])

    @staticmethod
    def _keys(logits: Tensor) -> NDArray[np.uint64]:
        return codes.pack(network_state.array(bernoulli.mode(logits)))


def _parts(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
