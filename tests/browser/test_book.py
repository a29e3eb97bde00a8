"""The built book as readers open it: every page light, dark and on a phone, every slider by key."""

import json
import re
from pathlib import Path

import pytest
from ipywidgets import DOMWidget

from tests.browser.conftest import let_frames_pass, unhappy, widgets_ready
from tests.browser.test_live_figures import have_shown, state, values
from tests.widgets.figures import FIGURES, agrees
from tools.figures import known_heights

ROOT = Path(__file__).resolve().parents[2]
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LOOKS = {
    "light": (1200, "light"),
    "dark": (1200, "dark"),
    "phone, dark": (375, "dark"),
    "phone": (375, "light"),
}
# What goes on beyond the edge without a shadow there, or without a stop for the keyboard.
NO_CUE = """() => [...document.querySelectorAll(".bd-article *")].filter(e => {
    if (e.closest("math") || e.scrollWidth <= e.clientWidth + 1) return false;
    const style = getComputedStyle(e);
    return /auto|scroll/.test(style.overflowX)
        && (!/gradient/.test(style.backgroundImage) || e.tabIndex !== 0);
}).map(e => e.outerHTML.slice(0, 120))"""
# Names of code that go on in the next line without a sign before the break.
NAMES = ".bd-article :is(code, dt.sig)"
CUT_NAMES = (
    f"() => [...document.querySelectorAll('{NAMES}')].flatMap(code => {{"
    + """
    if (code.closest("pre, .sa-fig") || !code.offsetHeight) return [];
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const range = new Range(), cut = [];
    for (let text; (text = texts.nextNode()); )
        for (let i = 0, above; i < text.length; i++) {
            range.setStart(text, i);
            range.setEnd(text, i + 1);
            const box = range.getBoundingClientRect();
            if (!box.width) continue;
            if (above && box.top > above.bottom - 2 && /\\w\\w/.test(text.data.slice(i - 1, i + 1))
                && text.data[i - 1] !== "_")
                cut.push(`${text.data.slice(0, i)}|${text.data.slice(i)}`);
            above = box;
        }
    return cut;
})"""
)
# Lines of code that are as long as chapters/ruff.toml allows, and go on beyond the edge.
CODE_THAT_SCROLLS = """async () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    await new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)));
    return [...document.querySelectorAll(".bd-article .highlight pre")]
        .filter(pre => pre.scrollWidth > pre.clientWidth + 1)
        .map(pre => pre.innerText.split("\\n").reduce((a, b) => (b.length > a.length ? b : a)))
        .filter(line => line.length <= 88);
}"""
# Notes to a formula that stand on it, and links to the neighbouring pages that are cut.
COVERED = """() => [...document.querySelectorAll(".provenance > .formula-links")].filter(note => {
    const formula = note.parentElement.nextElementSibling.getBoundingClientRect();
    const box = note.getBoundingClientRect();
    return box.top < formula.bottom && formula.top < box.bottom;
}).map(e => e.outerHTML.slice(0, 120))"""
# Notes with a corner that is under something else. A point has to be in view to be asked for.
UNDER = """() => [...document.querySelectorAll(".provenance[open] > *:last-child")].filter(note => {
    note.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, right, bottom, width } = note.getBoundingClientRect();
    return width && [left + 4, right - 4].some(
        x => !document.elementFromPoint(x, bottom - 4)?.closest(".formula-links")
    );
}).map(e => e.outerHTML.slice(0, 120))"""
CUT_LINKS = """() => [...document.querySelectorAll(".prev-next-area a")]
    .filter(a => a.scrollWidth > a.clientWidth + 1).map(a => a.textContent)"""
