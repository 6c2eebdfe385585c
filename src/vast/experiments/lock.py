"""One process at a time trains in a run directory.

The lock is a file that names the process. A process that was killed leaves its file behind; on the
same host the next one sees that it is gone, and takes over. Of another host nothing is known but
the age of the file.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from vast.errors import UserError

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

LOCK = "lock.json"


class Locked(UserError):
    """Another process trains in the directory."""


@dataclass(frozen=True)
class Owner:
    """A process, so described that no later one is mistaken for it."""

    host: str
    pid: int
    started: str | None
    """which boot of the system, and when in it; None where the system does not tell"""

    @classmethod
    def here(cls) -> "Owner":
        """Return this process."""
        return cls(socket.gethostname(), os.getpid(), started(os.getpid()))

    @property
    def is_gone(self) -> bool:
        """Whether a process of this host has ended; its id may belong to another one by now."""
        now = started(self.pid)
        if now is not None and self.started is not None:
            return now != self.started
        return now is None and not _exists(self.pid)


def started(pid: int) -> str | None:
    """Return when a process was started; None if it has ended, or the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The name of the command, in parentheses, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, ticks = fields[0], fields[19]  # proc(5): fields 3 and 22
    return None if state in (b"Z", b"X") else f"{boot} {int(ticks)}"


def _exists(pid: int) -> bool:
    """Tell whether there is such a process, where /proc does not; a zombie has ended."""
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from training in a directory, which is made if there is none.

    UserError if one does already. A directory that was made and stays empty is removed again.
    """
    path = directory / LOCK
    me = Owner.here()
    made: list[Path] = []
    try:
        made = [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        with _in_turn(directory):
            _take(path, me)
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}") from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if _owner(path) == me:
                path.unlink()
            for each in made:
                each.rmdir()


def require_unlocked(directory: Path) -> None:
    """Raise UserError if another process trains in a directory; change nothing."""
    with contextlib.suppress(OSError):  # whoever takes the lock finds out
        _require_stale(directory / LOCK)


def _take(path: Path, me: Owner) -> None:
    text = json.dumps(asdict(me)) + "\n"
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
            _require_stale(path)
        path.unlink(missing_ok=True)
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _require_stale(path: Path) -> None:
    """Raise UserError unless the process that the lock names is known to have ended."""
    owner = _owner(path)
    if owner is not None and owner.host == socket.gethostname():
        if not owner.is_gone:
            raise Locked(
                f"one process at a time may train in {path.parent}: process {owner.pid} does so now"
            )
        return
    minutes = max(0.0, time.time() - path.stat().st_mtime) / 60
    who = f"process {owner.pid} on {owner.host}" if owner else "a process that it does not name"
    raise Locked(
        f"one process at a time may train in {path.parent}: {path} was written {minutes:.0f} "
        f"minutes ago by {who}; if it has ended, remove that file"
    )


def _owner(path: Path) -> Owner | None:
    """Return the process that a lock names, or None if it names none."""
    try:
        content = json.loads(path.read_bytes())
        owner = Owner(str(content["host"]), int(content["pid"]), content["started"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    return owner if 0 < owner.pid < 2**31 else None


@contextmanager
def _in_turn(directory: Path) -> Iterator[None]:
    """Let processes of this host look at a stale lock and replace it one after the other.

    Otherwise the second to see it would remove what the first has just written.
    """
    if fcntl is None:
        yield
        return
    turn = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot
            fcntl.flock(turn, fcntl.LOCK_EX)
        yield
    finally:
        os.close(turn)
