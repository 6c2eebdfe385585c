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


def check_device_name(device: str) -> None:
    """Raise UserError unless this names a device, of this machine or of another one."""
    if not NAME.fullmatch(device):
        raise UserError(f"device must be one of cpu, cuda, mps, auto, got {device!r}")


def device_named(device: "str | torch.device") -> "torch.device":
    """Return the device that a name stands for here; UserError if there is none.

    A `torch.device` is taken as it is.
    """
    import torch

    if isinstance(device, torch.device):
        return device
    check_device_name(device)
    if device == AUTO:
        return torch.device(next(kind for kind in PREFERRED if why_not(kind) is None))
    reason = why_not(device)
    if reason is not None:
        here = [kind for kind in reversed(PREFERRED) if why_not(kind) is None]
        raise UserError(
            f"device must be one of {', '.join([*here, AUTO])} here: {reason}, got {device!r}"
        )
    return torch.device(device)


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
