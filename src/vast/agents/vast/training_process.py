"""Training beside the next environment steps, in a process of its own.

In a thread, training and acting take turns at Python's interpreter, and both are slowed down. The
process is a new interpreter (`training_worker`), so it works beside CUDA, in notebooks and in
scripts that do not guard their main part. Jobs, results and weights are in shared memory; a pipe
each way carries one byte per job. Who is not training sees the weights as the other one left them.

The process ends when its pipe is closed: when it is told to, and when this process ends, however
that happens. If it ends before, the next job fails at once.
"""

import json
import os
import subprocess
import sys
import weakref
from contextlib import suppress

from vast.agents.vast.trainers import JobTrainer
from vast.agents.vast.training_job import TrainJob, TrainResult, result_of
from vast.agents.vast.training_memory import TrainerSpec, TrainingMemory
from vast.errors import UserError
from vast.model.tabulator import Tabulator
from vast.training.shared_memory import SharedMemory

READY, DONE, FAILED, JOB = b"r", b"d", b"f", b"j"
"""what goes through the pipes"""
PATIENCE = 10.0
"""seconds that the process has to end by itself"""


class TrainingProcessError(RuntimeError):
    """An error in the training process, with its traceback."""


class ProcessTrainer(JobTrainer):
    """Trains a tabulator in another process."""

    def __init__(self, tabulator: Tabulator, spec: TrainerSpec) -> None:
        super().__init__()
        self._spec = spec
        self._memory = TrainingMemory(spec, tabulator)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._job: TrainJob | None = None

    @property
    def pid(self) -> int | None:
        """The process's number, if there is one."""
        return None if self._process is None else self._process.pid

    def prepare(self) -> None:
        """Start the process; it takes some seconds until it can do its first job."""
        if self._process is None:
            shared = SharedMemory(self._memory.size)
            self._memory.attach(shared.memory, keep=True)
            self._process = started(shared, self._spec)
            self._end = weakref.finalize(self, ended, self._process)

    def close(self) -> None:
        """End the process; a job under way is finished first."""
        if self._process is not None:
            self._end()
            self._process, self._ready = None, False

    def _start(self, job: TrainJob) -> None:
        self.prepare()
        self._memory.put_job(job)
        self._memory.weights.store()
        self._send(JOB)
        self._job = job

    def _finish(self) -> TrainResult:
        assert self._job is not None
        if not self._ready:
            self._expect(READY)
            self._ready = True
        self._expect(DONE)
        self._memory.weights.load()
        return result_of(self._job, *self._memory.get_result())

    def _send(self, message: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message)
        except OSError:
            raise self._died() from None

    def _expect(self, message: bytes) -> None:
        """Wait for a message; raise what it says if it is another one."""
        found = self._read(1)
        if found == message:
            return
        assert found == FAILED, found
        error = json.loads(self._read(int.from_bytes(self._read(8), "little")))
        if error["user"]:
            raise UserError(error["text"])
        raise TrainingProcessError(f"the training process failed:\n{error['text']}")

    def _read(self, size: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        found = b""
        while len(found) < size:
            piece = self._process.stdout.read(size - len(found))
            if not piece:
                raise self._died()
            found += piece
        return found

    def _died(self) -> UserError:
        assert self._process is not None
        code = self._process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return UserError(
            f"the training process {self._process.pid} {how}: resume the run from its last "
            "checkpoint"
        )


def started(shared: SharedMemory, spec: TrainerSpec) -> subprocess.Popen[bytes]:
    """Start the process that trains in this memory."""
    process = shared.popen(
        [sys.executable, "-m", "vast.agents.vast.training_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said = {"handle": shared.handle, "size": len(shared.memory), "spec": spec.to_plain()}
    assert process.stdin is not None
    with suppress(OSError):  # if it has died already, the first job will notice
        process.stdin.write(json.dumps(said).encode() + b"\n")
    return process


def ended(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes, and see the process end."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
