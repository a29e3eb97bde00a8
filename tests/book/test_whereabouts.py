"""Each chapter says which parts of the translator it is about, in a picture and in words."""

import re

import pytest

from seqattn.widgets import Unrolled
from tools import part_colours, plain
from tools.contents import Contents
from tools.whereabouts import HEIGHT, PARTS, ROLE, WIDTH, Whereabouts

PLACES = Contents().whereabouts


def test_every_chapter_has_its_place():
    chapters = [page for page in plain.Book().notebooks if re.match(r"chapters/\d", page)]
    assert list(PLACES) == chapters
    assert set(PARTS) == {part for place in PLACES.values() for part in place.lit}


@pytest.mark.parametrize("page", PLACES)
def test_what_words_have_a_colour_for_is_lit(page):
    place = PLACES[page]
    coloured = {role for role, _ in ROLE.findall(place.here)}
    assert coloured <= set(place.lit) & set(part_colours.PARTS)
    assert "{" not in place.words
    for role, words in ROLE.findall(place.here):
        assert f'<span class="sa-part sa-{role}">{words}</span>' in place.fold()


@pytest.mark.parametrize("page", PLACES)
def test_the_figure_opens_at_an_event_of_the_first_lit_part(page):
    place = PLACES[page]
    figure = place.figure()
    assert figure.numbers()["event"] == PARTS[place.lit[0]].event
    assert figure.start == {"order": place.order, "phase": figure.phase, "event": figure.event}
    assert figure.lit == place.shown


@pytest.mark.parametrize("order", ["bahdanau", "transformer"])
def test_all_is_drawn_inside_the_frame_with_the_lit_parts_last(order):
    lit = [p for p in PARTS if PARTS[p].draw(order == "transformer")]
    picture = Whereabouts(lit, order, "all of it").picture()
    for x, y in re.findall(
        r"(-?[\d.]+)[ ,](-?[\d.]+)", re.sub(r"viewBox=\S+ \S+ \S+", "", picture)
    ):
        assert 0 <= float(x) <= WIDTH
        assert 0 <= float(y) <= HEIGHT
    unlit, shown = Whereabouts(lit[:1], order, "one").picture().split('<g class="lit">')
    assert len(unlit) > len(shown) > 0
    assert '<g class="unlit"></g>' in picture


@pytest.mark.parametrize(
    ("lit", "order", "found"),
    [
        (["score"], "luong", "lit holds 'score'; expected some of encoder, bridge, query"),
        (["positions"], "luong", "lit holds 'positions'"),
        (["bridge"], "transformer", "lit holds 'bridge'"),
        ([], "luong", "lit is empty"),
    ],
)
def test_a_part_that_cannot_be_seen_is_refused(lit, order, found):
    with pytest.raises(ValueError, match=found):
        Whereabouts(lit, order, "nothing")


def test_a_plain_notebook_says_it_and_has_the_line_of_code():
    page = "chapters/03_additive"
    first = plain.plain(page, plain.Book()).cells[0].source
    assert PLACES[page].words in first
    code = re.search(r"`from seqattn.widgets import Unrolled; (.*)`", first)[1]
    made = eval(code, {"Unrolled": Unrolled})
    assert (made.orders, made.lit) == ([PLACES[page].order], PLACES[page].shown)
