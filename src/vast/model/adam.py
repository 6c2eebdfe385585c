"""Adam (Kingma & Ba 2015) as one call of PyTorch's fused kernel, with its moments as plain tensors.

`torch.optim.Adam` calls the same kernel, but the first one loads PyTorch's compiler: half a second
in each process that trains. Devices for which there is no such kernel take the formulas one by one.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vast.errors import UserError
from vast.model.network_state import Arrays, array, copy_into

FUSED = ("cpu", "cuda", "mps")
"""devices for which PyTorch has the kernel"""


class Moments(NamedTuple):
    """What Adam keeps for a parameter, by the names that PyTorch gives it."""

    step: Tensor
    """steps that had a gradient for it"""
    exp_avg: Tensor
    """running mean of the gradient"""
    exp_avg_sq: Tensor
    """running mean of its square"""


class Adam:
    """The optimiser of a module's parameters.

    A parameter without a gradient, such as those of actions that no step took, is left alone: it is
    not moved by the momentum of earlier minibatches.
    """

    def __init__(
        self, module: nn.Module, learning_rate: float, betas: tuple[float, float], epsilon: float
    ) -> None:
        self.learning_rate = learning_rate
        self._betas, self._epsilon = betas, epsilon
        self._parameters = dict(module.named_parameters())
        self._moments = {
            name: Moments(torch.zeros((), device=parameter.device), *_two_like(parameter))
            for name, parameter in self._parameters.items()
        }

    def differentiate(self, loss: Tensor) -> None:
        """Give each parameter its gradient; None, not 0, where the loss does not depend on it."""
        for parameter in self._parameters.values():
            parameter.grad = None
        torch.autograd.backward(loss)

    def require_finite_gradient(self, loss: Tensor, limit: float | None = None) -> None:
        """Clip the gradient's norm to `limit`, if there is one; UserError if it is not finite.

        The weights have not moved by then: whoever stops here stops with a sound network.
        """
        if limit is None:
            gradients = [p.grad for p in self._parameters.values() if p.grad is not None]
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        else:
            norm = nn.utils.clip_grad_norm_(self._parameters.values(), limit)
        if not torch.isfinite(norm + loss.detach()):
            raise UserError(
                f"loss and gradient must be finite, got a loss of {loss.item():g} and a gradient "
                f"of norm {norm.item():g}: lower the learning rate, or check the observations and "
                "rewards"
            )

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        parameters: list[Tensor] = []
        gradients: list[Tensor] = []
        moments: list[Moments] = []
        for name, parameter in self._parameters.items():
            if parameter.grad is not None:
                parameters.append(parameter)
                gradients.append(parameter.grad)
                moments.append(self._moments[name])
        torch._foreach_add_([each.step for each in moments], 1)
        if all(each.device.type in FUSED for each in parameters):
            self._step_fused(parameters, gradients, moments)
        else:
            for moved in zip(parameters, gradients, moments, strict=True):
                self._step_plainly(*moved)

    def _step_fused(
        self, parameters: list[Tensor], gradients: list[Tensor], moments: list[Moments]
    ) -> None:
        torch._fused_adam_(
            parameters,
            gradients,
            [each.exp_avg for each in moments],
            [each.exp_avg_sq for each in moments],
            [],  # of the variant AMSGrad
            [each.step for each in moments],
            lr=self.learning_rate,
            beta1=self._betas[0],
            beta2=self._betas[1],
            weight_decay=0.0,
            eps=self._epsilon,
            amsgrad=False,
            maximize=False,
        )

    def _step_plainly(self, parameter: Tensor, gradient: Tensor, moments: Moments) -> None:
        step, (beta1, beta2) = float(moments.step), self._betas
        moments.exp_avg.lerp_(gradient, 1 - beta1)
        moments.exp_avg_sq.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        spread = moments.exp_avg_sq.sqrt().div_(math.sqrt(1 - beta2**step)).add_(self._epsilon)
        rate = self.learning_rate / (1 - beta1**step)
        parameter.addcdiv_(moments.exp_avg, spread, value=-rate)

    # --- saving -----------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Return all moments by name."""
        return {
            f"optimiser/{name}/{moment}": tensor
            for name, moments in self._moments.items()
            for moment, tensor in moments._asdict().items()
        }

    def state_dict(self) -> Arrays:
        """Return the moments of all parameters that have ever had a gradient."""
        begun = [f"optimiser/{name}/" for name, each in self._moments.items() if each.step > 0]
        return {name: array(each) for name, each in self._of(begun).items()}

    def expected(self, saved: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the moments that must have been saved together with these."""
        begun = {name.rpartition("/")[0] for name in saved if name.startswith("optimiser/")}
        return self._of([f"{name}/" for name in begun])

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from saved moments, which must be the expected ones."""
        for moment in self.tensors().values():
            moment.zero_()
        copy_into(self.expected(saved), saved)

    def _of(self, begun: list[str]) -> dict[str, Tensor]:
        prefixes = tuple(begun)
        return {name: each for name, each in self.tensors().items() if name.startswith(prefixes)}


def _two_like(parameter: Tensor) -> tuple[Tensor, Tensor]:
    """Return zeros of the same shape and the same order in memory, twice."""
    like = parameter.detach()
    return torch.zeros_like(like), torch.zeros_like(like)
