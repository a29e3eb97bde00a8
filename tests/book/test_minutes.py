"""One formula says how long each chapter takes, wherever that is said."""

import pytest

from tools import minutes

TEXT = """\
# %% [markdown]
# {words}
# <details><summary>Answer</summary></details>
# <details><summary>More</summary></details>
# %%
x = 1
# %% tags=["hide-cell"]
y = 2
# %% tags=["hide-input"]
Recency(), SoftLookup(predict=False)
"""


def test_the_formula():
    # 596 words and 4 of the folds, one question, one cell shown, two figures: 5 + 1 + 0.5 + 4.
    assert minutes.minutes(TEXT.format(words="word " * 596)) == 10
    # 13 minutes of words more are 5.5 + 18.
    assert minutes.minutes(TEXT.format(words="word " * (596 + 13 * 120))) == 25
    assert minutes.minutes("# %% [markdown]\n# Little.\n") == 5


def test_optional_sections_end_where_a_heading_of_their_level_begins():
    said = "word " * 1198  # with the two or three of a heading, ten minutes
    headings = (
        "## A",
        "## B (optional)",
        "### Under B",
        "### C (optional)",
        "## D",
        "### E (optional)",
    )
    text = "".join(f"# %% [markdown]\n# {heading}\n# {said}\n" for heading in headings)
    assert minutes.optional(text) == 40  # B with what is under it, and E
    assert minutes.optional(TEXT.format(words="word")) == 0


@pytest.fixture(scope="module")
def pages():
    return minutes.pages()


def test_a_chapter_says_how_long_it_takes(pages):
    found = (*pages, *minutes.appendices())
    times = {
        path.name: (time, minutes.optional(path.read_text(encoding="utf-8")))
        for path, time in found
        if path.parent.name == "chapters"
    }
    said = {name: minutes.said(minutes.ROOT / "chapters" / name) for name in times}
    assert said == times, "python -m tools.minutes --write"


def test_the_table_of_all_times_is_the_same(pages):
    page = (minutes.ROOT / "chapters" / "how_to_use.md").read_text(encoding="utf-8")
    assert minutes.table(pages) in page, "python -m tools.minutes --write"
