"""Scores, told to people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqattn.training import Evaluation

__all__ = ["score_lines"]


def score_lines(found: "Evaluation", ibm1: Mapping[str, float] | None = None) -> list[str]:
    """Give one line for each score, those of IBM Model 1 after that of the attention."""
    lines = [
        f"  BLEU         {found.bleu:6.2f}    {found.signature}",
        f"  chrF         {found.chrf:6.2f}",
        f"  exact match  {100 * found.exact:6.2f} %",
        f"  perplexity   {found.perplexity:6.2f}    per token, told the true beginning",
    ]
    if found.aer is not None and found.aer_rows is not None:
        lines.append(
            f"  AER          {100 * found.aer:6.2f} %  of the attention, on gold links "
            f"({100 * found.aer_rows:.2f} % by rows alone)"
        )
    if ibm1 is not None:
        lines += ibm1_lines(ibm1)
    if found.lengths and len(found.lengths) > 1:
        lines.append("  BLEU by the length of the source, in words")
        lines += [
            f"    {group.words:12s}{group.bleu:6.2f}    "
            f"{group.sentences} sentence{'' if group.sentences == 1 else 's'}"
            for group in found.lengths
        ]
    if found.attention is not None:
        did = found.attention
        lines += [
            f"  entropy      {did.entropy:6.2f}    nats of attention per token written, "
            f"{100 * did.relative:.0f} % of the largest",
            f"  coverage     {100 * did.under:6.2f} %  of the source tokens got less than half "
            f"their share, {100 * did.over:.2f} % more than twice",
        ]
    return lines


def ibm1_lines(rates: Mapping[str, float]) -> list[str]:
    """Give the error rates of IBM Model 1 that stand beside those of the attention."""
    best = min(rates, key=lambda method: rates[method])
    return [
        f"  IBM Model 1  {100 * rates[best]:6.2f} %  by {best}, the best of its readings "
        f"({100 * rates['target']:.2f} % as it comes)"
    ]
