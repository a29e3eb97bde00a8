"""A plugin of pytest that keeps what came of each test, and goes on where it was cut short.

``python -m pytest -p benchmarks.tested``, with the name of a file in :data:`FILE`: each test leaves
a line there when it begins and one when it ends. A test that passed or was skipped before is left
out, and so is one that began twice and never ended: it would bring the process down once more.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

FILE = "SEQATTN_TESTED"
TRIES = 2
Line = dict[str, str | float]


def read_lines(path: Path) -> list[Line]:
    """Read what tests have left."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text.splitlines()]


def standings(lines: Iterable[Line]) -> dict[str, Line]:
    """Give each test's last line: its outcome, or how often it "began" without an end."""
    found: dict[str, Line] = {}
    for line in lines:
        before = found.get(str(line["test"]), {})
        tries = int(before.get("tries", 0)) + 1 if line["outcome"] == "began" else 0
        found[str(line["test"])] = {**line, "tries": tries}
    return found


def is_over(line: Line) -> bool:
    """Say whether a test with this last line is not to be run again."""
    return line["outcome"] in ("passed", "skipped") or int(line["tries"]) >= TRIES


class _Keeper:
    def __init__(self, path: Path):
        self.path, self.outcome, self.seconds = path, "passed", 0.0

    def _write(self, test: str, outcome: str, seconds: float = 0.0) -> None:
        line = {"test": test, "outcome": outcome, "seconds": round(seconds, 2)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        stands = standings(read_lines(self.path))
        over = [i for i in items if i.nodeid in stands and is_over(stands[i.nodeid])]
        items[:] = [item for item in items if item not in over]
        config.hook.pytest_deselected(items=over)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcome, self.seconds = "passed", 0.0
        self._write(nodeid, "began")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        if report.outcome != "passed" and self.outcome != "failed":
            self.outcome = report.outcome
        if report.when == "teardown":
            self._write(report.nodeid, self.outcome, self.seconds)


def pytest_configure(config: pytest.Config) -> None:
    """Keep what comes of tests where a file is named."""
    if file := os.environ.get(FILE):
        config.pluginmanager.register(_Keeper(Path(file)))
