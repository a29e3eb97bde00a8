"""The special tokens, the same in every vocabulary of this package: ids and texts."""

__all__ = ["BOS", "EOS", "PAD", "SPECIALS", "UNK"]

PAD = 0
"""Fills the short sentences of a batch; never read, never predicted."""

BOS = 1
"""The decoder's first input; never predicted."""

EOS = 2
"""Ends every sentence, source and target."""

UNK = 3
"""Stands for what the vocabulary does not hold."""

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
"""How each is written, in the order of the ids."""
