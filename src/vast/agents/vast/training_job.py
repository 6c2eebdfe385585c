"""One training step as a job: what goes in, what comes out, and how it is done."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.encoders import TrainableEncoder
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch
from vast.replay.ring import Numbers


class TrainJob(NamedTuple):
    """A minibatch to train on, and frames to encode with the result."""

    batch: Batch
    numbers: Numbers
    """of the frames of the batch, [B, 2] or [B, L + 1]"""
    valid: NDArray[np.bool_]
    """which of them get a new state"""
    again: NDArray[Any]
    """further frames, with their histories, to encode afterwards, [N, k + 1, *shape]"""
    again_numbers: Numbers
    """their numbers"""


class TrainResult(NamedTuple):
    """The terms of the free energy, and new codes."""

    terms: Terms[float]
    numbers: Numbers
    """of the frames of the minibatch, then of those encoded again"""
    codes: NDArray[np.uint64]
    """their new codes"""
    sampled: int
    """how many of them, the first ones, are of the minibatch"""


def run_job(encoder: TrainableEncoder, job: TrainJob) -> TrainResult:
    """Train on the minibatch, and encode."""
    return result_of(job, *train_and_encode(encoder, job.batch, job.valid, job.again))


def train_and_encode(
    encoder: TrainableEncoder, batch: Batch, valid: NDArray[np.bool_], again: NDArray[Any]
) -> tuple[Terms[float], NDArray[np.uint64]]:
    """Do a training step; return its terms, and the codes of what is valid, then of `again`."""
    if valid.any():
        terms, keys = encoder.train_and_encode(batch)
        codes = keys[valid]
    else:  # as in a burst: the states are not needed
        terms, codes = encoder.train(batch), np.empty(0, np.uint64)
    return terms, np.concatenate([codes, encoder.encode(again, newest=True)])


def result_of(job: TrainJob, terms: Terms[float], codes: NDArray[np.uint64]) -> TrainResult:
    """Return what `train_and_encode` found, with the numbers of the frames."""
    sampled = job.numbers[job.valid]
    return TrainResult(terms, np.concatenate([sampled, job.again_numbers]), codes, len(sampled))
