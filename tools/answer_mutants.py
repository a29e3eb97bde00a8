"""Break every right answer in named ways and see whether the grader notices.

``python -m tools.answer_mutants [NN ...]`` changes each right answer of each question by one
operator at one place (:mod:`tools.broken_answers` makes these mutants), has the grader judge what
comes out, and prints for each question how many were made, caught, caught with a hint that names
the mistake, and which ones passed. A mutant that passes either shows a hole in the question's
cases, or means the same: then it stands with its reason in ``solutions/equivalent.yml``.
``--write`` puts the counts into ``solutions/mutants.md``.
"""

import argparse
import hashlib
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.bank import Question, exercises, load
from seqattn.grading.grades import Verdict
from seqattn.grading.sandbox.host import Limits
from tools.broken_answers import Mutant, mutants_of

__all__ = ["DRAWS", "LIMITS", "Row", "equivalents", "try_mutants", "written_rows"]

# Few cases of each kind: what these catch, a grading catches too.
DRAWS = 1
# Long enough for any honest answer, short enough for the endless ones among them.
LIMITS = Limits(seconds=2.0, idle=2.0)
# Mutants of each question that a share has at least.
FEWEST = 20
ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "solutions" / "equivalent.yml"
TABLE = ROOT / "solutions" / "mutants.md"


@dataclass(frozen=True)
class Row:
    """What became of a question's mutants.

    Attributes
    ----------
    exercise, question : str
        Whose.
    made, tried, equivalent, caught, named : int
        How many; ``named`` of those caught got a hint that says what is wrong with this answer
        rather than what the stage is about.
    survivors : list of Mutant
        Those that passed and are not listed as equivalent.
    unnamed : list of (Mutant, Verdict)
        Those that got the stage's hint.
    unused : list of str
        Patterns of equivalents that fit no mutant that passed.
    reasons : list of str
        Why the equivalent ones mean the same.
    """

    exercise: str
    question: str
    made: int
    tried: int
    equivalent: int
    caught: int
    named: int
    survivors: list[Mutant]
    unnamed: list[tuple[Mutant, Verdict]]
    unused: list[str]
    reasons: list[str]

    @property
    def name(self) -> str:
        """Exercise and question."""
        return f"{self.exercise} {self.question}"

    def cells(self) -> list[str]:
        """Give what stands in the table behind the name."""
        share = f"{self.named / max(1, self.caught):.0%}"
        why = "; ".join(self.reasons).replace("|", "\\|")
        counts = (self.made, self.caught, self.named)
        return [*map(str, counts), share, str(self.equivalent), why]


@cache
def equivalents() -> dict[str, Any]:
    """Read which mutants mean the same as their answers, by exercise and question."""
    return yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or {}


def try_mutants(judge: AuthorsJudge, exercise: str, q: Question, share: float = 1.0) -> Row:
    """Have mutants of a question judged: all, or a share, the same whenever it is asked for.

    The share is taken in the order of a digest of their texts. An entry of the equivalent ones is
    unused if no mutant of its name passes; of a share, if there is no mutant of its name.
    """
    listed = equivalents().get(exercise, {}).get(q.id, [])
    patterns, general = _patterns(listed), _patterns(equivalents()["every"])
    every = mutants_of(q)
    by_digest = sorted(every, key=lambda m: hashlib.sha256(m.code.encode()).digest())
    sample = set(by_digest[: max(FEWEST, round(share * len(every)))])
    mutants = [m for m in every if m in sample]
    verdicts = judge.judge_many(exercise, q.id, [m.code for m in mutants])
    hints = {stage.hint for stage in q.stages}
    passed = [m for m, v in zip(mutants, verdicts) if v.verdict == "pass"]
    same = [m for m in passed if any(p.fullmatch(m.name) for p in [*patterns, *general])]
    reasons = {
        entry["reason"]: None
        for entry, p in zip([*listed, *equivalents()["every"]], [*patterns, *general])
        if any(p.fullmatch(m.name) for m in same)
    }
    expected = passed if share == 1 else every
    caught = [(m, v) for m, v in zip(mutants, verdicts) if v.verdict != "pass"]
    unnamed = [(m, v) for m, v in caught if v.hint in hints]
    return Row(
        exercise,
        q.id,
        len(every),
        len(mutants),
        len(same),
        len(caught),
        len(caught) - len(unnamed),
        [m for m in passed if m not in same],
        unnamed,
        [p.pattern for p in patterns if not any(p.fullmatch(m.name) for m in expected)],
        list(reasons),
    )


