"""Statistics, figures and reports of runs.

The views of a report are functions here; those that draw return Matplotlib figures. See
docs/analysis.md.
"""

from typing import TYPE_CHECKING

from vast.lazy import lazy_names

if TYPE_CHECKING:
    from vast.analysis.arms import group, load_arms, read_runs
    from vast.analysis.curves import draw_metric, draw_metrics
    from vast.analysis.drawing import save, themed_svg
    from vast.analysis.fields import draw_receptive_fields
    from vast.analysis.gallery import different, draw_gallery
    from vast.analysis.report import write_report
    from vast.analysis.snapshots import layout, snapshot
    from vast.analysis.states import collect, receptive_fields, states_of
    from vast.analysis.value_map import draw_values
    from vast.analysis.what_if_map import draw_what_if
    from vast.analysis.what_ifs import greedy_path, move_goal, reverse_rewards, what_if

__all__ = [
    "collect",
    "different",
    "draw_gallery",
    "draw_metric",
    "draw_metrics",
    "draw_receptive_fields",
    "draw_values",
    "draw_what_if",
    "greedy_path",
    "group",
    "layout",
    "load_arms",
    "move_goal",
    "read_runs",
    "receptive_fields",
    "reverse_rewards",
    "save",
    "snapshot",
    "states_of",
    "themed_svg",
    "what_if",
    "write_report",
]

_MODULES = {
    "arms": ("group", "load_arms", "read_runs"),
    "curves": ("draw_metric", "draw_metrics"),
    "drawing": ("save", "themed_svg"),
    "fields": ("draw_receptive_fields",),
    "gallery": ("different", "draw_gallery"),
    "report": ("write_report",),
    "snapshots": ("layout", "snapshot"),
    "states": ("collect", "receptive_fields", "states_of"),
    "value_map": ("draw_values",),
    "what_ifs": ("greedy_path", "move_goal", "reverse_rewards", "what_if"),
    "what_if_map": ("draw_what_if",),
}
__getattr__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
