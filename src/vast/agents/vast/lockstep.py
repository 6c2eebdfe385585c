"""Training steps, either on the spot or beside the next environment steps, in lockstep.

What a step of training gives is asked for at a fixed point of the run, whenever it was computed.
So a run is the same whether or not there is a second core, and however busy it is.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vast.model.free_energy import Terms
from vast.model.tabulator import Batch, Tabulator
from vast.replay.ring import Numbers


class Task(NamedTuple):
    """One step of training and what to encode with its result."""

    batch: Batch
    numbers: Numbers
    """of the frames of the batch, [B, 2] or [B, L + 1]"""
    valid: NDArray[np.bool_]
    """which of them are frames whose states are wanted"""
    again: NDArray[Any]
    """more frames with their histories to encode afterwards, [N, k + 1, *shape]"""
    again_numbers: Numbers
    """and their numbers"""


class Learned(NamedTuple):
    """What came of it."""

    terms: Terms[float]
    numbers: Numbers
    """of the frames of the minibatch, and of those encoded again after them"""
    codes: NDArray[np.uint64]
    """their new codes"""


def learn(tabulator: Tabulator, task: Task) -> Learned:
    """Train on a batch, and encode."""
    if task.valid.any():
        terms, keys = tabulator.train_and_encode(task.batch)
        codes = keys[task.valid]
    else:  # as in a burst: nobody asks for the states
        terms, codes = tabulator.train(task.batch), np.empty(0, np.uint64)
    again = tabulator.encode(task.again, newest=True)
    return Learned(
        terms,
        np.concatenate([task.numbers[task.valid], task.again_numbers]),
        np.concatenate([codes, again]),
    )


class Lockstep:
    """Holds at most one task, from when it is begun until its result is asked for."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._future: Future[Learned] | None = None

    @property
    def busy(self) -> bool:
        """Whether a result is to be asked for."""
        return self._future is not None

    def begin(self, work: Callable[[], Learned]) -> None:
        """Begin a task in another thread."""
        assert self._future is None
        if self._thread is None:
            # OpenMP counts threads for each thread that calls it: without this, training here
            # would use all cores whatever the limit, slower, and with other sums.
            self._thread = ThreadPoolExecutor(
                1, "vast-training", torch.set_num_threads, (torch.get_num_threads(),)
            )
        self._future = self._thread.submit(work)

    def wait(self) -> Learned | None:
        """Return the result, without taking it away."""
        return None if self._future is None else self._future.result()

    def take(self) -> Learned | None:
        """Return the result, and be free."""
        result, self._future = self.wait(), None
        return result

    def restore(self, learned: Learned | None) -> None:
        """Hold a result that was computed before."""
        self._future = None
        if learned is not None:
            self._future = Future()
            self._future.set_result(learned)

    def close(self) -> None:
        """End the thread when its task is done."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
