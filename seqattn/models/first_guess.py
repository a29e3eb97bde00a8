"""What a translator writes before it has learned anything: words as frequent as they are."""

from collections.abc import Iterable, Sequence

import torch
from torch import nn

__all__ = ["guess_frequencies"]


@torch.no_grad()
def guess_frequencies(
    vocabulary: nn.Linear, targets: Iterable[Sequence[int]], *, size: int | None = None
) -> None:
    r"""Set the bias of a vocabulary product to the logarithm of each token's frequency.

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

    Examples
    --------
    >>> from seqattn.models import ModelConfig, build_model
    >>> model = build_model(ModelConfig(d_embed=4, d_hidden=4), source_vocab=9, target_vocab=6)
    >>> guess_frequencies(model.vocabulary, [[4, 5, 2], [4, 2]])
    >>> model.vocabulary.bias.detach().exp()
    tensor([0.0909, 0.0909, 0.2727, 0.0909, 0.2727, 0.1818])
    """
    size = vocabulary.out_features if size is None else size
    counts = torch.ones(size, dtype=torch.float64)
    tokens = torch.tensor([token for target in targets for token in target], dtype=torch.long)
    counts += torch.bincount(tokens[tokens < size], minlength=size)
    vocabulary.bias[:size] = (counts / counts.sum()).log()
