"""The contents tell each page of the book, with minutes and pictures that are its own."""

import re

import pytest

from tools import plain
from tools.contents import Contents, spell
from tools.thumbnails import PICTURES, svg

CONTENTS = Contents()
ENTRIES = [entry for _, part in CONTENTS.parts for entry in part]


def test_every_chapter_and_exercise_is_told_once_in_the_books_order():
    pages = [page for _, part in plain.Book().parts for page in part]
    timed = [page for page in pages if page in CONTENTS.minutes]
    assert sorted(timed) == sorted(CONTENTS.written) == sorted(CONTENTS.minutes)
    chapters = [page for page in timed if page.startswith("chapters/")]
    assert chapters == [entry.page for entry in ENTRIES if entry.page]
    # A part is called the same beside the page and on it.
    captions = [caption for caption, part in plain.Book().parts if set(part) & set(timed)]
    assert set(captions) <= {part for part, _ in CONTENTS.parts}


def test_each_has_a_picture_of_its_own_inside_its_frame():
    assert sorted(entry.picture for entry in ENTRIES) == sorted(PICTURES)
    for name in PICTURES:
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", svg(name)):
            assert 0 <= float(x) <= 160, name
            assert 0 <= float(y) <= 100, name
    with pytest.raises(KeyError, match=r"no picture is named 'cat'; there are bottleneck"):
        svg("cat")


def test_a_path_takes_as_long_as_its_pages():
    for route in CONTENTS.paths:
        assert CONTENTS.total(route) == sum(CONTENTS.minutes[page] for page in route.pages) > 0
    first, day, transformer, term = map(CONTENTS.total, CONTENTS.paths)
    assert first <= 75 < day <= 8 * 60 < transformer < term == sum(CONTENTS.minutes.values())
    assert [spell(55), spell(120), spell(295)] == ["55 min", "2 h", "4 h 55 min"]


def test_an_entry_has_a_page_or_a_title():
    with pytest.raises(ValueError, match=r"to come; 'x' has neither"):
        CONTENTS._entry(says="x", picture="tree")
