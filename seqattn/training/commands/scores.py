"""Scores, told to people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqattn.training import Evaluation

__all__ = ["score_lines"]


def score_lines(found: "Evaluation") -> list[str]:
    """Give one line for each score."""
    lines = [
        f"  BLEU         {found.bleu:6.2f}    {found.signature}",
        f"  chrF         {found.chrf:6.2f}",
        f"  exact match  {100 * found.exact:6.2f} %",
        f"  perplexity   {found.perplexity:6.2f}    per token, told the true beginning",
    ]
    if found.aer is not None:
        lines.append(f"  AER          {100 * found.aer:6.2f} %  of the attention, on gold links")
    return lines
