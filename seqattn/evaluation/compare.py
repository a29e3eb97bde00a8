"""Translators side by side: is the difference more than luck?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from seqattn.data.pairs import TextPair
from seqattn.evaluation.evaluate import LengthScore, bleu_scorer, score_by_length
from seqattn.extras import require
from seqattn.plots.style import INK, PALETTE, tidy
from seqattn.translator import Translator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Comparison", "System", "compare", "plot_comparison"]

Log = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class System:
    """Scores of one translator.

    Attributes
    ----------
    name : str
        Its name.
    bleu, chrf : float
        From 0 to 100.
    bleu_interval, chrf_interval : float
        Half the width of the 95% interval that the bootstrap finds.
    bleu_p, chrf_p : float, or None
        How often resampling makes a difference from the first as large as the one seen, and in its
        direction, if there were none: one tail, as sacrebleu counts it. 0.05 here is about
        0.10 where both directions count. 1 for equal outputs; None for the first itself.
    weights : int
        Number of its parameters.
    lengths : list of LengthScore
        BLEU by the length of the source.
    """

    name: str
    bleu: float
    bleu_interval: float
    bleu_p: float | None
    chrf: float
    chrf_interval: float
    chrf_p: float | None
    weights: int
    lengths: list[LengthScore]


@dataclass(frozen=True)
class Comparison:
    """Scores of several translators on the same sentences.

    Attributes
    ----------
    systems : list of System
        The first is what the others are compared with.
    sentences, beam, samples : int
        Number of pairs, width of the beam (1 is greedy search), and of resamplings.
    bleu_signature, chrf_signature : str
        sacrebleu's records of how the scores were computed.
    """

    systems: list[System]
    sentences: int
    beam: int
    samples: int
    bleu_signature: str
    chrf_signature: str

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that go into JSON."""
        return asdict(self)

    def table(self) -> list[str]:
        """Give the lines of a table."""
        width = max(len(system.name) for system in self.systems)
        lines = [f"{'':{width}}  weights     BLEU              p     chrF              p"]
        for system in self.systems:
            scores = (
                (system.bleu, system.bleu_interval, system.bleu_p),
                (system.chrf, system.chrf_interval, system.chrf_p),
            )
            cells = "  ".join(
                f"{score:6.2f} ± {interval:4.2f}  {'' if p is None else f'{p:.4f}':>6}"
                for score, interval, p in scores
            )
            lines.append(f"{system.name:{width}}  {system.weights / 1e6:5.1f} M  {cells}".rstrip())
        return lines

    def table_by_length(self) -> list[str]:
        """Give the lines of a table of BLEU by the length of the source, a column for each."""
        widths = [max(len(system.name), 6) for system in self.systems]
        names = [f"{s.name:>{width}}" for s, width in zip(self.systems, widths, strict=True)]
        lines = ["  ".join(["words     sentences", *names])]
        for groups in zip(*(system.lengths for system in self.systems), strict=True):
            first = groups[0]
            scores = [f"{g.bleu:{width}.2f}" for g, width in zip(groups, widths, strict=True)]
            words = first.words
            lines.append("  ".join([f"{words:8s}  {first.sentences:9d}", *scores]))
        return lines


