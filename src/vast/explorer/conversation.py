"""One open page: its what-if, its slow motion and its drive, and the answers to its requests."""

import threading
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError
from vast.experiments.tables import save_table
from vast.explorer.drive import Drive, Moment
from vast.explorer.edits import Edit, Shown
from vast.explorer.inspection import inspect
from vast.explorer.protocol import (
    MADE,
    Asked,
    as_binary,
    as_text,
    edit_as_json,
    read_request,
    request,
)
from vast.explorer.slow_motion import MAX_BACKUPS, SlowMotion
from vast.explorer.view import View
from vast.explorer.what_if import WhatIf, exact_copy
from vast.planning import TransitionTable

FRAMES = 12
"""frames of a state sent at once; the page asks for more"""
AHEAD = 2
"""slices of a sweep that may be on their way to the screen at once"""

Message = str | bytes
Arrays = dict[str, NDArray[Any]]
Answer = tuple[dict[str, Any], Arrays]


class Socket(Protocol):
    """The connection to a page."""

    def send(self, message: Message, /) -> None:
        """Send a message."""
        ...

    def recv(self, timeout: float | None = None) -> Message:
        """Return the next message; TimeoutError if none comes in time."""
        ...


class Conversation:
    """Answers the requests of one page; everything in it is this page's own but the view.

    Args:
        view: what there is to look at.
        save_to: the directory for tables that are saved.
        networks: held while the networks are used, which all pages share.
    """

    def __init__(self, view: View, save_to: Path, networks: threading.Lock) -> None:
        self._view = view
        self._save_to = save_to
        self._networks = networks
        self._what_if = WhatIf(view.table, view.places)
        self._kept: list[Edit] = []
        self._kept_table: TransitionTable | None = None
        self._slow: SlowMotion | None = None
        self._drive = Drive(view)
        self._shown: dict[str, Shown] = {}
        self._visible = True
        self._on_screen = self._what_if.values().astype(np.float32)
        self._underway = 0
        self._settled = True

    def run(self, socket: Socket) -> None:
        """Answer requests, and sweep in between, until the connection is closed."""
        try:
            while True:
                sweeping = not self._settled and self._underway < AHEAD
                try:
                    text = socket.recv(timeout=0 if sweeping else None)
                except TimeoutError:
                    socket.send(self._next_slice())
                    self._what_if.keep_snapshot()  # while the page draws
                    continue
                answer = self._answer(text)
                if answer is not None:
                    socket.send(answer)
        finally:
            self._drive.close()

    def _answer(self, text: Message) -> Message | None:
        number, message = read_request(text)
        try:
            what, fields = request(message)
            answer: Answer | None = getattr(self, f"_do_{what}")(**fields)
        except UserError as error:
            return as_text({"id": number, "error": str(error)})
        if answer is None:
            return None
        header, arrays = answer
        return as_binary({"id": number, **header}, arrays)

    # --- looking ----------------------------------------------------------------------------------

    def _do_hello(self) -> Answer:
        view, states = self._view, self._view.states
        plan = view.plan
        header = {
            "title": view.title,
            "facts": view.facts,
            "actions": view.actions,
            "discount": view.table.discount,
            "queued": view.table.queue_length,
            "transitions": view.table.n_transitions,
            "measured": view.places.measured,
            "n_bits": states.n_bits,
            "frame": self._frame_kind(),
            "decoder": view.decoder is not None,
            "drives": view.run is not None,
            "runs": self._drive.runs(),
            "walls": [list(wall) for wall in plan.walls] if plan else [],
            "unseen": [list(wall) for wall in plan.unseen] if plan else [],
            "zones": [
                [area.kind, area.low_x, area.low_y, area.high_x, area.high_y]
                for area in (plan.areas if plan else [])
            ],
        }
        return header, {
            **self._place_arrays(0),
            "visits": states.visits.astype(np.uint32),
            "age": view.ages().astype(np.int32),
            "value": self._on_screen,
        }

    def _frame_kind(self) -> list[int]:
        if self._view.replay is None or not len(self._view.states.frame_numbers):
            return []
        return list(self._view.replay.frame_shape)

    def _place_arrays(self, start: int) -> Arrays:
        places = self._what_if.places
        keys = places.keys[start:]
        return {
            "x": places.at[start:, 0].astype(np.float32),
            "y": places.at[start:, 1].astype(np.float32),
            "heading": places.heading[start:].astype(np.float32),
            "low": (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32),
            "high": (keys >> np.uint64(32)).astype(np.uint32),
        }

    def _do_inspect(self, row: int) -> Answer:
        self._require_row(row)
        return {"state": inspect(self._view, self._what_if, row)}, {}

    def _do_frames(self, row: int, start: int) -> Answer:
        self._require_row(row)
        arrays: Arrays = {}
        with self._networks:
            frames = self._view.frames(row, start, FRAMES)
            decoded = self._view.decoded(int(self._what_if.places.keys[row])) if not start else None
        if len(frames):
            arrays["frames"] = frames if frames.dtype == np.uint8 else frames.astype(np.float32)
        if decoded is not None:
            arrays["decoded"] = _shown_as(decoded, is_image=decoded.ndim == 3)
        return {"start": start}, arrays

    def _do_path(self, row: int) -> Answer:
        self._require_row(row)
        what_if = self._what_if
        paths = {"learned": what_if.path(row, what_if.learned), "now": what_if.path(row)}
        if self._kept_table is not None:
            paths["kept"] = what_if.path(row, self._kept_table)
        return {name: {"rows": path.rows, "end": path.end} for name, path in paths.items()}, {}

    def _require_row(self, row: int) -> None:
        if row >= len(self._what_if.places):
            raise UserError("there is no such state")

    # --- what if ----------------------------------------------------------------------------------

    def _do_edit(self, edit: Asked) -> Answer:
        made = self._made(edit)
        self._what_if.do(made)
        return self._changed()

    def _do_undo(self) -> Answer:
        self._what_if.undo()
        return self._changed()

    def _do_redo(self) -> Answer:
        self._what_if.redo()
        return self._changed()

    def _do_reset(self) -> Answer:
        self._what_if.reset()
        return self._changed()

    def _do_keep(self) -> Answer:
        self._what_if.finish()
        self._kept, self._kept_table = list(self._what_if.edits), exact_copy(self._what_if.table)
        header, arrays = self._changed()
        return header, {**arrays, "kept": self._what_if.values().astype(np.float32)}

    def _do_load(self, kept: list[Asked], edits: list[Asked]) -> Answer:
        """Repeat the edits of an address: those that were kept to compare with, and the others."""
        made = [self._made(each) for each in edits]
        self._kept = [self._made(each) for each in kept]
        self._what_if.repeat(self._kept)
        self._kept_table = exact_copy(self._what_if.table) if kept else None
        compared = self._what_if.values().astype(np.float32)
        self._what_if.repeat(made)
        header, arrays = self._changed()
        return header, {**arrays, "kept": compared} if kept else arrays

    def _do_pace(self, visible: bool) -> Answer:
        self._visible = visible
        return {}, {}

    def _do_drawn(self) -> None:
        self._underway = max(0, self._underway - 1)

    def _made(self, asked: Asked) -> Edit:
        kind, fields = asked
        if kind in MADE:
            return MADE[kind](**fields)
        name = fields["name"]
        if name not in self._shown:
            with self._networks:
                self._shown[name], keys, poses = self._drive.show(name)
            self._what_if.places = self._what_if.places.with_states(keys, poses)
        return self._shown[name]

    def _changed(self) -> Answer:
        """Return the edits done, and places that are new; the values follow in slices."""
        self._settled = False
        grown = len(self._what_if.places) - len(self._on_screen)
        start = len(self._on_screen)
        if grown:
            self._on_screen = np.concatenate([self._on_screen, np.full(grown, np.nan, np.float32)])
        header = {
            "edits": [edit_as_json(each) for each in self._what_if.edits],
            "kept_edits": [edit_as_json(each) for each in self._kept],
            "undone": len(self._what_if.undone),
            "discount": self._what_if.table.discount,
        }
        return header, self._place_arrays(start) if grown else {}

    def _next_slice(self) -> Message:
        """Sweep a little, and return the values that have changed."""
        if not self._what_if.is_settled:
            self._what_if.sweep(visible=self._visible)
        self._settled = self._what_if.is_settled
        done = self._what_if.progress
        now = self._what_if.values().astype(np.float32)
        # nan is not equal to itself: compare the bytes
        changed = np.flatnonzero(now.view(np.uint32) != self._on_screen.view(np.uint32))
        self._on_screen = now
        self._underway += 1
        header = {
            "push": "values",
            "backups": done.backups,
            "seconds": done.seconds,
            "queued": done.queued,
            "settled": self._settled,
        }
        return as_binary(header, {"rows": changed.astype(np.uint32), "value": now[changed]})

    def _do_save(self, name: str) -> Answer:
        self._what_if.finish()
        path = self._save_to / f"{name.removesuffix('.npz')}.npz"
        if path.exists():
            raise UserError(f"{path.name} is there already: choose another name")
        try:
            self._save_to.mkdir(parents=True, exist_ok=True)
            save_table(self._what_if.table, path)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror or error}") from error
        return {"path": str(path)}, {}

    # --- slow motion ------------------------------------------------------------------------------

    def _do_slow(self, source: str) -> Answer:
        self._slow = SlowMotion(self._what_if, source)
        header = {
            "whole": self._slow.is_whole,
            "most": MAX_BACKUPS,
            "sequences": self._slow.sequences(),
        }
        return header, self._slow.arrays()

    def _do_export(self, kind: str) -> Answer:
        if self._slow is None:
            raise UserError("there is no sweep in slow motion to export")
        data = self._slow.file(kind)
        return {"name": f"sweep.{kind}"}, {"file": np.frombuffer(data, np.uint8)}

    # --- driving ----------------------------------------------------------------------------------

    def _do_drive(self, start: bool) -> Answer:
        if not start:
            self._drive.close()
            return {}, {}
        with self._networks:
            return self._told(self._drive.start(), None)

    def _do_step(self, action: int | None, by: str) -> Answer:
        table = self._what_if.table if by == "what-if" else None
        with self._networks:
            return self._told(self._drive.step(action, table), table)

    def _told(self, moment: Moment, table: TransitionTable | None) -> Answer:
        q, distance = self._drive.q(table)
        header = {
            "pose": list(moment.pose),
            "row": int(self._what_if.places.rows([moment.state])[0]),
            "key": f"{moment.state:016x}",
            "step": moment.step,
            "action": moment.action,
            "reward": moment.reward,
            "total": moment.total,
            "ended": moment.ended,
            "q": q.tolist(),
            "distance": distance.tolist(),
        }
        frame = moment.frame
        return header, {"frame": frame if frame.dtype == np.uint8 else frame.astype(np.float32)}


def _shown_as(decoded: NDArray[np.floating[Any]], *, is_image: bool) -> NDArray[Any]:
    """Return a decoded observation as bytes if it is an image."""
    if is_image:
        return np.round(decoded.clip(0, 1) * 255).astype(np.uint8)
    return decoded.astype(np.float32)
