"""Networks as a flat dictionary of NumPy arrays, fit for `np.savez`, and back: no pickles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Arrays = dict[str, NDArray[Any]]


def array(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of a tensor as an array."""
    copy: NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return copy


def tensor_like(values: NDArray[Any], like: Tensor) -> Tensor:
    """Return an array as a tensor of another one's type, on its device.

    Converted before it is moved: not every device has double precision.
    """
    return torch.from_numpy(values).to(like.dtype).to(like.device)


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Return parameters and persistent buffers by name."""
    return {f"model/{name}": tensor for name, tensor in module.state_dict().items()}


def check(saved: Mapping[str, Any], expected: Mapping[str, Tensor | int]) -> None:
    """Raise ValueError unless exactly the expected names are there, of their shapes and types."""
    for name in sorted(saved.keys() ^ expected.keys()):
        what = "is missing" if name in expected else "does not belong to this model"
        raise ValueError(f"saved model: {name} {what}")
    for name, current in expected.items():
        found = np.asarray(saved[name])
        if isinstance(current, Tensor):
            dtype = torch.empty(0, dtype=current.dtype).numpy().dtype
            if found.shape != current.shape or found.dtype != dtype:
                raise ValueError(
                    f"saved model: {name} must be {dtype}{list(current.shape)}, "
                    f"got {found.dtype}{list(found.shape)}"
                )
        elif found.shape != () or found.dtype.kind not in "iu":
            raise ValueError(f"saved model: {name} must be an integer, got {saved[name]!r}")


def copy_into(tensors: Mapping[str, Tensor], saved: Mapping[str, Any]) -> None:
    """Overwrite tensors with what was saved under their names."""
    for name, tensor in tensors.items():
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(np.array(saved[name])))
