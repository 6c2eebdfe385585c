"""Where training steps run: in turn with environment steps, or beside them in a thread.

`training_process` has a process of its own.
The result of a training step is used at a fixed step of the run, whenever it was computed. So a run
is the same in a thread and in a process, with one core and with two, and however busy they are.
"""

from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from vast.agents.encoders import TrainableEncoder
from vast.agents.vast.training_job import TrainJob, TrainResult, run_job


class JobTrainer(ABC):
    """Runs at most one job at a time, until its result is taken."""

    def __init__(self) -> None:
        self._running = False
        self._result: TrainResult | None = None

    def prepare(self) -> None:
        """Start whatever takes time to start; a job may come soon."""
        return

    def begin(self, job: TrainJob) -> None:
        """Start a job."""
        assert not self._running
        assert self._result is None
        self._start(job)
        self._running = True

    def wait(self) -> TrainResult | None:
        """Wait for the result and return it; it can still be taken."""
        if self._running:
            self._running = False
            self._result = self._finish()
        return self._result

    def take(self) -> TrainResult | None:
        """Wait for the result and return it; another job may start."""
        result, self._result = self.wait(), None
        return result

    def restore(self, result: TrainResult | None) -> None:
        """Hold a result that was computed earlier."""
        self.take()
        self._result = result

    def close(self) -> None:
        """End the thread or process when its job is done."""
        return

    @abstractmethod
    def _start(self, job: TrainJob) -> None:
        """Start a job; none is under way."""

    @abstractmethod
    def _finish(self) -> TrainResult:
        """Wait for the job under way."""


class InlineTrainer(JobTrainer):
    """Trains when the result is asked for. Without an encoder to be trained no job ever comes."""

    def __init__(self, encoder: TrainableEncoder | None) -> None:
        super().__init__()
        self._encoder = encoder
        self._job: TrainJob | None = None

    def _start(self, job: TrainJob) -> None:
        self._job = job

    def _finish(self) -> TrainResult:
        assert self._encoder is not None
        assert self._job is not None
        return run_job(self._encoder, self._job)


class ThreadTrainer(JobTrainer):
    """Trains in another thread of this process."""

    def __init__(self, encoder: TrainableEncoder) -> None:
        super().__init__()
        self._encoder = encoder
        self._thread: ThreadPoolExecutor | None = None
        self._future: Future[TrainResult] = Future()

    def close(self) -> None:
        """End the thread when its job is done."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def _start(self, job: TrainJob) -> None:
        if self._thread is None:
            # OpenMP limits threads per calling thread: without this, training here would use all
            # cores whatever the limit, slower, and with other rounding.
            self._thread = ThreadPoolExecutor(
                1, "vast-training", torch.set_num_threads, (torch.get_num_threads(),)
            )
        self._future = self._thread.submit(run_job, self._encoder, job)

    def _finish(self) -> TrainResult:
        return self._future.result()
