"""The part of a report that looks into one saved agent: values, what-ifs, states, bits."""

from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vast.agents.vast.agent import VaST
from vast.analysis.drawing import AGENT_COLOURS, panel, plain_axes
from vast.analysis.fields import bits_in_panels, draw_receptive_fields
from vast.analysis.fig1cd import draw_along, summarize
from vast.analysis.gallery import different, draw_gallery
from vast.analysis.report_page import Picture, Section
from vast.analysis.snapshots import Snapshot, layout, snapshot
from vast.analysis.states import Floats, States, receptive_fields
from vast.analysis.value_map import (
    colour_bar,
    colours_for,
    draw_arrows,
    draw_values,
    known_poses,
    map_panel,
)
from vast.analysis.what_if_map import ENDS, draw_what_if
from vast.analysis.what_ifs import (
    Change,
    WhatIf,
    move_goal,
    reverse_rewards,
    what_if,
)
from vast.envs.doom.world import FloorPlan
from vast.errors import UserError
from vast.experiments.one_run import OneRun, show_run
from vast.experiments.runs import open_readonly
from vast.tasks import make_env

FIELD_CELLS = 14
"""places along the longer side of the world in the maps of bits"""
CHANGES: dict[str, Change] = {
    "goals punish, penalties reward": reverse_rewards,
    "the best goal is elsewhere": move_goal,
}
LEFT_OUT = "It needs the frames, which were left out when this run was exported."


def views_of(folder: Path) -> tuple[list[Section], list[str]]:
    """Return what can be shown of a saved agent, with notes instead of what cannot, and a summary.

    The run is only read.
    """
    try:
        view = snapshot(folder)
    except UserError as error:
        return [Section("Values", note=f"There is no agent to look into: {error}.")], []
    summary: list[str] = []
    poses = view.poses if view.has_places else layout(view)
    sections = [_values(view, poses)]
    if view.config.task == "t-maze" and view.config.wad is None and view.config.agent == "vast":
        sections.append(_one_run(folder, view, summary))
    if view.states is None or view.table is None:
        without = (
            f"{view.config.agent.upper()} has no table, and so no states to show: what-ifs, a "
            "gallery and receptive fields are views of a table."
        )
        return [*sections, Section("States", note=without)], summary
    sections.append(_what_ifs(view, view.states, poses))
    sections.append(_gallery(view, view.states))
    sections.append(_fields(view, view.states))
    return sections, summary


def _values(view: Snapshot, poses: Floats) -> Section:
    if not len(poses) or not np.isfinite(view.values).any():
        why = (
            "The table is still empty."
            if view.states is not None
            else "This task has no coordinates, and the agent no states that could be laid out."
        )
        return Section("Values", note=why)
    n = int((np.isfinite(poses[:, :2]).all(axis=1) & np.isfinite(view.values)).sum())
    if not view.has_places:
        text = (
            f"This task has no coordinates. Each of the {n:,} marks is a state; they lie in the "
            "two directions in which states differ most (principal components of "
            f"{'their mean observations' if len(view.shape) == 1 else 'their codes'})."
        )
    elif view.by_state:
        text = (
            f"Each of the {n:,} marks is a state, at the mean pose of the frames that it holds, "
            "coloured by its value. A mark outside the walls holds frames of different places."
        )
    else:
        text = (
            f"This agent stores no states with poses, so it looked around, half at random. Each of "
            f"the {n:,} marks is an observation, coloured by the value of the best action there."
        )
    plan = view.plan if view.has_places else None
    text += _zones(plan)
    order = np.arange(len(poses))
    if view.by_state and view.states is not None:
        order = np.argsort(view.states.visits, kind="stable")  # what is known best lies on top
    pictures = [
        Picture.of(draw_values(poses[order], view.values[order], plan, "value"), "values", text)
    ]
    if view.by_state and view.states is not None:
        visits = np.log10(np.maximum(view.states.visits[order], 1))
        drawn = draw_values(poses[order], visits, plan, "visits", "log10 of the visits")
        pictures.append(Picture.of(drawn, "visits", "How often an action was taken in a state."))
    pictures.append(Picture.of(_distribution(view), "a histogram of the values"))
    return Section("Values", f"At step {view.steps:,}.", pictures)


def _zones(plan: FloorPlan | None) -> str:
    """Return what the shaded zones of a plan are."""
    kinds = {area.kind for area in plan.areas} if plan else set()
    words = [words for kind, words in ZONE_WORDS.items() if kind in kinds]
    return f" Shaded: {', '.join(words)}." if words else ""


ZONE_WORDS = {
    "goal": "goals green",
    "penalty": "penalties red",
    "hazard": "hazards orange",
}


def _distribution(view: Snapshot) -> Figure:
    figure, ax = panel(2.2)
    plain_axes(ax, "states by value" if view.by_state else "observations by value", "value")
    known = view.values[np.isfinite(view.values)]
    ax.hist(known, 40, color=AGENT_COLOURS.get(view.config.agent, AGENT_COLOURS["vast"]))
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    return figure


# --- one run ------------------------------------------------------------------------------------


