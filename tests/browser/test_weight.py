"""What a first visit carries, and that nothing on the page jumps meanwhile."""

import json
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import widgets_ready
from tests.browser.test_book import LIVE
from tools.figures import known_heights

# Uncompressed kilobytes of all that a first visit asks for, of its scripts, and requests.
CHAPTER = (900, 350, 40)
TEXT = (350, 350, 25)
# The heaviest of their kinds. ``tests/book/test_pages.py`` weighs every page, by what it names.
TEXT_PAGES = [
    "chapters/how_to_use",
    "chapters/notation",
    "chapters/map",
    "chapters/api_core",
    "chapters/api_maps",
    "exercises/06_decoder",
    "_modules/tests/02_soft_addressing",
]
SHIFTS = """() => new Promise(done => {
    let moved = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) moved += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(moved), 300);
})"""


def visit(page, address):
    """Open a page for the first time; return what came: (path, kind, bytes)."""
    came = []
    page.on("requestfinished", lambda request: came.append(request))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return [
        (urlsplit(r.url).path, r.resource_type, len(r.response().body()))
        for r in came
        if r.url.startswith("http")
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*LIVE, *TEXT_PAGES])
def test_a_first_visit_is_light(name, page, readers_book):
    came = visit(page, f"{readers_book}/{name}.html")
    whole, scripts, requests = CHAPTER if name in LIVE else TEXT
    heaviest = sorted(((size, path) for path, _, size in came), reverse=True)[:8]
    assert sum(size for *_, size in came) <= 1000 * whole, heaviest
    assert sum(size for _, kind, size in came if kind == "script") <= 1000 * scripts, heaviest
    assert len(came) <= requests


@pytest.mark.sampled(10)
@pytest.mark.parametrize("faces", ["in time", "late"])
@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("name", [*LIVE, *TEXT_PAGES])
def test_nothing_jumps_while_a_page_comes_in(name, width, faces, new_page, readers_book):
    page, held, late = new_page(width=width), [], faces == "late"
    if late:
        page.route("**/*.woff2", lambda route: held.append(route) if late else route.continue_())
    page.goto(f"{readers_book}/{name}.html", wait_until="domcontentloaded")
    if late:  # figures far below wait for the page to be loaded, faces and all
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        assert held
        late = False
        for route in held:
            route.continue_()
    if name in LIVE:
        widgets_ready(page)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SHIFTS) <= 0.02


def drawn_in(page, selector):
    """Say whether the letters of an element are the book's own, not those of the machine."""
    cdp = page.context.new_cdp_session(page)
    for part in ("DOM", "CSS"):
        cdp.send(f"{part}.enable")
    root = cdp.send("DOM.getDocument")["root"]["nodeId"]
    node = cdp.send("DOM.querySelector", {"nodeId": root, "selector": selector})
    fonts = cdp.send("CSS.getPlatformFontsForNode", {"nodeId": node["nodeId"]})["fonts"]
    return max(fonts, key=lambda font: font["glyphCount"])["isCustomFont"]


def test_only_a_page_that_may_not_fetch_faces_ahead_changes_them_under_the_reader(
    new_page, book, readers_book
):
    for address, late in ((readers_book, True), (book.as_uri(), False)):
        page, held = new_page(), []
        if late:
            page.route("**/*.woff2", lambda route, _, held=held: held.append(route))
        page.goto(f"{address}/chapters/02_soft_addressing.html", wait_until="domcontentloaded")
        if late:
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            for route in held:
                route.continue_()
        page.wait_for_function("document.fonts.status === 'loaded'")
        assert [drawn_in(page, kind) for kind in ("h1", "p code", ".formula mi")] == [
            not late
        ] * 2 + [True]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LIVE)
def test_a_figures_place_is_as_high_as_the_figure(name, new_page, book_server):
    """If this fails after a figure changed: python -m tools.figure_heights."""
    for column, width in enumerate((390, 1366)):
        page = new_page(width=width)
        page.goto(f"{book_server}/{name}.html")
        widgets_ready(page)
        page.wait_for_function("document.fonts.status === 'loaded'")
        seen = page.evaluate("[...document.querySelectorAll('.sa-fig')].map(f => f.offsetHeight)")
        kept = [pair[column] for pair in known_heights()[name]]
        assert seen == pytest.approx(kept, abs=12), json.dumps(seen)
