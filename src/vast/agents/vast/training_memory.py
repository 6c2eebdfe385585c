"""The memory that a run and its training process share: a job, its result, and the weights.

Both sides build the same tabulator from the same description, and so the same layout.
"""

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vast.agents.vast.training_job import TrainJob
from vast.model.config import ModelConfig
from vast.model.free_energy import Terms
from vast.model.shared_weights import SharedWeights
from vast.model.tabulator import Batch, Tabulator
from vast.training.plain import from_plain, to_plain
from vast.training.shared_memory import arrays_in, size_of

JOB, WEIGHTS = "job/", "weights/"


@dataclass(frozen=True)
class TrainerSpec:
    """What the training process must know before it finds the rest in the shared memory."""

    shape: tuple[int, ...]
    dtype: str
    """of observations"""
    n_actions: int
    model: ModelConfig
    segments: int
    """per minibatch"""
    length: int
    """of a segment"""
    again: int
    """further frames per job, at most"""
    threads: int

    def tabulator(self) -> Tabulator:
        """Return a tabulator of this kind; its weights are to be replaced."""
        return Tabulator(self.shape, self.n_actions, self.model, torch.Generator().manual_seed(0))

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        plain: dict[str, Any] = to_plain(self, full=True)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "TrainerSpec":
        """Return it from plain JSON."""
        return from_plain(cls, plain)


class TrainingMemory:
    """The layout of the shared memory, and once it is attached, what is in it."""

    def __init__(self, spec: TrainerSpec, tabulator: Tabulator) -> None:
        self.weights = SharedWeights(tabulator)
        self._job = _job_layout(spec)
        self._layout = {
            **{JOB + name: each for name, each in self._job.items()},
            **{WEIGHTS + name: each for name, each in self.weights.layout().items()},
        }
        self._arrays: dict[str, NDArray[Any]] = {}

    @property
    def size(self) -> int:
        """In bytes."""
        return size_of(self._layout)

    def attach(self, memory: mmap.mmap, *, keep: bool) -> None:
        """Use this memory; `keep` the tabulator's weights, or take those that are there."""
        arrays = arrays_in(memory, self._layout)
        self._arrays = {name: arrays[JOB + name] for name in self._job}
        weights = {
            name.removeprefix(WEIGHTS): array
            for name, array in arrays.items()
            if name.startswith(WEIGHTS)
        }
        self.weights.move_into(weights, keep=keep)

    def put_job(self, job: TrainJob) -> None:
        """Write a job for the other side."""
        batch, arrays = job.batch, self._arrays
        trained = True if batch.trained is None else batch.trained
        arrays["frames"][...] = batch.observations
        arrays["actions"].reshape(batch.actions.shape)[...] = batch.actions
        arrays["first"].reshape(batch.first.shape)[...] = batch.first
        arrays["trained"][...] = trained
        arrays["valid"][...] = job.valid
        arrays["again"][: len(job.again)] = job.again
        arrays["n_again"][...] = len(job.again)

    def get_job(self) -> tuple[Batch, NDArray[np.bool_], NDArray[Any]]:
        """Return the batch, what is valid of it, and the frames to encode again."""
        names = ("frames", "actions", "first", "trained")
        batch = Batch(*(self._arrays[name] for name in names))
        return batch, self._arrays["valid"], self._arrays["again"][: int(self._arrays["n_again"])]

    def put_result(self, terms: Terms[float], codes: NDArray[np.uint64]) -> None:
        """Write a result for the other side."""
        self._arrays["terms"][...] = terms
        self._arrays["codes"][: len(codes)] = codes
        self._arrays["n_codes"][...] = len(codes)

    def get_result(self) -> tuple[Terms[float], NDArray[np.uint64]]:
        """Return a result that stays when the next job begins."""
        terms = Terms(*self._arrays["terms"].tolist())
        return terms, self._arrays["codes"][: int(self._arrays["n_codes"])].copy()


def _job_layout(spec: TrainerSpec) -> dict[str, tuple[tuple[int, ...], Any]]:
    segments, length, k = spec.segments, spec.length, spec.model.history
    steps = (segments, length)
    return {
        "frames": ((segments, k + 1 + length, *spec.shape), spec.dtype),
        "actions": (steps, np.int64),
        "first": (steps, np.bool_),
        "trained": (steps, np.bool_),
        "valid": ((segments, length + 1), np.bool_),
        "again": ((spec.again, k + 1, *spec.shape), spec.dtype),
        "n_again": ((), np.int64),
        "terms": ((4,), np.float64),
        "codes": ((segments * (length + 1) + spec.again,), np.uint64),
        "n_codes": ((), np.int64),
    }
