"""Configs that earlier versions wrote: old and new keys, and what a missing key meant."""

from collections.abc import Mapping
from typing import Any

RENAMED = {
    "last_action": "extensions.last_action",
    "restlessness": "extensions.repeat_penalty",
    "restless_by": "extensions.repeat_by",
    "planning.smoothing": "extensions.smoothing",
    "planning.smooth_learning": "extensions.smooth_learning",
    "planning.caution": "extensions.caution",
    "planning.reward_horizon": "extensions.reward_horizon",
    "planning.reward_width": "extensions.reward_width",
    "planning.change_point": "extensions.change_point",
    "planning.leap": "extensions.outcome_shift",
}
"""fields of VaST's settings: where they were, and where they are"""


def upgraded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's settings with the present names; the given ones stay as they are."""
    new: dict[str, Any] = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
    }
    for old, present in RENAMED.items():
        part, _, field = old.rpartition(".")
        holder = new.get(part) if part else new
        part, _, name = present.rpartition(".")
        target = new.get(part, {})
        if isinstance(holder, dict) and field in holder and isinstance(target, dict):
            new[part] = {**target, name: holder.pop(field)}
    for owner in (new, new.get("model")):
        if isinstance(owner, dict) and isinstance(owner.get("network"), Mapping):
            # The only one there was when the field did not exist.
            owner["network"] = {"initialisation": "torch", **owner["network"]}
    return new