# Faces may be set anew when the look changes; what follows from their widths takes two frames.
SETTLED = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame(); await document.fonts.ready; await frame(); await frame();
}"""
# What another look can break: the dark has other colours, the phone other widths.
RULES = {
    "light": {},  # all of them
    "dark": {"runOnly": ["color-contrast", "link-in-text-block"]},
    "phone, dark": {"runOnly": ["color-contrast"]},
    "phone": {"runOnly": ["scrollable-region-focusable"]},
}


def stored_figures(path: Path) -> list[dict]:
    """Return the stored state of each figure of a notebook, in reading order."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    models = notebook["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    views = [
        output["data"][VIEW]["model_id"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if VIEW in output.get("data", {})
    ]
    return [models[view]["state"] for view in views]


def twin(stored: dict):
    """Make the figure again in Python."""
    figure = FIGURES[stored["_anywidget_id"].rpartition(".")[2]]()
    own = {t for t in figure.traits(sync=True) if not t.startswith("_")} - set(DOMWidget().traits())
    with figure.hold_trait_notifications():  # words and numbers change together
        for trait in own & stored.keys():
            setattr(figure, trait, stored[trait])
    return figure


PAGES = sorted(
    [f"chapters/{p.stem}" for p in (ROOT / "chapters").glob("*.ipynb")]
    + [f"chapters/{p.stem}" for p in (ROOT / "chapters").glob("*.md")]
    + [f"exercises/{p.stem}" for p in (ROOT / "exercises").glob("*.ipynb")]
    + ["search", "genindex"]
)
LIVE = {
    f"chapters/{p.stem}": figures
    for p in sorted((ROOT / "chapters").glob("*.ipynb"))
    if (figures := stored_figures(p))
}


def test_every_chapter_has_at_least_two_live_figures():
    counts = {n: len(figures) for n, figures in LIVE.items() if re.match(r"chapters/\d", n)}
    assert len(counts) == len(list((ROOT / "chapters").glob("[0-9]*.ipynb")))
    assert min(counts.values()) >= 2


@pytest.mark.sampled(5)  # each kind of figure is moved on a page of its own too
@pytest.mark.parametrize("name", LIVE)
def test_every_slider_of_the_book_moves_by_keyboard_and_agrees_with_pytorch(
    name, page, book_server
):
    page.goto(f"{book_server}/{name}.html")
    widgets_ready(page)
    have_shown(page)
    shown = page.locator(".sa-fig")
    assert shown.count() == len(LIVE[name])
    for figure, stored in zip(shown.all(), LIVE[name]):
        sliders = figure.locator("input[type=range]").all()
        assert sliders
        for slider in sliders:
            slider.focus()
            seen = {slider.input_value()}
            for key in ("Home", "ArrowRight", "ArrowUp", "End", "ArrowLeft"):
                slider.press(key)
                seen.add(slider.input_value())
                agrees(values(figure), twin(stored | state(figure)).numbers())
            assert len(seen) > 2, f"{slider.get_attribute('aria-label')}: the keys move nothing"


# What a figure's place measures, with every choice made and every slider moved from end to end.
HEIGHTS = """figure => {
    const place = figure.closest(".sa-place"), seen = {};
    const look = (name) => { seen[Math.round(place.getBoundingClientRect().height)] ??= name; };
    const moved = (input) => input.dispatchEvent(new Event("input", { bubbles: true }));
    look("as it comes");
    const choices = [...figure.querySelectorAll("input[type=radio]:not(.sa-predict *)")];
    for (const choice of [null, ...choices]) {
        choice?.click();
        if (choice) look(choice.closest("label").textContent);
        for (const slider of figure.querySelectorAll("input[type=range]:enabled")) {
            const { min, max, value } = slider;
            for (let part = 0; part <= 12; part++) {
                slider.value = Number(min) + (max - min) * part / 12;
                moved(slider);
                look(`${choice?.closest("label").textContent ?? "start"}: ` +
                    `${slider.getAttribute("aria-label")} ${slider.value}`);
            }
            slider.value = value;
            moved(slider);
        }
    }
    return seen;
}"""
# Their figures may still grow or shrink on a phone by a line of text.
GROWING = set()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(LIVE.keys() - GROWING))
def test_no_figure_changes_its_height_on_a_phone(name, new_page, book_server):
    page = new_page(width=390)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{book_server}/{name}.html")
    widgets_ready(page)
    have_shown(page)
    for figure in page.locator(".sa-fig").all():
        heights = figure.evaluate(HEIGHTS)
        assert len(heights) == 1, (figure.get_attribute("data-figure"), heights)


