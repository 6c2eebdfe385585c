"""The training process: waits for jobs, trains, and ends when its pipe is closed.

    python -m vast.agents.vast.training_worker

is started by `training_process`, which writes one line about the memory they share to its standard
input, then one byte per job.
"""

import json
import os
import signal
import sys
import traceback
from typing import BinaryIO

import torch

from vast.agents.vast.training_job import train_and_encode
from vast.agents.vast.training_memory import TrainerSpec, TrainingMemory
from vast.agents.vast.training_process import DONE, FAILED, READY
from vast.errors import UserError
from vast.training.shared_memory import attach


def main() -> None:
    """Train until there is nobody left to train for."""
    # Whoever interrupts the run reaches this process as well: the run needs it to save itself.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library may print is not an answer
    try:
        serve(jobs, answers)
    except BrokenPipeError:
        pass
    except Exception as error:
        fail(answers, error)
        sys.exit(1)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Do one job after the other."""
    said = json.loads(_line(jobs))
    spec = TrainerSpec.from_plain(said["spec"])
    torch.set_num_threads(spec.threads)
    tabulator = spec.tabulator()
    memory = TrainingMemory(spec, tabulator)
    memory.attach(attach(said["handle"], said["size"]), keep=False)
    answers.write(READY)
    while jobs.read(1):
        memory.weights.load()
        memory.put_result(*train_and_encode(tabulator, *memory.get_job()))
        memory.weights.store()
        answers.write(DONE)


def fail(answers: BinaryIO, error: Exception) -> None:
    """Report an error, in one line if it is the user's."""
    user = isinstance(error, UserError)
    text = str(error) if user else traceback.format_exc()
    report = json.dumps({"user": user, "text": text}).encode()
    answers.write(FAILED + len(report).to_bytes(8, "little") + report)


def _line(pipe: BinaryIO) -> bytes:
    """Read a line, and nothing behind it: what comes next are jobs."""
    line = b""
    while not line.endswith(b"\n"):
        byte = pipe.read(1)
        if not byte:
            sys.exit()
        line += byte
    return line


if __name__ == "__main__":
    main()
