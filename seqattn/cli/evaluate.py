"""``seqattn evaluate``."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from seqattn.cli.common import (
    SPLIT_HELP,
    RunOption,
    choose_run,
    plain_errors,
    prepare_device,
    read_test,
)
from seqattn.console import fail

if TYPE_CHECKING:
    from seqattn.data.pairs import TextPair
    from seqattn.evaluation import Evaluation

__all__ = ["evaluate", "score_lines"]


def evaluate(
    run: RunOption = None,
    split: Annotated[
        str,
        Option(help=SPLIT_HELP),
    ] = "test",
    data: Annotated[
        list[str] | None,
        Option(help="as for train", show_default="the run's corpus"),
    ] = None,
    encoding: Annotated[str, Option(help="of these files")] = "utf-8",
    beam: Annotated[int, Option(min=1, help="width of the beam; 1 is greedy search")] = 1,
    length_penalty: Annotated[
        float | None,
        Option(
            min=0,
            help="of the beam, exponent: 0 favours short translations, larger values long ones; "
            "choose it on valid",
            show_default="0.6",
        ),
    ] = None,
    lowercase: Annotated[
        bool, Option("--lowercase", help="let BLEU, chrF and exact matches ignore case")
    ] = False,
    tokenized: Annotated[
        bool,
        Option(
            "--tokenized",
            help="of lower-cased text, BLEU in Moses' tokens: to compare with older papers only",
        ),
    ] = False,
    ibm1: Annotated[
        bool,
        Option(
            "--ibm1",
            help="set IBM Model 1, trained on the run's corpus, beside the alignment of the "
            "attention: for corpora with gold links, as the toy corpus",
        ),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="print JSON")] = False,
    device: Annotated[str, Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Judge a translator: on sentences that it was not trained on, unless you name such."""
    with plain_errors():
        from seqattn.evaluation import evaluate
        from seqattn.translator import Translator
        from seqattn.translator.run_folder import find_checkpoint

        path = find_checkpoint(choose_run(run))
        if lowercase and tokenized:
            raise fail("--lowercase and --tokenized; expected one: the latter ignores case, too")
        if beam == 1 and length_penalty is not None:
            raise fail("--length-penalty needs a --beam of 2 or more")
        pairs, name, [stored] = read_test([path], split, data, encoding)
        if ibm1 and (stored.get("name") != "toy" or any(pair.links is None for pair in pairs)):
            raise fail("--ibm1 needs gold links: a run on the toy corpus, and its test pairs")
        translator = Translator.load(path, device=prepare_device(device))
        found = evaluate(
            translator,
            pairs,
            beam=beam,
            length_penalty=length_penalty,
            lowercase=lowercase or tokenized or translator.lowercase,
            language=str(stored.get("target", "en")) if tokenized else None,
            details=True,
        )
        rates = _rate_ibm1(stored, pairs) if ibm1 else None
        if as_json:
            print(json.dumps({**found.to_dict(), **({"ibm1": rates} if rates else {})}, indent=2))
            return
        search = "greedy search" if beam == 1 else f"beam of {beam}"
        search += "" if length_penalty is None else f", length penalty {length_penalty:g}"
        print(f"{path}, {name}, {found.sentences} sentences, {search}")
        # What a length penalty acts on; greedy search has none.
        print("\n".join(score_lines(found, rates, length=beam > 1)))


def _rate_ibm1(stored: dict[str, Any], pairs: "list[TextPair]") -> dict[str, float]:
    """Train IBM Model 1 on what the translator was trained on, and align the test pairs."""
    from seqattn.data.corpora import CorpusConfig, read_split
    from seqattn.evaluation import ibm1_error_rates

    corpus = CorpusConfig.from_dict(stored)
    return ibm1_error_rates(read_split(corpus, "train"), pairs, languages=corpus.languages)


def score_lines(
    found: "Evaluation", ibm1: Mapping[str, float] | None = None, *, length: bool = False
) -> list[str]:
    """Give one line for each score, those of IBM Model 1 after that of the attention.

    The length of the translations is told after BLEU if asked for.
    """
    lines = [
        f"  BLEU         {found.bleu:6.2f}    {found.signature}",
        f"  chrF         {found.chrf:6.2f}",
        f"  exact match  {100 * found.exact:6.2f} %",
        f"  perplexity   {found.perplexity:6.2f}    per token, told the true beginning",
    ]
    if length and found.length_ratio is not None:
        lines.insert(
            1,
            f"  length       {100 * found.length_ratio:6.2f} %  of the references' tokens, as BLEU "
            "counts them",
        )
    if found.aer is not None and found.aer_rows is not None:
        lines.append(
            f"  AER          {100 * found.aer:6.2f} %  of the attention, on gold links "
            f"({100 * found.aer_rows:.2f} % by rows alone)"
        )
    if ibm1 is not None:
        lines += _ibm1_lines(ibm1)
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


def _ibm1_lines(rates: Mapping[str, float]) -> list[str]:
    """Give the error rates of IBM Model 1 that stand beside those of the attention."""
    best = min(rates, key=lambda method: rates[method])
    return [
        f"  IBM Model 1  {100 * rates[best]:6.2f} %  by {best}, the best of its readings "
        f"({100 * rates['target']:.2f} % as it comes)"
    ]