def resize(page, width):
    """Give the page another width, and the theme's script its while until it sets tab stops."""
    if width == page.viewport_size["width"]:
        return
    outputs = "[...document.querySelectorAll('.cell_output > .output')]"
    page.evaluate(f"{outputs}.forEach(output => {{ output.tabIndex = -2; }})")
    page.set_viewport_size({"width": width, "height": 900})
    # A busy browser may not tell of the new width: the script is told again, less often than it
    # waits for more to come.
    page.wait_for_function(
        f"""() => {{
            const waits = {outputs}.some(output => output.tabIndex === -2);
            if (waits) dispatchEvent(new Event("resize"));
            return !waits;
        }}""",
        polling=600,
    )


@pytest.mark.sampled(7)  # some eight pages
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_readable_and_accessible(name, new_page, book_server):
    page = new_page(width=1200, theme="light")
    page.goto(f"{book_server}/{name}.html")
    if name in LIVE:
        widgets_ready(page)
    page.wait_for_load_state("networkidle")
    assert page.locator("mjx-merror").count() == 0
    for look, (width, theme) in LOOKS.items():
        # Colours that are on their way from one theme to the other have the contrast of neither.
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        resize(page, width)
        page.wait_for_function(
            "theme => document.documentElement.dataset.theme === theme", arg=theme
        )
        if name in LIVE:
            widgets_ready(page)
        page.evaluate(SETTLED)
        too_wide = page.evaluate(
            """() => document.documentElement.scrollWidth <= innerWidth ? [] :
                [...document.querySelectorAll("main *")]
                    .filter(e => e.getBoundingClientRect().right > innerWidth)
                    .map(e => e.outerHTML.slice(0, 120))"""
        )
        assert too_wide == [], look
        assert page.evaluate(NO_CUE) == [], look
        if "dark" not in look:
            assert page.evaluate(CUT_NAMES) == [], look
        assert unhappy(page, **RULES[look]) == [], look


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", PAGES)
def test_code_has_room_for_88_letters_beside_the_contents(name, new_page, book_server):
    page = new_page(width=1200)
    page.goto(f"{book_server}/{name}.html")
    page.wait_for_function("document.fonts.status === 'loaded'")
    for width in (1200, 1280):  # the theme shows the contents from 1200 on
        resize(page, width)
        assert page.evaluate(CODE_THAT_SCROLLS) == [], width


def test_the_front_page_has_the_style_of_a_page_with_a_figure(page, book_server):
    """Its figure is its column's width, in the face of labels, though it asks nothing."""
    page.goto(f"{book_server}/chapters/index.html")
    widgets_ready(page)
    widths, face = page.evaluate(
        """() => [
            [".sa-fig", ".bd-article section"].map(e => document.querySelector(e).offsetWidth),
            getComputedStyle(document.querySelector(".sa-fig")).fontFamily]"""
    )
    assert widths[0] == widths[1]
    assert face.startswith('"Book Sans"')


@pytest.mark.parametrize("width", [768, 1366])
def test_the_front_figure_has_its_drawing_beside_its_rows_and_the_height_kept_for_it(
    width, new_page, book_server
):
    page = new_page(width=width)
    page.goto(f"{book_server}/chapters/index.html")
    widgets_ready(page)
    ends, kept = page.evaluate(
        """() => [
            [".sa-side svg", ".sa-row:not(.sa-heads)"].map(e => {
                const box = document.querySelector(e).getBoundingClientRect();
                return [box.left, box.right, box.top, box.bottom];
            }),
            document.querySelector(".sa-place").offsetHeight]"""
    )
    (_, drawn_to, above, below), (left, right, top, _) = ends
    assert drawn_to < left < right < width
    assert top < below
    assert above < top + 60
    assert kept == known_heights()["chapters/index"][0][1]


def test_the_front_figure_has_its_room_between_a_phone_and_a_desk_too(page, book_server):
    page.goto(f"{book_server}/chapters/index.html")
    widgets_ready(page)
    for width in (577, 640, 678, 679):
        resize(page, width)
        heights = page.evaluate(
            """() => [document.querySelector(".sa-fig").offsetHeight,
                parseFloat(getComputedStyle(document.querySelector(".sa-place")).minHeight)]"""
        )
        assert 0 <= heights[1] - heights[0] <= 24, width


@pytest.mark.parametrize("name", ["chapters/index", "chapters/06_decoder"])
def test_the_foot_begins_where_the_text_does(name, new_page, book_server):
    page = new_page(width=390)
    page.goto(f"{book_server}/{name}.html")
    for width in (390, 820, 1100, 1366):
        resize(page, width)
        text, foot = page.evaluate(
            """() => [".bd-article h1", ".bd-footer-content .footer-item"].map(
                e => document.querySelector(e).getBoundingClientRect().left)"""
        )
        assert foot == text, width


