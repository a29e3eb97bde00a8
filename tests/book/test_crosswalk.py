"""The crosswalk: each row names a test that there is."""

import re
from pathlib import Path

from tools.course_map import test_source as source_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "chapters" / "crosswalk.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `.*\|$", TEXT.partition("## What differs")[0], re.MULTILINE)


def test_each_row_names_a_test_that_there_is():
    assert len(ROWS) >= 10
    for row in ROWS:
        named = re.search(r"`(tests/\S+::\w+)` \|$", row)
        assert named, row
        assert source_of(ROOT, named[1]), named[1]
