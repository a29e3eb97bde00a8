"""The output layer: a projection that embeddings may share, and the output bias it starts with.

The output projection is the linear layer from a decoder's features to logits, with a row of its
matrix and an entry of its bias for each token of the vocabulary. Models call it ``vocabulary``.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import torch
from torch import nn

__all__ = ["Tie", "guess_frequencies", "tie_matrices"]

Tie = Literal["none", "output", "all"]


def tie_matrices(
    tie: Tie, source: nn.Embedding, target: nn.Embedding, vocabulary: nn.Linear
) -> None:
    """Let embeddings and output projection share their matrix: the target's embedding.

    Parameters
    ----------
    tie : {"none", "output", "all"}
        Leave them apart; share between target embedding and output projection; or with the source
        embedding as well, which needs one vocabulary for both languages.
    source, target : nn.Embedding
        Embeddings of source and target tokens.
    vocabulary : nn.Linear
        What logits come from. Its bias stays its own.

    Raises
    ------
    ValueError
        If ``tie`` is unknown, or the matrices differ in size.

    References
    ----------
    Press and Wolf (2017), "Using the Output Embedding to Improve Language Models"; Vaswani et al.
    (2017), "Attention Is All You Need", section 3.4.

    Examples
    --------
    >>> source, target = nn.Embedding(7, 4), nn.Embedding(9, 4)
    >>> vocabulary = nn.Linear(4, 9)
    >>> tie_matrices("output", source, target, vocabulary)
    >>> vocabulary.weight is target.weight
    True
    """
    if tie not in get_args(Tie):
        raise ValueError(f"tie is {tie!r}; expected 'none', 'output' or 'all'")
    if tie == "none":
        return
    if tie == "all" and source.num_embeddings != target.num_embeddings:
        raise ValueError(
            f"tie='all' needs one vocabulary; the source has {source.num_embeddings} tokens and "
            f"the target {target.num_embeddings}"
        )
    if vocabulary.in_features != target.embedding_dim:
        raise ValueError(
            f"tie={tie!r} needs as many features before the vocabulary as an embedding has; they "
            f"are {vocabulary.in_features} and {target.embedding_dim} (d_readout chooses the first "
            "for readout='tanh' and 'maxout', d_embed the second)"
        )
    if vocabulary.weight.shape != target.weight.shape:
        raise ValueError(
            f"tie={tie!r} needs as many logits as the target has tokens; they are "
            f"{vocabulary.out_features} and {target.num_embeddings}"
        )
    if tie == "all" and source.embedding_dim != target.embedding_dim:
        raise ValueError(
            f"tie='all' needs embeddings of one size; they are {source.embedding_dim} and "
            f"{target.embedding_dim}"
        )
    vocabulary.weight = target.weight
    if tie == "all":
        source.weight = target.weight


@torch.no_grad()
def guess_frequencies(
    vocabulary: nn.Linear, targets: Iterable[Sequence[int]], *, size: int | None = None
) -> None:
    r"""Set the output bias, that of an output projection, to each token's log-frequency.

    .. math::
        b_k = \log \frac{1 + n_k}{\sum_j (1 + n_j)}

    A fresh model gives all tokens alike the same probability, and the first thing that it learns is
    that some are frequent. Everything before the vocabulary helps with that: states grow in one
    direction whatever the sentence, and scores with them, until attention looks at one position and
    no longer learns. A multiplicative score then often never recovers. A bias that knows the
    frequencies leaves nothing of this to be learned.

    Parameters
    ----------
    vocabulary : nn.Linear
        What a fresh model's logits come from; its bias is changed in place.
    targets : iterable of sequences of integers
        Target sentences of the training corpus, each ended by ``<eos>``.
    size : int, optional
        How many of the outputs are tokens, where not all are: the gate of a
        :class:`~seqattn.models.PointerGenerator` keeps its bias, and words that are copied do not
        count.

    Raises
    ------
    ValueError
        If a token is beyond the vocabulary, and ``size`` does not say that some may be.

    Examples
    --------
    >>> from seqattn.models import ModelConfig, build_model
    >>> model = build_model(ModelConfig(d_embed=4, d_hidden=4), source_vocab=9, target_vocab=6)
    >>> guess_frequencies(model.vocabulary, [[4, 5, 2], [4, 2]])
    >>> model.vocabulary.bias.detach().exp()
    tensor([0.0909, 0.0909, 0.2727, 0.0909, 0.2727, 0.1818])
    """
    tokens = torch.tensor([token for target in targets for token in target], dtype=torch.long)
    if size is None:
        size = vocabulary.out_features
        if tokens.numel() and int(tokens.max()) >= size:
            raise ValueError(f"token {int(tokens.max())} is in the targets; expected below {size}")
    counts = torch.ones(size, dtype=torch.float64)
    counts += torch.bincount(tokens[tokens < size], minlength=size)
    vocabulary.bias[:size] = (counts / counts.sum()).log()