def test_formulas_with_a_note_in_the_margin_stand_midway_between_the_paragraphs(page, book_server):
    page.set_viewport_size({"width": 1366, "height": 900})
    page.goto(f"{book_server}/chapters/16_transformer.html")
    rooms = page.evaluate(
        """() => [...document.querySelectorAll("p + details.provenance + div.math:has(+ p)")].map(
            formula => {
                const before = formula.previousElementSibling.previousElementSibling;
                const box = formula.getBoundingClientRect();
                return [box.top - before.getBoundingClientRect().bottom,
                    formula.nextElementSibling.getBoundingClientRect().top - box.bottom];
            })"""
    )
    assert len(rooms) > 2
    assert [above for above, _ in rooms] == pytest.approx([below for _, below in rooms], abs=1)


@pytest.mark.parametrize("width", [1366, 1920])
def test_the_sign_beside_a_formula_opens_its_note_beside_the_contents_too(
    width, new_page, book_server
):
    page = new_page(width=width)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{book_server}/chapters/10_local.html")
    page.wait_for_load_state("networkidle")
    notes = page.locator("details.provenance")
    assert notes.count() > 2
    for note in notes.all()[:3]:
        sign = note.locator("summary")
        sign.evaluate("e => scrollBy({ top: e.getBoundingClientRect().top - 200 })")
        box = sign.bounding_box()
        contents = page.locator(".bd-sidebar-secondary").bounding_box()
        assert contents["y"] < box["y"] < contents["y"] + contents["height"]
        page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
        assert note.evaluate("e => e.open")
    page.locator(".bd-sidebar-secondary .nav-link:visible").nth(1).click()
    assert "#" in page.url


