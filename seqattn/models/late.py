"""Gradients of what all steps of a loop share, computed once, after the loop.

A decoder multiplies by the same matrices at every step. Automatic differentiation adds up a
gradient as large as the matrix for each: for sixteen steps sixteen thin products and sixteen sums.
The sum of products is one product of what belongs together,

    dW = Σ_t G_tᵀ X_t = [G_1; …; G_T]ᵀ [X_1; …; X_T],

so each step only keeps its two factors, and the gradient is computed when the last of them is
there. The same holds for keys and values of a sentence, which every step looks at.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

__all__ = ["late_gradients"]

MATMULS = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)


def late_gradients() -> AbstractContextManager[Any]:
    """Give a context in which matrix products put off the gradient of their larger operand.

    Results are the same up to rounding; in half precision gradients are better, since they are
    added up before they are rounded. Such a gradient cannot be differentiated again.

    Examples
    --------
    >>> W = torch.randn(4, 3, requires_grad=True)
    >>> with late_gradients():
    ...     total = sum(F.linear(torch.ones(2, 3), W).sum() for step in range(5))
    >>> total.backward()
    >>> W.grad[0]
    tensor([10., 10., 10.])
    """
    if not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return nullcontext()
    return _Late()


class _Late(TorchFunctionMode):
    """Watches for matrix products."""

    def __init__(self) -> None:
        super().__init__()
        # The operands too: as long as they live, nothing else has their id. A `_Shared` may hold
        # neither them nor its token, whose graphs lead back to it: only the collector of cycles
        # would free all that, and late.
        self.shared: dict[tuple[int, int], tuple[Tensor, _Shared, Tensor, Tensor | None]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.linear and not kwargs:
            x, weight, bias = (*args, None)[:3]
            if weight.requires_grad and x.dim() > 1:
                return _Product.apply(x, *self._share(weight, bias), "linear")
        elif func in MATMULS and not kwargs:
            a, b = args
            if a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0]:
                if a.shape[1] == 1 and b.requires_grad:
                    return _Product.apply(a, *self._share(b), "row")
                if b.shape[2] == 1 and a.requires_grad:
                    return _Product.apply(b, *self._share(a), "column")
            elif a.dim() == b.dim() == 2 and b.requires_grad:
                return _Product.apply(a, *self._share(b), "row")
        return func(*args, **kwargs)

    def _share(self, tensor: Tensor, bias: Tensor | None = None) -> "tuple[Tensor, _Shared]":
        key = (id(tensor), id(bias))
        if key not in self.shared:
            shared = _Shared(tensor, bias)
            # Of no size, but its gradient is complete only when every product has passed its own
            # back.
            token = _Open.apply(tensor, bias, shared)
            self.shared[key] = token, shared, tensor, bias
        return self.shared[key][:2]


class _Shared:
    """An operand that several products share, and what its gradient will be made of."""

    def __init__(self, tensor: Tensor, bias: Tensor | None):
        self.dtypes = tensor.dtype, None if bias is None else bias.dtype  # of the gradients
        device = tensor.device.type
        dtype = tensor.dtype
        if torch.is_autocast_enabled(device) and dtype.is_floating_point:
            dtype = torch.get_autocast_dtype(device)
        self.tensor = tensor.detach().to(dtype)
        self.bias = None if bias is None else bias.detach().to(dtype)
        self.factors: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def keep(self, left: Tensor, right: Tensor) -> None:
        """Keep the factors of one product."""
        self.factors.setdefault(torch._C._current_graph_task_id(), []).append((left, right))

    def gather(self) -> tuple[Tensor, Tensor]:
        """Give the factors of all products of this backward pass, below each other."""
        kept = self.factors.pop(torch._C._current_graph_task_id())
        self.factors.clear()  # of passes that did not need this gradient
        left, right = (torch.cat(side, -2) for side in zip(*kept))
        return left, right


class _Open(torch.autograd.Function):
    """Stands before all products, so that its gradient comes after all of theirs."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, bias: Tensor | None, shared: _Shared) -> Tensor:
        ctx.shared = shared
        return tensor.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, Tensor | None, None]:
        left, right = ctx.shared.gather()
        kind, kind_of_bias = ctx.shared.dtypes
        of_bias = None if kind_of_bias is None else left.sum(0, dtype=kind_of_bias)
        return (left.mT @ right).to(kind), of_bias, None


class _Product(torch.autograd.Function):
    """A product whose larger operand waits for its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, token: Tensor, shared: _Shared, kind: str) -> Tensor:
        ctx.shared, ctx.kind, ctx.dtype = shared, kind, x.dtype
        x = x.to(shared.tensor.dtype)
        ctx.save_for_backward(x)
        if kind == "linear":
            return F.linear(x, shared.tensor, shared.bias)
        return x @ shared.tensor if kind == "row" else shared.tensor @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        (x,), tensor = ctx.saved_tensors, ctx.shared.tensor
        passed = None
        if ctx.kind == "linear":  # x Wᵀ
            ctx.shared.keep(given.flatten(0, -2), x.flatten(0, -2))
            if ctx.needs_input_grad[0]:
                passed = given @ tensor
        elif ctx.kind == "row":  # x V
            ctx.shared.keep(x, given)
            if ctx.needs_input_grad[0]:
                passed = given @ tensor.mT
        else:  # K x
            ctx.shared.keep(given.mT, x.mT)
            if ctx.needs_input_grad[0]:
                passed = tensor.mT @ given
        passed = None if passed is None else passed.to(ctx.dtype)
        return passed, given.new_zeros(()), None, None
