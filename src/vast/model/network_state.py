"""Networks and optimiser as one flat dictionary of NumPy arrays, and back.

PyTorch saves pickles, and its optimisers identify parameters by their order. Here everything is a
NumPy array with a name, fit for `np.savez`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.errors import UserError

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""what Adam keeps for each parameter that has ever had a gradient"""

FUSED = ("cpu", "cuda", "mps")
"""devices on which PyTorch has Adam as one operation"""

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


def fuses(device: torch.device) -> bool:
    """Tell whether PyTorch has Adam as one operation on a device."""
    return device.type in FUSED


def require_finite_gradient(module: nn.Module, loss: Tensor, limit: float | None = None) -> None:
    """Clip the gradient's norm to `limit`, if there is one; UserError if it is not finite.

    The weights have not moved by then: whoever stops here stops with a sound network.
    """
    if limit is None:
        gradients = [p.grad for p in module.parameters() if p.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    else:
        norm = nn.utils.clip_grad_norm_(module.parameters(), limit)
    if not (torch.isfinite(norm) and torch.isfinite(loss.detach())):
        raise UserError(
            f"loss and gradient must be finite, got a loss of {loss.item():g} and a gradient of "
            f"norm {norm.item():g}: lower the learning rate, or check the observations and rewards"
        )


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Return parameters and persistent buffers by name."""
    return {f"model/{name}": tensor for name, tensor in module.state_dict().items()}


def start_moments(optimiser: torch.optim.Optimizer, module: nn.Module) -> None:
    """Give Adam its moments at once, all 0, instead of at a parameter's first gradient."""
    optimiser.state.clear()
    for parameter in module.parameters():
        optimiser.state[parameter] = {
            moment: torch.zeros((), device=parameter.device)
            if moment == "step"
            else torch.zeros_like(parameter, memory_format=torch.preserve_format)
            for moment in MOMENTS
        }


def moments_of(optimiser: torch.optim.Optimizer, module: nn.Module) -> dict[str, Tensor]:
    """Return Adam's moments by the names of the parameters."""
    return {
        f"optimiser/{name}/{moment}": optimiser.state[parameter][moment]
        for name, parameter in module.named_parameters()
        for moment in MOMENTS
    }


def pack_optimiser(optimiser: torch.optim.Optimizer, module: nn.Module) -> Arrays:
    """Return the moments of all parameters that have ever had a gradient."""
    return {
        f"optimiser/{name}/{moment}": array(optimiser.state[parameter][moment])
        for name, parameter in module.named_parameters()
        if optimiser.state[parameter]["step"] > 0
        for moment in MOMENTS
    }


def expected_moments(
    optimiser: torch.optim.Optimizer, module: nn.Module, saved: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Return the moments that must have been saved together with these."""
    begun = {name.rpartition("/")[0] for name in saved if name.startswith("optimiser/")}
    moments = moments_of(optimiser, module)
    return {name: each for name, each in moments.items() if name.rpartition("/")[0] in begun}


def load_optimiser(
    optimiser: torch.optim.Optimizer, module: nn.Module, saved: Mapping[str, Any]
) -> None:
    """Make Adam continue from saved moments."""
    for moment in moments_of(optimiser, module).values():
        moment.zero_()
    copy_into(expected_moments(optimiser, module, saved), saved)


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
