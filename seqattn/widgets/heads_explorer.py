"""Maps of all heads of a Transformer side by side, ranked by a score that the reader chooses."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from seqattn.widgets.base import LiveFigure

__all__ = ["HeadsExplorer"]

KINDS = ("source", "target", "cross")
OFFSETS = {"previous place": -1, "same place": 0, "next place": 1}
SCORES = (*OFFSETS, "end of sentence", "gold links", "entropy")


class HeadsExplorer(LiveFigure):
    """Every head of every layer on some sentences: drawn, scored and put in order.

    Parameters
    ----------
    sentences : sequence of mappings
        Each has ``source`` and ``target``, lists of tokens with ``<eos>`` last; ``weights``, for
        "source", "target" and "cross" nested lists or tensors (layers, heads, rows, columns) in
        hundredths, rounded; and ``links``, gold links (source, target), counted from 0. Rows and
        columns of "target" are what the decoder reads: ``<bos>`` first.
    sentence : int
        Which of them is shown first.
    kind : {"source", "target", "cross"}
        Who looks at whom: source at source, target at target, or target at source. The controls
        call the two languages English and French, those of the course.
    score : str
        What heads are ordered by: mean weight on the "previous place", "same place", "next place"
        or "end of sentence"; the share of linked words whose largest weight is on a gold link,
        "gold links"; or "entropy", a share of the largest possible.
    rank : int
        Which head of that order is chosen, from 0.
    row, column : int
        The chosen cell.
    title, caption, predict : optional
        As in :class:`LiveFigure`.

    Raises
    ------
    ValueError
        If maps and tokens do not fit, or an option is unknown.

    Examples
    --------
    >>> eye = [[[[100, 0], [0, 100]], [[0, 100], [100, 0]]]]  # one layer, two heads
    >>> one = {"source": ["cat", "<eos>"], "target": ["chat", "<eos>"], "links": [(0, 0)],
    ...        "weights": {"source": eye, "target": eye, "cross": eye}}
    >>> figure = HeadsExplorer([one], kind="cross", score="same place")
    >>> figure.numbers()["scores"], figure.numbers()["order"]
    ([1.0, 0.0], [0, 1])
    """

    _js = "heads_explorer.js"
    _moves = ("sentence", "kind", "score", "rank", "row", "column")
    _title = "All heads, in an order of your choice"
    _question: ClassVar[Mapping[str, Any]] = {}

    sentences: "traitlets.List[Any]" = traitlets.List().tag(sync=True)
    sentence = traitlets.Int().tag(sync=True)
    kind = traitlets.Enum(KINDS, "cross").tag(sync=True)
    score = traitlets.Enum(SCORES, "gold links").tag(sync=True)
    rank = traitlets.Int().tag(sync=True)
    row = traitlets.Int().tag(sync=True)
    column = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Mapping[str, Any]],
        *,
        sentence: int = 0,
        kind: str = "cross",
        score: str = "gold links",
        rank: int = 0,
        row: int = 0,
        column: int = 0,
        **options: Any,
    ) -> None:
        if kind not in KINDS or score not in SCORES:
            raise ValueError(
                f"kind is {kind!r} and score {score!r}; expected one of {', '.join(KINDS)} and one "
                f"of {', '.join(SCORES)}"
            )
        known = [_checked(one) for one in sentences]
        if len({_heads(one) for one in known}) != 1:
            raise ValueError(
                f"the sentences have maps of {sorted({_heads(one) for one in known})} layers and "
                "heads; expected at least one sentence, and the same heads for each"
            )
        layers, heads = _heads(known[0])
        super().__init__(
            sentences=known,
            sentence=range(len(known))[sentence],
            kind=kind,
            score=score,
            rank=range(layers * heads)[rank],
            row=int(row),
            column=int(column),
            **options,
        )

    def numbers(self) -> dict[str, Any]:
        """Score the heads on the rounded weights that the figure draws, in float64."""
        one = self.sentences[self.sentence]
        weights = torch.tensor(one["weights"][self.kind], dtype=torch.float64) / 100
        heads = weights.shape[1]
        scores = _scores(weights.flatten(0, 1), self.kind, self.score, one["links"])
        scores = [round(score, 9) for score in scores]
        order = sorted(range(len(scores)), key=lambda n: -scores[n])
        chosen = order[self.rank]
        row, column = (
            min(at, size - 1)
            for at, size in zip((self.row, self.column), weights.shape[2:], strict=True)
        )
        scored = {"scores": scores, "score_of_this_head": scores[chosen]}
        return {
            **(scored if scores[chosen] >= 0 else {}),  # none has a score, or all
            "order": order,
            "layer": chosen // heads + 1,
            "head": chosen % heads + 1,
            "row": row,
            "column": column,
            "weight": weights.flatten(0, 1)[chosen, row, column].item(),
            "map": weights.flatten(0, 1)[chosen].tolist(),
        }


def _scores(maps: Tensor, kind: str, score: str, links: Sequence[Sequence[int]]) -> list[float]:
    """Score each map (heads, rows, columns); -1 where the score has no meaning."""
    rows, columns = maps.shape[1:]
    if score == "entropy":
        sizes = [min(t + 1, columns) if kind == "target" else columns for t in range(rows)]
        shares = [
            torch.special.entr(maps[:, t]).sum(-1) / torch.tensor(float(n)).double().log()
            for t, n in enumerate(sizes)
            if n > 1
        ]
        return torch.stack(shares).mean(0).tolist() if shares else [-1.0] * len(maps)
    if score == "gold links":
        if kind != "cross":
            return [-1.0] * len(maps)
        linked = sorted({t for _, t in links})
        gold = {(i, t) for i, t in links}
        # Which column is largest: the end of the sentence is none of them, as in alignment_links.
        best = maps[:, linked, :-1].argmax(-1).tolist()
        return [
            sum((i, t) in gold for i, t in zip(found, linked, strict=True)) / len(linked)
            for found in best
        ]
    if score == "end of sentence":
        return [-1.0] * len(maps) if kind == "target" else maps[:, :, -1].mean(1).tolist()
    by = OFFSETS[score]
    places = [(t, t + by) for t in range(rows) if 0 <= t + by < columns]
    if (kind == "target" and by > 0) or not places:
        return [-1.0] * len(maps)
    return torch.stack([maps[:, t, i] for t, i in places]).mean(0).tolist()


def _checked(one: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a sentence as plain lists, or say what does not fit."""
    source, target = list(map(str, one["source"])), list(map(str, one["target"]))
    sizes = {
        "source": (len(source), len(source)),
        "target": (len(target), len(target)),
        "cross": (len(target), len(source)),
    }
    maps = {kind: torch.as_tensor(one["weights"][kind]) for kind in KINDS}
    for kind, found in maps.items():
        if found.dim() != 4 or tuple(found.shape[2:]) != sizes[kind]:
            raise ValueError(
                f"weights[{kind!r}] have shape {tuple(found.shape)}; expected (layers, heads, "
                f"{sizes[kind][0]}, {sizes[kind][1]}) for these tokens"
            )
        if found.shape[:2] != maps["source"].shape[:2]:
            raise ValueError(
                f"weights[{kind!r}] have {tuple(found.shape[:2])} layers and heads; expected "
                f"{tuple(maps['source'].shape[:2])}, as for 'source'"
            )
    links = sorted({(int(i), int(t)) for i, t in one["links"]})
    if not links or any(not (i < len(source) and t < len(target)) for i, t in links):
        raise ValueError(f"links are {links}; expected at least one, between words of the sentence")
    return {
        "source": source,
        "target": target,
        "weights": {kind: found.round().int().tolist() for kind, found in maps.items()},
        "links": [[*link] for link in links],
    }


def _heads(one: Mapping[str, Any]) -> tuple[int, int]:
    return len(one["weights"]["source"]), len(one["weights"]["source"][0])
