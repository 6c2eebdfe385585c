"""The tabulator: trains the model on minibatches, and turns observations into states."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from vast.model import codes, concrete, saved
from vast.model.config import ModelConfig
from vast.model.free_energy import Terms, as_numbers
from vast.model.model import Model
from vast.model.networks import Encoder

VERSION = 1
ROWS_AT_ONCE = 512
"""observations encoded at once: enough to fill a processor, few enough to fit its memory"""


class Batch(NamedTuple):
    """A minibatch of single steps, or of segments of L consecutive steps."""

    observations: NDArray[Any]
    """o[j-k-1 : j] with both ends, [B, k + 2, *shape], blank (zero) before an episode's start; of
    segments, [B, k + 1 + L, *shape]"""
    actions: NDArray[np.integer[Any]]
    """the action that led to each o_j, [B] or [B, L]; any allowed one where o_j is a first frame"""
    first: NDArray[np.bool_]
    """whether o_j is the first frame of an episode: whatever stands before it is then ignored, and
    it trains the initial distribution; [B] or [B, L]"""
    trained: NDArray[np.bool_] | None = None
    """which o_j are trained on, [B] or [B, L]: segments may hang over the ends of an episode;
    None: all"""


class Tabulator:
    """Owns the networks and their optimiser; knows nothing of rewards or tables.

    `shape` is that of one observation: (rows, columns, channels) of bytes, or (n,) floats. All
    chance, and the device, come from the generator.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        n_actions: int,
        config: ModelConfig,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.shape = tuple(shape)
        self.n_actions = n_actions
        self.config = config
        self.generator = generator
        self.steps = 0
        """training steps done"""
        self.model = Model(self.shape, n_actions, config, generator, dtype)
        self._optimiser = torch.optim.Adam(
            self.model.parameters(),
            config.learning_rate,
            config.betas,
            config.epsilon,
            fused=True,
        )
        self._average = copy.deepcopy(self.model.encoder) if config.ema_decay else None
        self._published: Encoder | None = None

    # --- learning ---------------------------------------------------------------------------------

    def train(self, batch: Batch) -> Terms[float]:
        """Do one step of gradient descent on the free energy, and return its terms before it."""
        return self._train(batch)[0]

    def train_and_encode(self, batch: Batch) -> tuple[Terms[float], NDArray[np.uint64]]:
        """Do the same, and return also the states of the frames, [B, 2] or [B, L + 1].

        They are what reassignment needs (supplement, Algorithm 1, lines 20 to 21), as of before
        the step, and cost nothing: the logits are known. With `ema_decay` the averaged encoder
        gives them, after the step. The state that stands before a first frame has no meaning.
        """
        terms, posterior, seen = self._train(batch)
        if self._average is not None:
            with torch.no_grad():
                posterior = self.model.posterior(seen, self._average)
        return terms, self._keys(posterior)

    def publish(self) -> None:
        """From now on let `encode` use the encoder as it is now, until the next call.

        For training in another thread: what `encode` uses must not change under its hands.
        """
        newest = self._average or self.model.encoder
        if self._published is None:
            self._published = copy.deepcopy(newest)
        with torch.no_grad():
            for mine, new in zip(self._published.parameters(), newest.parameters(), strict=True):
                mine.copy_(new)

    def fit_standardisation(self, observations: NDArray[Any]) -> None:
        """Take the mean and spread of these [N, *shape] observations, once and for all.

        Codes are comparable only as long as the encoder's input means the same, so that a second
        call is refused. With `mean_output_bias`, the decoder starts from the mean, too.
        """
        config, model = self.config, self.model
        if not (config.standardise or config.network.mean_output_bias):
            raise RuntimeError("neither standardise nor mean_output_bias is set: nothing to fit")
        if model.observations.fitted or self.steps:
            raise RuntimeError("the standardisation is fitted once, before training")
        if not len(observations):
            raise ValueError("no observations: at least one is needed to fit the standardisation")
        with torch.no_grad():
            frames = torch.cat([model.observations.frames(part) for part in _parts(observations)])
            if config.standardise:
                model.observations.fit(frames)
            if config.network.mean_output_bias:
                mean = model.targets(frames).mean(0)
                # 0.5 / 255: half of the smallest brightness there is, whose logit is finite
                is_image = model.observations.is_image
                model.decoder.start_from(mean.logit(eps=0.5 / 255) if is_image else mean)
            model.observations.fitted.fill_(True)

    @property
    def fitted(self) -> bool:
        """Whether the standardisation has been fitted."""
        return bool(self.model.observations.fitted)

    # --- tabulating -------------------------------------------------------------------------------

    def encode(self, observations: NDArray[Any], *, newest: bool = False) -> NDArray[np.uint64]:
        """Return the states of observations: argmax q(s | o[t-k : t]) as [N] keys of 64 bits.

        Observations are [N, k + 1, *shape], oldest first; without history [N, *shape] will do.
        `newest` asks for the encoder as it is now, even if another one is published.
        """
        by = self._average if newest else self._published or self._average
        k = self.config.history
        if k == 0 and observations.ndim == 1 + len(self.shape):
            observations = observations[:, None]
        self._check_frames(observations, k + 1)
        keys = [np.empty(0, np.uint64)]
        with torch.inference_mode():
            for part in _parts(observations):
                no_steps = torch.zeros(len(part), 0, dtype=torch.bool)
                seen = self.model.seen(self._frames(part), no_steps)
                keys.append(self._keys(self.model.posterior(seen, by))[:, 0])
        return np.concatenate(keys)

    def decode(self, keys: ArrayLike) -> NDArray[np.floating[Any]]:
        """Return the expected observation in each state, images in [0, 1]: [N, *shape]."""
        bits = codes.unpack(np.asarray(keys, np.uint64), self.config.n_bits)
        parts = []
        with torch.inference_mode():
            for part in _parts(bits):
                z = torch.from_numpy(part).to(self.model.initial)
                parts.append(saved.array(self.model.reconstructed(z)))
        frames: NDArray[np.floating[Any]] = (
            np.concatenate(parts) if parts else np.empty((0, *self.model.observations.frame))
        )
        return np.moveaxis(frames, 1, -1) if self.model.observations.is_image else frames

    def reconstruct(self, observations: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """Return the observations as their states remember them: `decode(encode(...))`."""
        return self.decode(self.encode(observations))

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return all that training goes on from, as plain arrays and numbers."""
        state: dict[str, Any] = {"version": VERSION, "steps": self.steps}
        state["generator"] = saved.array(self.generator.get_state())
        state |= {name: saved.array(tensor) for name, tensor in self._tensors().items()}
        return state | saved.pack_optimiser(self._optimiser, self.model)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become the saved tabulator; ValueError, and nothing changed, if it does not fit."""
        if "version" in state and int(state["version"]) != VERSION:
            raise ValueError(f"saved model: version is {state['version']}, here it is {VERSION}")
        tensors = self._tensors()
        moments = saved.expected_of_optimiser(self.model, state)
        generator = self.generator.get_state()
        expected: dict[str, Tensor | int]
        expected = {"version": VERSION, "steps": 0, "generator": generator, **tensors, **moments}
        saved.check(state, expected)
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))
        saved.copy_into(tensors, state)
        saved.copy_into(moments, state)
        saved.load_optimiser(self._optimiser, self.model, moments)
        self.steps = int(state["steps"])

    def _tensors(self) -> dict[str, Tensor]:
        tensors = saved.tensors_of(self.model)
        for place, encoder in (("average", self._average), ("published", self._published)):
            if encoder is not None:
                found = encoder.state_dict()
                tensors |= {f"{place}/{name}": tensor for name, tensor in found.items()}
        return tensors

    # --- inside -----------------------------------------------------------------------------------

    def _train(self, batch: Batch) -> tuple[Terms[float], Tensor, Tensor]:
        config, model = self.config, self.model
        if config.standardise and not model.observations.fitted:
            raise RuntimeError("standardise is set: call fit_standardisation before training")
        frames, actions, first, trained = self._tensors_of(batch)
        terms, posterior, seen = model(frames, actions, first, trained, self.generator)
        # Gradients are None, not 0, for the networks of actions that nobody took: Adam leaves
        # these alone instead of pushing them on by what it remembers.
        self._optimiser.zero_grad(set_to_none=True)
        terms.free_energy.backward()
        if config.max_gradient_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), config.max_gradient_norm)
        self._optimiser.param_groups[0]["lr"] = config.learning_rate_at(self.steps)
        self._optimiser.step()
        self.steps += 1
        if self._average is not None:
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self._average.parameters()),
                    list(model.encoder.parameters()),
                    1 - config.ema_decay,
                )
        detached = Terms(*(term.detach() for term in terms))
        return as_numbers(detached), posterior.detach(), seen

    def _tensors_of(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return a batch as frames, and actions, first and trained [B, L], checked."""
        actions, first = np.asarray(batch.actions), np.asarray(batch.first)
        trained = np.ones_like(first) if batch.trained is None else np.asarray(batch.trained)
        if actions.ndim == 1:
            actions, first, trained = actions[:, None], first[..., None], trained[..., None]
        if actions.ndim != 2 or not actions.shape == first.shape == trained.shape:
            raise ValueError(
                f"actions of shape {actions.shape}, first of {first.shape} and trained of "
                f"{trained.shape}: expected is one shape, [B] or [B, L]"
            )
        if actions.dtype.kind not in "iu" or not first.dtype == trained.dtype == np.bool_:
            raise ValueError(
                f"actions of type {actions.dtype}, first of {first.dtype} and trained of "
                f"{trained.dtype}: expected are integers and booleans"
            )
        if not trained.any():
            raise ValueError("nothing to train on: allowed is one step or more")
        wrong = (actions < 0) | (actions >= self.n_actions)
        if wrong.any():
            raise ValueError(f"action {actions[wrong][0]}: allowed is 0 to {self.n_actions - 1}")
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
                f"observations of shape {observations.shape}: expected is {expected}, "
                f"with history {self.config.history}"
            )

    def _frames(self, observations: NDArray[Any]) -> Tensor:
        """Return [B, T, *shape] observations as [B, T, *frame] frames."""
        rows, length = observations.shape[:2]
        flat = self.model.observations.frames(observations.reshape(-1, *self.shape))
        return flat.reshape(rows, length, *flat.shape[1:])

    @staticmethod
    def _keys(logits: Tensor) -> NDArray[np.uint64]:
        return codes.pack(saved.array(concrete.mode(logits)))


def _parts(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