def for_paper(page):
    """Show a page as it goes to the printer, with what its scripts do before; wait for nothing."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


def test_on_paper_what_was_folded_is_there_at_once(page, book_server):
    page.goto(f"{book_server}/chapters/12_hard.html")
    widgets_ready(page)
    for_paper(page)
    folded = page.locator("div.cell details.hide > summary ~ *")
    assert folded.count() > 5
    # What moves shows its first frame on paper, which is empty.
    begun = "document.getAnimations().map(a => [a.animationName, a.effect.target.className])"
    assert page.evaluate(begun) == []
    assert set(folded.evaluate_all("all => all.map(e => getComputedStyle(e).opacity)")) == {"1"}
    assert page.get_by_text("Share named right").first.is_visible()


def test_live_figures_of_a_dark_page_are_printed_dark_on_light(new_page, book_server):
    page = new_page(theme="dark")
    page.goto(f"{book_server}/chapters/12_hard.html")
    widgets_ready(page)
    inks = "all => all.map(e => getComputedStyle(e).color)"
    titles = page.locator(".sa-fig .sa-title")
    assert set(titles.evaluate_all(inks)) == {"rgb(227, 232, 238)"}
    for_paper(page)
    assert set(titles.evaluate_all(inks)) == {"rgb(27, 39, 51)"}
    grounds = "all => all.map(e => getComputedStyle(e).backgroundColor)"
    assert set(page.locator(".sa-fig").evaluate_all(grounds)) == {"rgb(255, 255, 255)"}
    # A name's halo and its letters.
    fills = "all => all.map(e => getComputedStyle(e).fill)"
    assert set(page.locator(".sa-fig text.sa-under").evaluate_all(fills)) == {"rgb(255, 255, 255)"}
    assert page.locator(".sa-fig input[type=range]").first.evaluate(
        "e => [getComputedStyle(e).printColorAdjust, getComputedStyle(e).colorScheme]"
    ) == ["exact", "light"]


def test_above_the_first_section_none_is_marked_in_the_contents(new_page, book_server):
    page = new_page(width=1366)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{book_server}/chapters/10_local.html")
    page.wait_for_load_state("networkidle")
    section, marked = page.locator(".bd-article h2").nth(3), ".bd-sidebar-secondary .active"
    for _ in range(2):  # and it is marked anew
        section.evaluate("e => e.scrollIntoView()")
        page.wait_for_selector(marked)
        page.evaluate("scrollTo(0, 0)")
        let_frames_pass(page)
        assert page.locator(marked).count() == 0


def test_the_way_back_to_the_top_stands_in_a_corner(new_page, book_server):
    page = new_page(width=390)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{book_server}/chapters/10_local.html")
    page.wait_for_load_state("networkidle")
    page.evaluate("scrollTo(0, 3000)")
    let_frames_pass(page)
    page.evaluate("scrollBy(0, -100)")
    button = page.locator("#pst-back-to-top:visible")
    button.wait_for()
    box = button.bounding_box()
    assert box["x"] > 195
    assert box["x"] + box["width"] < 390
    button.click()
    page.wait_for_function("scrollY === 0")


def test_the_way_back_to_the_top_covers_no_live_figure(new_page, book_server):
    page = new_page(width=390)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{book_server}/chapters/10_local.html")
    page.wait_for_selector("html[data-widgets=ready]")
    button = page.locator("#pst-back-to-top")
    for reset in page.locator(".sa-fig").get_by_role("button", name="Reset").all():
        if not reset.is_visible():
            continue
        # Down past it and up again, until it lies where the button would.
        place = "(e) => scrollTo(0, scrollY + e.getBoundingClientRect().bottom - innerHeight + 60)"
        reset.evaluate(place)
        page.evaluate("scrollBy(0, 20)")
        let_frames_pass(page)
        page.evaluate("scrollBy(0, -20)")
        let_frames_pass(page)
        assert not button.is_visible()


def test_the_button_for_colours_says_which_they_are(page, book_server):
    page.goto(f"{book_server}/chapters/how_to_use.html")
    button = page.locator(".theme-switch-button:visible").first
    names = set()
    for _ in range(3):
        button.click()
        mode = page.evaluate("document.documentElement.dataset.mode")
        let_frames_pass(page)
        name = button.get_attribute("aria-label")
        assert name == f"Colours: {'as the system has them' if mode == 'auto' else mode}"
        names.add(name)
    assert len(names) == 3


def test_no_signature_is_slanted_as_its_face_has_no_italic(page, book_server):
    page.goto(f"{book_server}/chapters/api_variants.html")
    slants = "[...document.querySelectorAll('dt.sig em')].map(e => getComputedStyle(e).fontStyle)"
    assert set(page.evaluate(slants)) == {"normal"}


def test_formulas_whose_face_comes_late_are_set_as_large_as_others(new_page, book_server):
    sizes = "[...document.querySelectorAll('.formula math')].map(math => math.style.fontSize)"
    set_as = {}
    for late in (False, True):
        page, held = new_page(width=390), []
        if late:  # as one that a browser is slow to read
            page.route("**/math.css", lambda route: route.fulfill(path=ROOT / "_assets/math.css"))
            page.route("**/math.woff2", lambda route, _, held=held: held.append(route))
        page.goto(f"{book_server}/chapters/09_explanations.html", wait_until="domcontentloaded")
        page.wait_for_timeout(300 if late else 0)  # marked as they are in another face
        for route in held:
            route.continue_()
        page.wait_for_load_state()
        page.evaluate(SETTLED)
        assert bool(held) == late
        set_as[late] = page.evaluate(sizes)
    assert any(set_as[False])
    assert set_as[True] == set_as[False]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", LIVE)
def test_what_is_opened_on_a_phone_is_whole_or_shows_that_it_goes_on(name, new_page, book_server):
    page = new_page(width=390)
    page.goto(f"{book_server}/{name}.html")
    widgets_ready(page)
    page.evaluate(
        "document.querySelectorAll('.bd-article details').forEach(fold => { fold.open = true; })"
    )
    page.evaluate(SETTLED)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.wait_for_function(
            "theme => document.documentElement.dataset.theme === theme", arg=theme
        )
        page.evaluate(SETTLED)
        assert page.evaluate(NO_CUE) == [], theme
    assert page.evaluate(COVERED) == []
    assert page.evaluate(UNDER) == []
    for slider in page.locator(".sa-fig input[type=range]:enabled").all()[:1]:
        slider.press("ArrowRight")  # two in quick succession: what is drawn at once is as wide
        slider.press("ArrowLeft")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CUT_LINKS) == []