def _one_run(folder: Path, view: Snapshot, summary: list[str]) -> Section:
    """Return the run of Fig. 1C, D; the agent that watches it is another copy from the disk."""
    title = "One run from an arm never visited"
    if not len(view.values) or view.plan is None:
        return Section(title, note="The table is still empty.")
    if view.replay is not None and not view.replay.has_frames:
        return Section(title, note=LEFT_OUT)
    with open_readonly(folder) as run:
        agent = run.agent
        assert isinstance(agent, VaST)
        env = make_env(run.config.task)
        run.copy_env_settings(env)
        try:
            data = show_run(agent, env)
        finally:
            env.close()
    said = summarize(data)
    summary.append(said)
    figure, ax = panel(2.9)
    draw_along(ax, data)
    colours = colours_for(*data.around_values, data.run_values[1])
    return Section(
        title,
        f"{ONE_RUN} {said}",
        [
            Picture.of(_around(view.plan, data, 0, colours), "the values before the run"),
            Picture.of(_around(view.plan, data, 1, colours), "the values after the run"),
            Picture.of(figure, "the values along the run"),
        ],
    )


ONE_RUN = (
    "Fig. 1C and D of the paper. The outlined arrows are a forced run: 20 steps without reward, "
    "from an arm that an invisible wall (dotted) had shut during training. Grey: not in the table "
    "before."
)


def _around(plan: FloorPlan, data: OneRun, after: int, colours: ScalarMappable) -> Figure:
    title = "after the run" if after else "before the run"
    figure, ax = map_panel(data.around.poses, plan, title)
    draw_arrows(ax, *known_poses(data.around, data.around_values[after]), colours)
    draw_arrows(ax, data.run.poses, data.run_values[after], colours, outlined=True)
    colour_bar(figure, colours, [ax], below=True)
    return figure


# --- views of a table ---------------------------------------------------------------------------


def _what_ifs(view: Snapshot, states: States, poses: Floats) -> Section:
    title = "What if"
    if not len(states) or view.table is None:
        return Section(title, note="The table is still empty.")
    placed = view.has_places and view.by_state
    poses, plan = (poses, view.plan) if placed else (layout(view), None)
    asked, missing = [], []
    for words, change in CHANGES.items():
        try:
            asked.append(what_if(view.table, states, change, words, view.start))
        except UserError as error:
            missing.append(f"“{words}” cannot be asked here: {error}.")
    before = draw_what_if(asked[0], states, poses, plan, after=False)
    pictures = [Picture.of(before, "values before", _path_of(asked[0], 0))]
    for found in asked:
        drawn = draw_what_if(found, states, poses, plan)
        pictures.append(Picture.of(drawn, f"values after: {found.change}", _told(found)))
    about = (
        "The rewards in a copy of the table are changed, and prioritized sweeping plans anew: no "
        "network is asked, no step is taken, and the run stays as it is. Each picture has a scale "
        "of its own."
    )
    if view.has_places and not placed:
        about += " The states have no poses: they lie in the two directions in which they differ."
    return Section(title, about, pictures, note=" ".join(missing))


def _told(found: WhatIf) -> str:
    return (
        f"{found.changed:,} state{'s' * (found.changed != 1)} concerned; all values followed in "
        f"{found.backups:,} backups. "
        f"{_path_of(found, 1)}"
    )


def _path_of(found: WhatIf, after: int) -> str:
    if found.paths is None:
        return ""
    path = found.paths[after]
    return f"The greedy path from a usual start: {len(path)} states, then {ENDS[path.end]}."


def _gallery(view: Snapshot, states: States) -> Section:
    title = "States"
    if view.replay is None:
        return Section(title, note="This agent keeps no frames: there is nothing to show of them.")
    if not view.replay.has_frames:
        return Section(title, note=LEFT_OUT)
    if not len(states.frame_numbers):
        return Section(title, note="No frame has a state yet.")
    pictures = []
    for name, measure in (
        ("hold most frames", states.frame_counts),
        ("highest values", np.where(states.visits > 0, states.value, -np.inf)),
        ("lowest values", np.where(states.visits > 0, -states.value, -np.inf)),
    ):
        rows = different(states, measure)
        pictures.append(Picture.of(draw_gallery(view, rows, name), f"states: {name}"))
    many = int((states.frame_counts > 1).sum())
    return Section(
        title,
        f"{len(states):,} states hold {len(states.frame_numbers):,} frames; {many:,} hold more "
        "than one. Of the 200 highest by each measure, six that differ most in their bits; of each "
        "state, frames from its oldest to its newest, and what the decoder makes of it.",
        pictures,
    )


def _fields(view: Snapshot, states: States) -> Section:
    title = "Receptive fields of the bits"
    if not len(states):
        return Section(title, note="The table is still empty.")
    if view.replay is None or not view.has_places:
        return Section(title, note="They need coordinates, kept with the frames of a replay.")
    fields = receptive_fields(states, view.replay, FIELD_CELLS)
    if fields is None:
        return Section(title, note="No frame with a pose has a state yet.")
    pictures = [
        Picture.of(draw_receptive_fields(fields, bits, view.plan), f"bits {bits[0]} to {bits[-1]}")
        for bits in bits_in_panels(view)
    ]
    about = "For each bit of the code: of the frames seen at a place, the share whose state has it."
    if len(fields.seen) > 1:
        about += (
            " Each place is cut into four wedges by the heading: in the right one the agent looks "
            "to the right."
        )
    return Section(title, about, pictures)
