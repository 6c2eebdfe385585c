"""Training steps, either at once or beside the next environment steps.

The result of a training step is used at a fixed step of the run, whenever it was computed. So a run
is the same with one core and with two, and however busy they are.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
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
    if job.valid.any():
        terms, keys = encoder.train_and_encode(job.batch)
        codes = keys[job.valid]
    else:  # as in a burst: the states are not needed
        terms, codes = encoder.train(job.batch), np.empty(0, np.uint64)
    again = encoder.encode(job.again, newest=True)
    return TrainResult(
        terms,
        np.concatenate([job.numbers[job.valid], job.again_numbers]),
        np.concatenate([codes, again]),
        len(codes),
    )


class AsyncTrainer:
    """Runs at most one job at a time in another thread, until its result is taken."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._future: Future[TrainResult] | None = None

    def begin(self, work: Callable[[], TrainResult]) -> None:
        """Start a job in another thread."""
        assert self._future is None
        if self._thread is None:
            # OpenMP limits threads per calling thread: without this, training here would use all
            # cores whatever the limit, slower, and with other rounding.
            self._thread = ThreadPoolExecutor(
                1, "vast-training", torch.set_num_threads, (torch.get_num_threads(),)
            )
        self._future = self._thread.submit(work)

    def wait(self) -> TrainResult | None:
        """Wait for the result and return it; it can still be taken."""
        return None if self._future is None else self._future.result()

    def take(self) -> TrainResult | None:
        """Wait for the result and return it; another job may start."""
        result, self._future = self.wait(), None
        return result

    def restore(self, result: TrainResult | None) -> None:
        """Hold a result that was computed earlier."""
        self._future = None
        if result is not None:
            self._future = Future()
            self._future.set_result(result)

    def close(self) -> None:
        """End the thread when its job is done."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
