"""What the curves of ``benchmarks.reach`` say, as tables and a figure for the page."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from seqattn.plots import BLUE, GREEN, GREY, ORANGE, name_lines, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarks.reach import Contestant

MARKS = 20, 25, 30
MINUTES = 1, 2, 4, 8, 15, 30  # of the table of the curve
TICKS = *MINUTES, 60  # of its figure
BESIDE = "joeynmt", "joeynmt-own"  # whom ours are compared with
TRAINING = itemgetter("training")
# Times as fast to BLEU 25, of the training alone.
GOALS = {("ours-fp32", "joeynmt"): 4.0, ("ours-bf16", "joeynmt"): 6.0}
COLOURS = {"ours-bf16": BLUE, "ours-fp32": GREEN, "joeynmt": ORANGE, "joeynmt-own": GREY}
OUR_SPREAD = 0.1  # of the first embeddings, as seqattn.models.rnn.initialise has it
HOW = "python -m benchmarks.reach --joeynmt PYTHON"
Cell = dict[str, Any]
Point = Mapping[str, float]
Count = Callable[[Point], float]  # what is counted until a point: seconds, tokens


def clock(point: Point) -> float:
    """Give the seconds of a point, of all that runs the clock."""
    return point["training"] + point["validating"]


def told(point: Point) -> str:
    """Give a line for the terminal."""
    return (
        f"  {point['training']:8.1f} s + {point['validating']:6.1f} s  update {point['updates']:6d}"
        f"  {point['tokens']:10,} tokens  BLEU {point['bleu']:5.2f}"
    )


def reached(cell: Cell, mark: float) -> Point | None:
    """Give the first validation with such a BLEU."""
    return next((point for point in cell["points"] if point["bleu"] >= mark), None)


def thousands(point: Point) -> float:
    """Give the thousands of target tokens that a point was reached with."""
    return point["tokens"] / 1000


def spent(cell: Cell, mark: float, count: Count = clock) -> float | None:
    """Give what was spent until then; None where it was not seen."""
    point = reached(cell, mark)
    return None if point is None else count(point)


def told_mean(values: Sequence[float | None], lasted: float) -> str:
    """Tell mean and range of those that there are, and of how many seeds.

    ``lasted`` is what the shortest of them had, where none is there.

    Examples
    --------
    >>> told_mean([600.0, 700.0, None], 7200.0).replace(chr(160), " ")
    '650 (600 to 700), 2 of 3 seeds'
    >>> told_mean([None], 7200.0)
    'not in 7,200'
    """
    there = [value for value in values if value is not None]
    if not there:
        return f"not in {lasted:,.0f}"
    text = f"{statistics.mean(there):,.0f}"
    if len(there) > 1:
        text += f" ({min(there):,.0f}\u00a0to\u00a0{max(there):,.0f})"
    return text if len(there) == len(values) else f"{text}, {len(there)} of {len(values)} seeds"


def told_ratio(ours: Cell, theirs: Cell, mark: float, count: Count = clock) -> str:
    """Tell how many times as much theirs spent as ours; at least, where it did not get there."""
    mine, other = (spent(cell, mark, count) for cell in (ours, theirs))
    if mine is None and other is None:
        return "–"
    bound = "below\u00a0" if mine is None else "above\u00a0" if other is None else ""
    if count is per_token:
        bound = ""  # a speed need not grow
    last_of_ours, last_of_theirs = (count(cell["points"][-1]) for cell in (ours, theirs))
    ratio = (last_of_theirs if other is None else other) / (last_of_ours if mine is None else mine)
    return f"{bound}{ratio:.2f}"


def pace(point: Point) -> float:
    """Give the tokens that a training learned from in a second of its own, up to a point."""
    return point["tokens"] / point["training"]


def per_token(point: Point) -> float:
    """Give the seconds of training that a token took, up to a point."""
    return point["training"] / point["tokens"]


def bleu_by(cell: Cell, seconds: float) -> float | None:
    """Give the last BLEU seen by then; None before the first and after the end."""
    points = cell["points"]
    if clock(points[-1]) < seconds:
        return None
    seen = [point["bleu"] for point in points if clock(point) <= seconds]
    return seen[-1] if seen else None


def page_lines(
    cells: Sequence[Cell],
    contestants: "Mapping[str, Contestant]",
    trials: Sequence[Cell] = (),
    tried: "Mapping[str, Contestant] | None" = None,
) -> list[str]:
    """Give what stands between the marks of the page, in Markdown."""
    cells = [cell for cell in cells if cell["points"]]
    if not cells:
        return [
            f"Not measured yet: `{HOW}` does it, and again with `--book` brings the tables here."
        ]
    boots = _machines(cells)
    # Seconds of two machines have no mean.
    groups = {
        (f"{contestant.name}, machine {machine}" if boots[1:] else contestant.name): found
        for machine, boot in enumerate(boots, start=1)
        for key, contestant in contestants.items()
        if (found := [c for c in cells if (c["contestant"], c["boot"]) == (key, boot)])
    }
    return [
        *_times(groups),
        *_ratios(groups, contestants),
        *_curve(groups),
        *_ends(cells, contestants),
        *trial_lines(trials, tried or {}),
        f"Measured by `{HOW}`: {_places(cells, contestants, boots)}.",
    ]


def draw_curves(
    cells: Sequence[Cell], contestants: "Mapping[str, Contestant]", mark: float
) -> "Figure":
    """Draw each training as BLEU over minutes, a panel for each machine, the mark as a line.

    The axis of the minutes is logarithmic: of two curves a distance along it is a ratio of times.
    """
    import matplotlib.pyplot as plt

    use_style()
    boots = _machines(cells)
    size = plt.rcParams["figure.figsize"][0], 2.8 * len(boots) + 0.4
    figure, panels = plt.subplots(len(boots), sharex=True, sharey=True, squeeze=False, figsize=size)
    for machine, (boot, panel) in enumerate(zip(boots, panels[:, 0], strict=True), start=1):
        panel.axhline(mark, color=GREY, linestyle=":", linewidth=1.5, label="_mark")
        drawn = set()
        for cell in cells:
            if cell["boot"] == boot:
                key = cell["contestant"]
                name = f"_{cell['seed']}" if key in drawn else contestants[key].name
                drawn.add(key)
                minutes = [clock(point) / 60 for point in cell["points"]]
                bleu = [point["bleu"] for point in cell["points"]]
                panel.plot(minutes, bleu, color=COLOURS[key], linewidth=1.3, label=name)
        # A title would stand where a phone has the names of the lines.
        panel.set_ylabel(f"machine {machine}\nvalidation BLEU" if boots[1:] else "validation BLEU")
    panels[0, 0].set(xscale="log", ylim=(0, None))
    panels[0, 0].set_xticks(TICKS, [str(minutes) for minutes in TICKS])
    panels[0, 0].minorticks_off()
    panels[-1, 0].set_xlabel("minutes, validations included")
    most = max(panels[::-1, 0], key=lambda panel: len(panel.get_legend_handles_labels()[1]))
    name_lines(most)
    return figure


def trial_lines(cells: Sequence[Cell], contestants: "Mapping[str, Contestant]") -> list[str]:
    """Give the table of what was tried: of the curves, the last point and every second before."""
    if not cells:
        return []
    most = min(len(cell["points"]) for cell in cells)
    shown = range(most)[::-2][::-1]
    thousand = [f"{thousands(cells[0]['points'][at]):,.0f}" for at in shown]
    heads = ["what", "peak of the rate", "spread of embeddings", *thousand]
    rows = []
    for cell in cells:
        contestant = contestants[cell["contestant"]]
        spread = contestant.own["start"]["embed_init_weight"] if contestant.own else OUR_SPREAD
        bleu = [f"{cell['points'][at]['bleu']:.1f}" for at in shown]
        rows.append([contestant.name, f"{contestant.peak:g}", f"{spread:g}", *bleu])
    seed = cells[0]["seed"]
    return [
        f"**What was tried, from seed {seed}: validation BLEU after so many thousand tokens**",
        "",
        *_table(heads, rows),
    ]


def _times(groups: Mapping[str, list[Cell]]) -> list[str]:
    lines = []
    for title, count in (
        ("Seconds until validation BLEU, training and validations", clock),
        ("Seconds until validation BLEU, training alone", TRAINING),
        ("Thousands of target tokens until validation BLEU", thousands),
    ):
        lines += [f"**{title}: mean (lowest to highest)**", ""]
        heads = ["what", "seeds", *(f"to {mark}" for mark in MARKS)]
        heads += ["tokens/s"] if count is TRAINING else []
        lines += [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
        for name, cells in groups.items():
            lasted = min(count(cell["points"][-1]) for cell in cells)
            row = [name, str(len(cells))]
            row += [told_mean([spent(cell, mark, count) for cell in cells], lasted)
                    for mark in MARKS]  # fmt: skip
            if count is TRAINING:
                row.append(f"{statistics.mean(pace(cell['points'][-1]) for cell in cells):,.0f}")
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    return lines


def _ratios(groups: Mapping[str, list[Cell]], contestants: "Mapping[str, Contestant]") -> list[str]:
    middle, rows, parts = MARKS[1], [], []
    for peer in BESIDE:
        others = [c for cells in groups.values() for c in cells if c["contestant"] == peer]
        for name, cells in groups.items():
            key = cells[0]["contestant"]
            pairs = [
                (ours, theirs)
                for ours in cells
                for theirs in others
                if contestants[key].own is None and are_comparable(ours, theirs)
            ]
            if pairs:
                names = name, contestants[peer].name
                seeds = ", ".join(str(ours["seed"]) for ours, _ in pairs)
                found = [", ".join(told_ratio(*pair, mark) for pair in pairs) for mark in MARKS]
                rows.append([*names, seeds, *found])
                goal = GOALS.get((key, peer))
                found = [
                    ", ".join(told_ratio(*pair, middle, count) for pair in pairs)
                    for count in (TRAINING, thousands, per_token)
                ]
                parts.append([*names, "" if goal is None else f"{goal:.2f}", *found])
    if not rows:
        return []
    heads = ["what", "beside"]
    return [
        "**How many times as long the other took, training and validations, seed by seed**",
        "",
        *_table([*heads, "seeds", *(f"to {mark}" for mark in MARKS)], rows),
        f"**The same to BLEU {middle}, training alone, and its two factors**",
        "",
        *_table([*heads, "goal", "time", "tokens", "time for a token"], parts),
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        "|---|---|" + "---:|" * (len(heads) - 2),
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def _machines(cells: Sequence[Cell]) -> list[str]:
    """Give the boots of all machines, in the order in which they are numbered."""
    return list(dict.fromkeys(cell["boot"] for cell in cells))


def are_comparable(ours: Cell, theirs: Cell) -> bool:
    """Say whether two trainings have one seed, and their seconds one machine and one PyTorch."""
    names = "seed", "machine", "boot"
    builds = (cell["about"].rpartition("PyTorch ")[2] for cell in (ours, theirs))
    return all(ours[name] == theirs[name] for name in names) and len(set(builds)) == 1


def _curve(groups: Mapping[str, list[Cell]]) -> list[str]:
    lines = [
        "**The curve: mean of the last validation BLEU seen by so many minutes**",
        "",
        "A dash stands before the first validation, and where a training has ended.",
        "",
        "| what | " + " | ".join(f"{minutes} min" for minutes in MINUTES) + " |",
        "|---" + "|---:" * len(MINUTES) + "|",
    ]
    for name, cells in groups.items():
        row = []
        for minutes in MINUTES:
            values = [bleu_by(cell, 60 * minutes) for cell in cells]
            whole = [value for value in values if value is not None]
            # Of all seeds or of none: a mean of those that are left would not be of the curve.
            row.append(f"{statistics.mean(whole):.1f}" if len(whole) == len(values) else "–")
        lines.append(f"| {name} | {' | '.join(row)} |")
    return [*lines, ""]


def _ends(cells: Sequence[Cell], contestants: "Mapping[str, Contestant]") -> list[str]:
    """Say of every training that did not get to the last mark why, and where it stood."""
    lines = [
        f"- {contestants[cell['contestant']].name}, seed {cell['seed']}: "
        f"{'cut short' if cell['end'] == 'cut' else cell['end']} after "
        f"{clock(cell['points'][-1]):,.0f} s, best BLEU "
        f"{max(point['bleu'] for point in cell['points']):.2f}"
        for cell in cells
        if cell["end"] != "reached"
    ]
    return [f"Ended before BLEU {MARKS[-1]}:", "", *lines, ""] if lines else []


def _places(
    cells: Sequence[Cell], contestants: "Mapping[str, Contestant]", boots: Sequence[str]
) -> str:
    found: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        place = f"{cell['machine']}, {cell['about']}, on {cell['date']}"
        if boots[1:]:
            place = f"machine {boots.index(cell['boot']) + 1}, {place}"
        name = contestants[cell["contestant"]].name
        found.setdefault(place, {}).setdefault(name, []).append(str(cell["seed"]))
    told = []
    for place, who in found.items():
        names = [
            f"{name} (seed{'s' * (len(seeds) > 1)} {', '.join(seeds)})"
            for name, seeds in who.items()
        ]
        told.append(f"{', '.join(names)}: {place}")
    return "; ".join(told)