_HEAD = """\
# Mutants of the right answers

`python -m tools.answer_mutants --write` makes this table, on cases that are always the same. Each
right answer of each question is changed at one place after the other. *Caught* ones lose points;
*named* are those of them whose hint says what is wrong with this very answer; *the same* mean what
the right answer means, for the reasons given. No other passes.

| question | made | caught | named | share | the same | why |
|---|---:|---:|---:|---:|---:|---|
"""


def written_rows() -> dict[str, list[str]]:
    """Read the table: its cells by exercise and question."""
    rows = re.findall(r"(?m)^\| (\d\d_\w+ q\d+) \| (.*) \|$", TABLE.read_text(encoding="utf-8"))
    return {name: re.split(r" \| ", cells) for name, cells in rows}


def _write(found: list[Row]) -> None:
    """Put rows into the table; those of other questions stay."""
    rows = written_rows() if TABLE.exists() else {}
    rows |= {row.name: row.cells() for row in found}
    asked = [f"{name} {q.id}" for name in exercises() for q in load(name).questions]
    rows = {name: rows[name] for name in asked if name in rows}
    made, caught, named, same = (sum(int(row[n]) for row in rows.values()) for n in (0, 1, 2, 4))
    total = [*map(str, (made, caught, named)), f"{named / max(1, caught):.0%}", str(same), ""]
    lines = [f"| {' | '.join([name, *cells])} |\n" for name, cells in rows.items()]
    lines.append(f"| {' | '.join(['all', *total])} |\n")
    TABLE.write_text(_HEAD + "".join(lines), encoding="utf-8")


def _patterns(listed: list[dict[str, str]]) -> list[re.Pattern[str]]:
    """Make patterns in which a star alone stands for any text: code is full of brackets."""
    return [re.compile(re.escape(e["mutant"]).replace(r"\*", ".*")) for e in listed]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Try mutants of the right answers.")
    parser.add_argument("only", nargs="*", help="exercise numbers, such as 03, or 03:q2")
    parser.add_argument("--seed", default="mutants", help="of the hidden cases")
    parser.add_argument("--unnamed", action="store_true", help="list what got a general hint")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    rows: list[Row] = []
    total: Counter[str] = Counter()
    print(f"{'question':22}{'made':>6}{'same':>6}{'caught':>8}{'named':>7}  survivors")
    with AuthorsJudge(options.seed, LIMITS, draws=DRAWS) as judge:
        for name in exercises():
            for q in load(name).questions:
                if q.evidence:
                    continue
                if options.only and not f"{name[:2]}:{q.id}".startswith(tuple(options.only)):
                    continue
                row = try_mutants(judge, name, q)
                rows.append(row)
                left = len(row.survivors)
                counts = f"{row.made:6}{row.equivalent:6}{row.caught:8}{row.named:7}{left:11}"
                print(f"{row.name:22}{counts}", flush=True)
                for mutant in row.survivors:
                    print(f"    {mutant.name}")
                for mutant, verdict in row.unnamed if options.unnamed else []:
                    print(f"    ? {mutant.name}\n        {verdict.hint}")
                total += Counter(
                    made=row.made,
                    same=row.equivalent,
                    caught=row.caught,
                    named=row.named,
                    left=left,
                )
    share = total["named"] / max(1, total["caught"])
    print(f"{total['made']} made, {total['same']} the same, {total['caught']} caught, ", end="")
    print(f"{share:.0%} of them named, {total['left']} not caught")
    if total["left"]:
        print(f"list what means the same in {EQUIVALENT.relative_to(ROOT)}, with its reason;")
        print("against the rest draw another case, or write a stage that sees it")
    if options.write and total["left"]:
        print(f"nothing was written into {TABLE.relative_to(ROOT)}")
    elif options.write:
        _write(rows)
    sys.exit(bool(total["left"]))


if __name__ == "__main__":
    main()
