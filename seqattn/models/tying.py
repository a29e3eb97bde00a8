"""One matrix for several jobs: what a token is when it is read, and when it is written."""

from typing import Literal, get_args

from torch import nn

__all__ = ["Tie", "tie_matrices"]

Tie = Literal["none", "output", "all"]


def tie_matrices(
    tie: Tie, source: nn.Embedding, target: nn.Embedding, vocabulary: nn.Linear
) -> None:
    """Let embeddings and vocabulary product share their matrix: the target's embedding.

    Parameters
    ----------
    tie : {"none", "output", "all"}
        Leave them apart; share between target embedding and vocabulary product; or with the source
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
    vocabulary.weight = target.weight
    if tie == "all":
        source.weight = target.weight