def compare(
    translators: Mapping[str, Translator],
    pairs: Sequence[TextPair],
    *,
    beam: int = 5,
    lowercase: bool = False,
    samples: int = 1000,
) -> Comparison:
    """Translate the same sentences with several models, and test their differences.

    The test is the paired bootstrap: sentences are drawn again, with replacement, and each system
    is scored on the same draw. A small p says that the difference is no accident of *these
    sentences*; another seed of the training is another question.

    p is that of sacrebleu's paired bootstrap: the share of draws in which ``|d*| - mean |d*|``
    exceeds ``|d|``, where d is the difference on all sentences and d* that on a draw. Where d is
    large beside its spread, all d* have its sign, and this is one tail: about half of the p of
    :func:`~seqattn.metrics.paired_bootstrap`, which counts both directions. Where d is near 0 it
    stays below one half.

    Parameters
    ----------
    translators : mapping from name to Translator
        Two or more; the others are compared with the first.
    pairs : sequence of TextPair
        Held-out pairs.
    beam : int
        Width of the beam; 1 is greedy search.
    lowercase : bool
        Whether the scores ignore case.
    samples : int
        Number of resamplings.

    Returns
    -------
    Comparison
        Scores, intervals and p.

    Raises
    ------
    ValueError
        If there are fewer than two translators, no pairs or no samples, or one was trained on lower
        case and the scores do not ignore it.
    ImportError
        If sacrebleu is missing.

    References
    ----------
    Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
    """
    if len(translators) < 2 or not pairs or samples < 1:
        raise ValueError(
            f"{len(translators)} translator(s), {len(pairs)} pairs and {samples} samples; expected "
            "at least two translators, a pair and a sample"
        )
    lower = [name for name, translator in translators.items() if translator.lowercase]
    if lower and not lowercase:
        raise ValueError(
            f"{lower[0]} writes lower case alone; expected lowercase=True (--lowercase)"
        )
    sources, references = [p.source for p in pairs], [p.target for p in pairs]
    texts = {
        name: [found.text for found in translator.translate(sources, beam=beam)]
        for name, translator in translators.items()
    }
    metrics, signatures = _bootstrap(texts, references, lowercase, samples)
    first, systems = next(iter(texts)), []
    for i, (name, translator) in enumerate(translators.items()):
        found: dict[str, Any] = {}
        for metric, results in metrics.items():
            p = results[i].p_value
            # Of equal outputs no draw differs by more than they do, and sacrebleu's p is smallest.
            equal = i > 0 and texts[name] == texts[first]
            found[metric] = float(results[i].score)
            found[f"{metric}_interval"] = float(results[i].ci)
            found[f"{metric}_p"] = 1.0 if equal else None if p is None else float(p)
        size = sum(p.numel() for p in translator.model.parameters())
        lengths = score_by_length(texts[name], pairs, bleu_scorer(lowercase=lowercase))
        systems.append(System(name=name, weights=size, lengths=lengths, **found))
    return Comparison(systems, len(pairs), beam, samples, signatures["bleu"], signatures["chrf"])


def _bootstrap(
    texts: Mapping[str, list[str]], references: list[str], lowercase: bool, samples: int
) -> tuple[dict[str, Any], dict[str, str]]:
    sacrebleu = require("sacrebleu", "a comparison", "nmt")
    significance = require("sacrebleu.significance", "a comparison", "nmt")
    test = significance.PairedTest(
        list(texts.items()),
        {
            "bleu": sacrebleu.BLEU(lowercase=lowercase, references=[references]),
            "chrf": sacrebleu.CHRF(lowercase=lowercase, references=[references]),
        },
        references=None,
        test_type="bs",
        n_samples=samples,
    )
    signatures, results = test()
    # sacrebleu calls them by their full names, such as chrF2.
    short = {name: name.lower()[:4] for name in results if name != "System"}
    return (
        {short[name]: found for name, found in results.items() if name in short},
        {short[name]: str(signature) for name, signature in signatures.items()},
    )


def plot_comparison(comparison: Comparison, logs: Mapping[str, Log] | None = None) -> "Figure":
    """Draw the scores, BLEU by length, and how BLEU rose in training.

    Parameters
    ----------
    comparison : Comparison
        Scores.
    logs : mapping from name to records, optional
        Logs of the runs, as ``RunFolder.records`` reads them.

    Returns
    -------
    Figure
        Two panels, or three with logs.
    """
    from matplotlib.figure import Figure

    logs = {name: [r for r in log if r["kind"] == "valid"] for name, log in (logs or {}).items()}
    panels = 3 if any(logs.values()) else 2
    figure = Figure(figsize=(6.4, 2.6 * panels), layout="constrained")
    scores, lengths, *rest = figure.subplots(panels)
    names = [system.name for system in comparison.systems]
    for i, system in enumerate(comparison.systems):
        colour = PALETTE[i % len(PALETTE)]
        scores.barh(i, system.bleu, xerr=system.bleu_interval, color=colour, ecolor=INK, capsize=4)
        middles = [(group.shortest + group.longest) / 2 for group in system.lengths]
        lengths.plot(
            middles, [g.bleu for g in system.lengths], "o-", color=colour, label=system.name
        )
        for panel in rest:
            log = logs.get(system.name, [])
            panel.plot(
                [r["seconds"] / 60 for r in log], [r["bleu"] for r in log], "o-",
                color=colour, markersize=4, label=system.name,
            )  # fmt: skip
            panel.set(xlabel="minutes of training", ylabel="validation BLEU")
    scores.set_yticks(range(len(names)), names)
    scores.invert_yaxis()
    scores.set(xlabel=f"BLEU, with 95% interval ({comparison.sentences} sentences)")
    lengths.set(xlabel="words of the source", ylabel="BLEU")
    lengths.legend(frameon=False)
    for panel in (scores, lengths, *rest):
        tidy(panel)
    return figure
