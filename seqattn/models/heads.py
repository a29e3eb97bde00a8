"""The heads of a Transformer: where each of them looks, and what the model does without some.

Both are done from outside, by hooks: the model stands as it was when a function returns or a
context ends.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqattn.attention import MultiHeadAttention
from seqattn.context_managers import evaluating
from seqattn.models.seq2seq import StepwiseModel
from seqattn.models.transformer import Transformer

__all__ = ["HeadWeights", "all_heads", "head_weights", "masked_heads"]


class HeadWeights(NamedTuple):
    """Weights of every layer and head, one map for each sentence.

    Attributes
    ----------
    source : (layers, batch, heads, keys, keys)
        The encoder's self-attention: source positions look at source positions.
    target : (layers, batch, heads, steps, steps)
        The decoder's self-attention, causal.
    cross : (layers, batch, heads, steps, keys)
        Target positions look at source positions. Row t is where the decoder looked to produce the
        token that follows input t.
    """

    source: Float[Tensor, "layers batch heads keys keys"]
    target: Float[Tensor, "layers batch heads steps steps"]
    cross: Float[Tensor, "layers batch heads steps keys"]


def head_weights(
    model: StepwiseModel,
    source: Int[Tensor, "batch keys"],
    lengths: Int[Tensor, " batch"],
    inputs: Int[Tensor, "batch steps"],
) -> HeadWeights:
    """Read known sentences, and give the weights of every layer and head.

    Computed in evaluation mode, without gradients. Keys that are padding have weight 0; *rows* of
    padding hold numbers of no meaning, since queries are not masked: leave them out.

    Parameters
    ----------
    model : StepwiseModel
        A Transformer. Its training flags stay as they are.
    source, lengths, inputs
        As in :meth:`seqattn.models.seq2seq.StepwiseModel.forward`.

    Returns
    -------
    HeadWeights

    Raises
    ------
    TypeError
        If the model is no Transformer.

    Examples
    --------
    >>> model = Transformer(11, 13, d_model=8, heads=2, layers=3, d_feedforward=16)
    >>> source, lengths = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
    >>> found = head_weights(model, source, lengths, torch.tensor([[1, 7], [1, 8]]))
    >>> found.source.shape, found.cross.shape
    (torch.Size([3, 2, 2, 3, 3]), torch.Size([3, 2, 2, 2, 3]))
    """
    kept: dict[str, list[Tensor]] = {}

    def ask(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, kwargs | {"need_weights": True}

    with ExitStack() as hooks, evaluating(model):
        for kind, attentions in _attentions(model).items():
            maps = kept[kind] = []
            for attention in attentions:

                def keep(
                    module: nn.Module, args: Any, output: Any, maps: list[Tensor] = maps
                ) -> None:
                    maps.append(output.weights)

                before = attention.register_forward_pre_hook(ask, with_kwargs=True)
                hooks.callback(before.remove)
                hooks.callback(attention.register_forward_hook(keep).remove)
        model(source, lengths, inputs)
    return HeadWeights(**{kind: torch.stack(maps) for kind, maps in kept.items()})


def all_heads(model: StepwiseModel) -> dict[str, Bool[Tensor, "layers heads"]]:
    """Give a mask of heads that keeps every one, to be changed for :func:`masked_heads`.

    Returns
    -------
    dict of str to (layers, heads) bool
        For ``"source"``, ``"target"`` and ``"cross"``, as in :class:`HeadWeights`; all True.

    Raises
    ------
    TypeError
        If the model is no Transformer.

    Examples
    --------
    >>> model = Transformer(11, 13, d_model=8, heads=2, layers=1, d_feedforward=16)
    >>> all_heads(model)["cross"]
    tensor([[True, True]])
    """
    return {
        kind: torch.ones(len(attentions), attentions[0].heads, dtype=torch.bool)
        for kind, attentions in _attentions(model).items()
    }


@contextmanager
def masked_heads(model: StepwiseModel, keep: Mapping[str, Tensor]) -> Iterator[None]:
    r"""Run a model without some of its heads.

    A head that is left out adds nothing to the output of its attention:

    .. math:: \sum_h \xi_h\, \mathrm{head}_h W^O_h, \qquad \xi_h \in \{0, 1\}

    That is the same as columns of zeros in the output matrix. Its bias belongs to no head and
    stays. A head that is left out still has its weights; those of later layers follow from what is
    left. Every search works inside the context.

    Parameters
    ----------
    model : StepwiseModel
        A Transformer.
    keep : mapping from "source", "target" or "cross" to (layers, heads) bool
        True for heads that stay, as :func:`all_heads` gives them; kinds that are not named keep all
        of theirs.

    Raises
    ------
    TypeError
        If the model is no Transformer.
    ValueError
        If a kind is unknown, or its mask has another shape or type.

    References
    ----------
    Michel, Levy and Neubig (2019), "Are Sixteen Heads Really Better than One?", section 2.3.

    Examples
    --------
    >>> model = Transformer(11, 13, d_model=8, heads=2, layers=1, d_feedforward=16)
    >>> keep = all_heads(model)
    >>> keep["cross"][0, 1] = False  # the second head of the first layer
    >>> with masked_heads(model, keep):
    ...     output = model(torch.tensor([[4, 2]]), torch.tensor([2]), torch.tensor([[1, 7]]))
    """
    known = all_heads(model)
    for kind, mask in keep.items():
        if kind not in known:
            raise ValueError(f"a mask is given for {kind!r}; expected one of {', '.join(known)}")
        if mask.shape != known[kind].shape or mask.dtype != torch.bool:
            raise ValueError(
                f"the mask for {kind!r} has shape {tuple(mask.shape)} and type {mask.dtype}; "
                f"expected bool of shape (layers, heads) = {tuple(known[kind].shape)}"
            )
    with ExitStack() as hooks:
        for kind, attentions in _attentions(model).items():
            for attention, mask in zip(attentions, keep.get(kind, known[kind]), strict=True):
                if not mask.all():
                    hook = attention.output.register_forward_pre_hook(_zeroing(mask.clone()))
                    hooks.callback(hook.remove)
        yield


def _zeroing(mask: Tensor) -> Any:
    """Make a hook that blanks what some heads hand to the output projection."""

    def blank(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        heads = args[0].unflatten(-1, (len(mask), -1))
        gone = ~mask.to(heads.device)[:, None]
        return (heads.masked_fill(gone, 0.0).flatten(-2),)

    return blank


def _attentions(model: StepwiseModel) -> dict[str, list[MultiHeadAttention]]:
    if not isinstance(model, Transformer):
        raise TypeError(f"heads are read from a Transformer; got a {type(model).__name__}")

    def of(stack: nn.ModuleList, name: str) -> list[MultiHeadAttention]:
        return [cast(MultiHeadAttention, getattr(layer, name)) for layer in stack]

    return {
        "source": of(model.encoder, "self_attention"),
        "target": of(model.decoder, "self_attention"),
        "cross": of(model.decoder, "cross_attention"),
    }
