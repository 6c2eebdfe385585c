"""Runs of the command in processes of their own."""

import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

SAVE_SECONDS = 0.5
"""seconds between two saves"""
ANSWER_LIMIT = 2.0
"""seconds that an engine may take to answer"""
COLD = "import sys; from tests.soak.victims import command; command(sys.argv[1:])"
"""a new interpreter, in which everything is yet to be imported"""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.soak.warm"])


def command(words: list[str], log: str | None = None) -> None:
    """Run the command, which saves often and is impatient with engines."""
    # A shell lets what it starts in the background ignore the first, and nohup the second.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if log is not None:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(file, stream)
    from vast.cli import main
    from vast.envs.doom import engine
    from vast.experiments import runs

    runs.SAVE_SECONDS = SAVE_SECONDS
    engine.ANSWER_LIMIT = ANSWER_LIMIT
    main(words)


class Victim:
    """A run in progress."""

    def __init__(self, words: list[str], log: Path, cold: bool) -> None:
        self._log = log
        self._process: BaseProcess | subprocess.Popen[bytes]
        if cold:
            with log.open("wb") as file:
                self._process = subprocess.Popen(
                    [sys.executable, "-W", "ignore", "-c", COLD, *words],
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
        else:
            log.write_bytes(b"")
            self._process = _context.Process(target=command, args=(words, str(log)))
            self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.is_alive:
            os.kill(self.pid, number)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        process = self._process
        return process.is_alive() if isinstance(process, BaseProcess) else process.poll() is None

    def end(self, seconds: float) -> int:
        """Wait for its end; return its exit code. TimeoutError if it does not end."""
        process = self._process
        if isinstance(process, BaseProcess):
            process.join(seconds)
            code = process.exitcode
        else:
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
        if code is None:
            self.send(signal.SIGKILL)
            raise TimeoutError(f"it does not end:\n{self.said}")
        return code

    @property
    def said(self) -> str:
        """What it has written to its output."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def children(self, word: str) -> list[tuple[int, list[str]]]:
        """Return id and command line of the processes it has started, of those with a word."""
        found = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.pid), "-ww"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        lines = [line.split() for line in found.splitlines()]
        return [(int(pid), words) for pid, *words in lines if word in words]
