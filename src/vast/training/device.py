"""The device of the networks: the processor, or a graphics card where PyTorch can use one."""

import re
from typing import TYPE_CHECKING

from vast.errors import UserError

if TYPE_CHECKING:
    import torch

CPU, AUTO = "cpu", "auto"
PREFERRED = ("cuda", "mps", CPU)
"""what `auto` takes the first of that there is"""
NAME = re.compile(r"cpu|auto|mps|cuda(:\d{1,3})?")
ONLY = re.compile(r"(cpu|mps)(:0)?")
"""devices of which a machine has one, with or without its number"""


def device_name(device: "str | torch.device") -> str:
    """Return the one name of a device, as it is recorded; UserError if it is none.

    It may be of this machine or of another one. A `torch.device` may be of any kind.
    """
    name = str(device)
    if only := ONLY.fullmatch(name):
        name = only[1]
    known = NAME.fullmatch(name) if isinstance(device, str) else _is_torch_device(device)
    if not known:
        raise UserError(f"device must be one of cpu, cuda, mps, auto, got {device!r}")
    return name


def _is_torch_device(device: object) -> bool:
    import torch

    return isinstance(device, torch.device)


def device_named(device: "str | torch.device") -> "torch.device":
    """Return the device that a name stands for here; UserError if there is none.

    A `torch.device` of a kind that has no name here is taken as it is.
    """
    import torch

    name = device_name(device)
    if name == AUTO:
        return torch.device(next(kind for kind in PREFERRED if why_not(kind) is None))
    reason = why_not(name)
    if reason is not None:
        here = [kind for kind in reversed(PREFERRED) if why_not(kind) is None]
        raise UserError(
            f"device must be one of {', '.join([*here, AUTO])} here: {reason}, got {name!r}"
        )
    return torch.device(name)


def available_or_cpu(device: str) -> str:
    """Return a run's device if it is there, else the processor: to look at what was trained."""
    return CPU if device != AUTO and why_not(device) is not None else device


def why_not(device: str) -> str | None:
    """Return why a device cannot be used here; None if it can."""
    import torch

    kind, _, number = device.partition(":")
    if kind == "cuda":
        if torch.version.cuda is None and torch.version.hip is None:
            return "this PyTorch has no CUDA"
        if not torch.cuda.is_available():
            return "PyTorch finds no CUDA device"
        count = torch.cuda.device_count()
        if number and int(number) >= count:
            return f"the last CUDA device is cuda:{count - 1}"
    if kind == "mps":
        if not torch.backends.mps.is_built():
            return "this PyTorch has no MPS"
        if not torch.backends.mps.is_available():
            return "PyTorch finds no MPS device"
    return None
