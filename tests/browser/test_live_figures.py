"""Live figures without a kernel: every slider moves by keyboard and agrees with PyTorch."""

import json

import matplotlib.colors
import pytest

from seqattn.plots.style import page_colour, weight_colours
from seqattn.widgets import (
    AdditiveSteps,
    BeamTree,
    LinearRegime,
    SoftmaxTemperature,
    Unrolled,
)
from tests.browser.conftest import let_frames_pass, unhappy, widgets_ready
from tests.widgets.figures import FIGURES, agrees
from tools.browser import serving

every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


# What the unrolled figure under test can show, on four source and five target words. For each
# order: reading, one event to read backwards, the bridge; five steps; a training step's five. A
# Transformer reads all words in three events.
EVENTS = sum(4 + back + 1 + 5 * step + 5 for back, step in ((0, 2), (1, 5), (0, 6), (0, 6)))
EVENTS += 3 + 5 * 7 + 5
# A swipe goes on for a while: until the page has stood still for so many frames.
AT_REST = """async () => {
    for (let still = 0, before = scrollY; still < 30; before = scrollY) {
        await new Promise(done => requestAnimationFrame(done));
        still = scrollY === before ? still + 1 : 0;
    }
}"""


def values(figure):
    return json.loads(figure.get_attribute("data-values"))


def state(figure):
    return json.loads(figure.get_attribute("data-state"))


def show(page, path, opened=True):
    """Open a page of figures; have the answers to their questions shown, unless told not to."""
    page.goto(path.as_uri())
    widgets_ready(page)
    if opened:
        have_shown(page)
    return page.locator(".sa-fig")


def have_shown(page):
    """Press every "Just show me" of a page, so that each figure shows and moves all it has."""
    for button in page.locator(".sa-show").all():
        button.press("Enter")


def python_twin(make, moved):
    twin = make()
    for name, value in moved.items():
        setattr(twin, name, value)
    return twin


@pytest.mark.sampled(3)
@every_figure
def test_sliders_move_by_keyboard_and_agree_with_pytorch(make, page, static_page):
    figure = show(page, static_page(make()))
    agrees(values(figure), make().numbers())
    sliders = figure.locator("input[type=range]")
    assert sliders.count() > 0
    for slider in sliders.all():
        assert slider.get_attribute("aria-label")
        slider.focus()
        seen = {slider.input_value()}
        for key in ("Home", "ArrowRight", "ArrowUp", "PageUp", "End", "ArrowLeft", "PageDown"):
            slider.press(key)
            seen.add(slider.input_value())
            agrees(values(figure), python_twin(make, state(figure)).numbers())
        assert len(seen) > 2, "the keys did not move the slider"


@pytest.mark.sampled(3)
@every_figure
def test_every_checkbox_and_radio_button_agrees_with_pytorch(make, page, static_page):
    figure = show(page, static_page(make()))
    for control in figure.locator(".sa-toggle input, .sa-choice input").all():
        control.focus()
        control.press("Space")
        agrees(values(figure), python_twin(make, state(figure)).numbers())


@pytest.mark.sampled(12)
@every_figure
def test_figures_are_live_over_http_too(make, page, static_page):
    path = static_page(make())
    with serving(path.parent) as address:
        page.goto(f"{address}/{path.name}")
        widgets_ready(page)
        have_shown(page)
        figure = page.locator(".sa-fig")
        slider = figure.locator("input[type=range]").first
        seen = set()
        for key in ("Home", "ArrowRight"):  # one of them may be where it began
            slider.press(key)
            seen.add(figure.get_attribute("data-state"))
        assert len(seen) == 2


@pytest.mark.sampled(5)
@every_figure
def test_reset_goes_back_to_the_start(make, page, static_page):
    figure = show(page, static_page(make()))
    before = values(figure)
    for slider in figure.locator("input[type=range]").all():
        slider.focus()
        slider.press("Home")
    figure.get_by_role("button", name="Reset").press("Enter")
    agrees(values(figure), before)


@pytest.mark.sampled(4)
@every_figure
def test_the_text_and_the_table_follow_the_slider(make, page, static_page):
    figure = show(page, static_page(make()))
    figure.locator("summary").press("Enter")
    text, table = figure.locator(".sa-text"), figure.locator(".sa-numbers table")
    followed = []
    for slider in figure.locator("input[type=range]").all():
        seen = []
        for key in ("Home", "End"):
            slider.press(key)
            seen.append((text.inner_text(), table.inner_text()))
        followed.append([before != after for before, after in zip(*seen)])
    # One may move what both leave out, such as the score of a word outside the window.
    assert [True, True] in followed
    assert text.get_attribute("aria-live") == "polite"
    described = text.get_attribute("id")
    for drawing in figure.locator("svg[role=img]").all():  # bars alone are none
        assert drawing.get_attribute("aria-describedby") == described


@pytest.mark.sampled(7)  # one in seven of light, dark, light, dark
@pytest.mark.parametrize("theme", ["light", "dark"])
@every_figure
def test_figures_are_accessible(make, theme, new_page, static_page):
    page = new_page(theme=theme)
    figure = show(page, static_page(make(), theme=theme))
    figure.locator("summary").press("Enter")
    options = {} if theme == "light" else {"runOnly": ["color-contrast"]}
    assert unhappy(page, **options) == []


@pytest.mark.sampled(3)
@every_figure
def test_figures_fit_a_phone_with_readable_text(make, new_page, static_page):
    page = new_page(width=375, height=700)
    figure = show(page, static_page(make()))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    sizes = figure.evaluate(
        """root => [...root.querySelectorAll("*:not(sub)")]
            .filter(e => e.textContent.trim())
            .map(e => parseFloat(getComputedStyle(e).fontSize) *
                 (e.ownerSVGElement ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1))"""
    )
    assert min(sizes) >= 12


def test_masking_every_position_gives_exact_zeros_and_says_so(page, static_page):
    figure = show(page, static_page(SoftmaxTemperature()))
    for flag in figure.locator(".sa-toggle input").all():
        flag.focus()
        flag.press("Space")
    assert values(figure)["weights"] == [0, 0, 0, 0, 0]
    assert "all weights are exactly 0" in figure.locator(".sa-text").inner_text()


def test_a_prediction_is_checked_named_and_a_wrong_one_explained(page, static_page):
    figure = show(page, static_page(SoftmaxTemperature()), opened=False)
    page.evaluate(
        "window.heard = []; document.addEventListener('seqattn:answer', e => heard.push(e.detail))"
    )
    said, check = figure.locator(".sa-said"), figure.get_by_role("button", name="Check")
    check.press("Enter")
    assert said.inner_text() == "Choose an answer first."
    options = figure.locator(".sa-options input")
    options.first.focus()
    options.first.press("Space")
    check.press("Enter")
    assert said.inner_text().startswith(
        "✗ You said “Nothing: each keeps its weight.” Not so. Then they would no longer"
    )
    options.first.press("ArrowDown")
    options.nth(1).press("ArrowDown")
    assert "You said" not in said.inner_text(), "the feedback is to an answer that was left"
    check.press("Enter")
    assert said.inner_text().startswith("✓ You said “Each grows by the same factor.” Right.")
    heard = page.evaluate("heard")
    assert [(e["id"], e["choice"], e["right"]) for e in heard] == [
        ("SoftmaxTemperature", 0, False),
        ("SoftmaxTemperature", 2, True),
    ]
    assert [e["said"] for e in heard] == [
        "Nothing: each keeps its weight.",
        "Each grows by the same factor.",
    ]


def test_an_answer_that_was_kept_can_be_given_back(page, static_page):
    page.add_init_script(
        "document.addEventListener('seqattn:figure', ({ detail }) => detail.answer(2))"
    )
    figure = show(page, static_page(SoftmaxTemperature()), opened=False)
    assert figure.locator(".sa-said").inner_text().startswith("✓ You said “Each grows")
    assert figure.locator("input:disabled").count() == 0


asking = pytest.mark.parametrize(
    "make",
    [make for make in FIGURES.values() if make().predict],
    ids=lambda m: m().__class__.__name__,
)


@pytest.mark.sampled(4)
@asking
def test_what_tests_an_answer_waits_for_it_and_is_pointed_at(make, page, static_page):
    figure = show(page, static_page(make()), opened=False)
    start, waiting = state(figure), figure.locator("input:disabled")
    height = figure.evaluate("f => f.offsetHeight")
    assert waiting.count() > 0
    assert not figure.locator(".sa-numbers summary").is_visible()
    for drawing in figure.locator("svg.sa-drag[data-trait]").all():
        drawing.click(position={"x": 60, "y": 60}, force=True)
        assert state(figure)[make().predict["tests"]] == start[make().predict["tests"]]
    figure.get_by_role("button", name="Just show me").press("Enter")
    assert figure.locator(".sa-said").inner_text().startswith("The answer: “")
    assert waiting.count() == 0
    # The very element: it loses its mark with the first key.
    marked = figure.locator(".sa-now input").first.element_handle()
    seen = []
    for key in ["Space"] * 2 if marked.get_attribute("type") == "checkbox" else ["Home", "End"]:
        marked.press(key)
        seen.append(state(figure))
    assert seen[0] != seen[1]
    assert figure.locator(".sa-now").count() == 0
    assert figure.evaluate("f => f.offsetHeight") == height


def test_a_choice_that_tests_an_answer_waits_for_it(page, static_page):
    asked = {"question": "?", "options": ["a", "b"], "answer": 1, "explain": ["no", "yes"]}
    orders = Unrolled(orders=["bahdanau", "luong"], predict={**asked, "tests": "order"})
    untold = Unrolled(orders=["bahdanau", "luong"], predict=asked)  # no control tells the answer
    figures = show(page, static_page(orders, untold), opened=False)
    figure, choice = figures.first, figures.first.locator("[data-trait=order] input")
    assert figure.locator("input:disabled").count() == choice.count() == 2
    assert figures.last.locator("input:disabled").count() == 0
    figure.get_by_role("button", name="Just show me").press("Enter")
    assert figure.locator("input:disabled").count() == 0
    assert figure.locator("fieldset.sa-now").count() == 1
    choice.last.press("Space")
    assert state(figure)["order"].startswith("luong")
    assert figure.locator(".sa-now").count() == 0


def test_two_figures_on_a_page_do_not_disturb_each_other(page, static_page):
    figures = show(page, static_page(SoftmaxTemperature(), SoftmaxTemperature()))
    assert figures.count() == 2
    other = figures.nth(1).get_attribute("data-values")
    slider = figures.first.get_by_role("slider", name="temperature")
    slider.focus()
    slider.press("End")
    figures.first.locator(".sa-options input").first.check()
    assert values(figures.first)["temperature"] == 20
    assert figures.nth(1).get_attribute("data-values") == other
    assert figures.nth(1).locator(".sa-options input:checked").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [390, 1366])
def test_unrolled_steps_through_every_event_and_never_jumps(width, new_page, static_page):
    twin = FIGURES["Unrolled"]()
    figure = show(new_page(width=width), static_page(twin))
    box, text = figure.bounding_box(), figure.locator(".sa-text")
    seen = []
    for label in figure.locator(".sa-choice").first.locator("label").all():
        label.click()
        figure.get_by_text("Encode", exact=True).click()
        before = ""
        while text.inner_text() != before:  # until the button finds no further event
            before = text.inner_text()
            now = values(figure)
            for name, value in state(figure).items():
                setattr(twin, name, value)
            agrees(now, twin.numbers())
            seen.append((now["phase"], now["event"]))
            assert figure.bounding_box() == box, f"the figure jumps at {now}"
            figure.get_by_role("button", name="Next event").press("ArrowRight")
    names = {"ask", "weigh", "mix", "update", "combine", "say", "embed", "look back"}
    assert {event for phase, event in seen if phase == "decode"} == names
    assert seen[-1] == ("train", "step")
    assert len(seen) == EVENTS


# Letters of a drawing with less contrast to their ground than 4.5, or paler than they are; and pale
# shapes of what happens now.
FAINT = """svg => {
    const ground = getComputedStyle(svg.closest(".sa-fig")).backgroundColor;
    const light = (colour) => {
        const part = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
    };
    const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const strength = (e) => (e === svg ? 1 : getComputedStyle(e).opacity * strength(e.parentNode));
    const letters = [...svg.querySelectorAll("text:not(.sa-under)")].filter(e => strength(e) < 1
        || contrast(light(getComputedStyle(e).fill), light(ground)) < 4.5);
    const now = [...svg.querySelectorAll(".sa-hot rect, .sa-lit rect, .sa-flow, .sa-flow *")];
    return [...letters, ...now.filter(e => strength(e) < 1)].map(e => e.outerHTML);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_unrolled_never_fades_a_word_nor_the_event_that_it_tells(theme, new_page, static_page):
    page = new_page(theme=theme)
    page.emulate_media(reduced_motion="reduce")
    orders = ["bahdanau", "luong", "transformer"]
    figure = show(page, static_page(Unrolled(orders=orders, lit=["bridge"]), theme=theme))
    drawing, text = figure.locator(".sa-svg"), figure.locator(".sa-text")
    assert drawing.locator(".sa-unlit").count() == 4
    for label in figure.locator(".sa-choice").first.locator("label").all():
        label.click()
        figure.get_by_text("Encode", exact=True).click()
        before = ""
        while text.inner_text() != before:
            before = text.inner_text()
            assert drawing.evaluate(FAINT) == [], before
            figure.get_by_role("button", name="Next event").press("ArrowRight")


@pytest.mark.parametrize("name", ["HeadsExplorer", "MapReader", "SelfAttentionLayer"])
def test_a_live_map_gives_a_weight_the_colour_of_stored_maps(name, page, static_page):
    page.emulate_media(reduced_motion="reduce")
    figure = show(page, static_page(FIGURES[name]()))
    numbers = values(figure)
    map_ = numbers["map"] if "map" in numbers else numbers["weights"]
    assert max(map(max, map_)) > 0.5
    for row, weights in enumerate(map_):
        for column, weight in enumerate(weights):
            level = round(100 * weight)
            if 0 < level < 100:  # the ends have names of their own
                fill = figure.locator(f'[data-cell="{row},{column}"]').get_attribute("fill")
                stored = page_colour(matplotlib.colors.to_hex(weight_colours()(level)))
                assert fill == stored.replace("--sa-ground", "--sa-panel")


@pytest.mark.parametrize("width", [390, 1000])
@pytest.mark.parametrize("name", ["HeadsExplorer", "MapReader"])
def test_a_map_of_fewer_words_keeps_the_room_of_the_largest(name, width, new_page, static_page):
    page = new_page(width=width)
    page.emulate_media(reduced_motion="reduce")  # else it glides, and is measured on the way
    figure = show(page, static_page(FIGURES[name]()))
    drawing = figure.locator(".sa-svg").last
    seen, grown = set(), set()
    for control in figure.locator("input[type=radio], input[type=checkbox]").all():
        control.check()
        let_frames_pass(page)
        seen.add(drawing.bounding_box()["height"])
        grown.add(drawing.locator(".sa-frame").bounding_box()["height"])
    assert len(grown) > 1, "all maps are of one height"
    assert len(seen) == 1


@pytest.mark.parametrize("make", [FIGURES["SoftLookup"], FIGURES["KernelSmoother"]])
def test_a_drawing_can_be_dragged_with_the_pointer(make, page, static_page):
    figure = show(page, static_page(make()))
    before = state(figure)
    box = figure.locator("svg.sa-drag").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.3 * box["height"], steps=3)
    page.mouse.up()
    dragged = state(figure)
    assert dragged != before
    assert page.evaluate("getSelection().toString()") == ""
    agrees(values(figure), python_twin(make, dragged).numbers())
    page.mouse.move(box["x"], box["y"])
    assert state(figure) == dragged, "the figure moves after the pointer is released"


def test_keys_for_a_control_do_not_reach_the_notebook(page, static_page):
    figure = show(page, static_page(SoftmaxTemperature()))
    page.evaluate("window.heard = []; addEventListener('keydown', e => heard.push(e.key))")
    slider = figure.locator("input[type=range]").first
    slider.focus()
    for key in ("ArrowRight", "Home", "a", "Escape"):
        slider.press(key)
    assert page.evaluate("heard") == ["Escape"]


def test_a_figure_with_its_own_question_or_none(page, static_page):
    asked = dict(question="Which W_q?", options=["a", "b"], answer=0, explain="Because.")
    figures = show(
        page, static_page(SoftmaxTemperature(predict=asked), SoftmaxTemperature(predict=False))
    )
    assert figures.first.locator(".sa-predict p sub").inner_text() == "q"
    assert figures.nth(1).locator(".sa-predict").count() == 0


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (LinearRegime, "polyline"),
        (AdditiveSteps, "rect[fill-opacity]"),
        (FIGURES["FixedVersusDynamic"], "polyline"),
        (FIGURES["Recency"], "rect"),
        (FIGURES["SoftLookup"], "polyline.soft"),
    ],
    ids=["LinearRegime", "AdditiveSteps", "FixedVersusDynamic", "Recency", "SoftLookup"],
)
def test_what_gives_the_answer_away_is_drawn_once_one_was_checked(make, answer, page, static_page):
    figure = show(page, static_page(make()), opened=False)
    drawn = figure.locator(f"svg[role=img] {answer}")
    before = drawn.count()
    figure.locator(".sa-options input").first.press("Space")
    assert drawn.count() == before == 0
    figure.get_by_role("button", name="Check").press("Enter")
    drawn.nth(1).wait_for(state="attached")


@pytest.mark.parametrize("make", [FIGURES["SoftLookup"], FIGURES["AdditiveSteps"]])
def test_a_finger_scrolls_past_a_plane_and_moves_by_handle_or_tap(make, browser, static_page):
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True)
    page = context.new_page()
    figure = show(page, static_page(make()))
    plane = figure.locator("svg.sa-drag")
    plane.scroll_into_view_if_needed()
    box, before, top = plane.bounding_box(), state(figure), page.evaluate("scrollY")
    touch = context.new_cdp_session(page)

    def swipe_up(x, y):
        points = [{"x": x, "y": y - 12 * i} for i in range(10)]
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points[:1]})
        for point in points[1:]:
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    swipe_up(box["x"] + 20, box["y"] + box["height"] - 20)
    page.wait_for_function("top => scrollY > top", arg=top)
    assert state(figure) == before
    page.evaluate("document.body.style.paddingBottom = '900px'")
    page.evaluate("scrollTo(0, 0)")
    slider = figure.get_by_role("slider").last
    slider.scroll_into_view_if_needed()
    box, top = slider.bounding_box(), page.evaluate("scrollY")
    swipe_up(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    page.wait_for_function("top => scrollY > top", arg=top)
    page.wait_for_function(
        "old => document.querySelector('.sa-fig').dataset.state === old",
        arg=json.dumps(before, separators=(",", ":")),
    )
    page.wait_for_timeout(500)  # for the page to come to rest
    plane.tap(position={"x": 60, "y": 60})
    tapped = state(figure)
    assert tapped != before
    page.evaluate(AT_REST)
    box, top = plane.locator(".sa-handle").bounding_box(), page.evaluate("scrollY")
    assert round(min(box["width"], box["height"])) >= 44
    swipe_up(box["x"] + 22, box["y"] + 22)
    page.wait_for_function(
        "old => document.querySelector('.sa-fig').dataset.state !== old",
        arg=json.dumps(tapped, separators=(",", ":")),
    )
    assert page.evaluate("scrollY") == top
    context.close()


@pytest.mark.parametrize(
    "make", [FIGURES["TurnedQuestion"], FIGURES["ScoreGeometry"], FIGURES["KernelSmoother"]]
)
def test_a_finger_that_scrolls_leaves_every_slider_as_it_was(make, browser, static_page):
    """Also at a value that lies between two steps, as the first ones of these figures do."""
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True)
    page = context.new_page()
    figure = show(page, static_page(make()))
    page.evaluate("document.body.style.paddingBottom = '900px'")
    touch, start = context.new_cdp_session(page), figure.get_attribute("data-state")
    for slider in figure.get_by_role("slider").all():
        slider.evaluate("s => scrollTo(0, s.getBoundingClientRect().top + scrollY - 400)")
        page.evaluate(AT_REST)
        box, top = slider.bounding_box(), page.evaluate("scrollY")
        x, y = box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2
        points = [{"x": x, "y": y - 12 * i} for i in range(10)]
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points[:1]})
        for point in points[1:]:
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function("top => scrollY > top", arg=top)
        page.wait_for_function(
            "old => document.querySelector('.sa-fig').dataset.state === old", arg=start
        )
    context.close()


@pytest.mark.parametrize("width", [390, 1366])
def test_the_tree_of_a_search_never_jumps(width, new_page, static_page):
    """Sentences of one and of two lines take turns in its table."""
    long = ["je", "ne", "répondrai", "certainement", "jamais", "à", "un", "ingénieur", "<eos>"]
    table = {" ".join(long[:i]): {word: 1.0} for i, word in enumerate(long) if i}
    table |= {"": {"je": 0.5, "oui": 0.3, "non": 0.2}, "oui": {"<eos>": 1.0}}
    figure = show(new_page(width=width), static_page(BeamTree(table=table)))
    height = figure.evaluate("f => f.offsetHeight")
    beam, penalty = figure.get_by_role("slider").all()
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
        beam.press(key)
        for end in ("Home", "End"):
            penalty.press(end)
            assert figure.evaluate("f => f.offsetHeight") == height


def test_what_jumps_glides_unless_the_reader_wants_calm(page, static_page):
    show(page, static_page(FIGURES["WeightedSum"]()))
    tip = "document.querySelector('.sa-svg .context polygon').getAttribute('points')"
    frames = f"""async () => {{
        const seen = new Set([{tip}]);
        document.querySelector(".sa-choice input:not(:checked)").click();
        for (let i = 0; i < 60; i++) {{
            await new Promise(done => requestAnimationFrame(done));
            seen.add({tip});
        }}
        return seen.size;
    }}"""
    assert page.evaluate(frames) > 3
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(frames) == 2


def test_steps_in_quick_succession_are_drawn_at_once(page, static_page):
    figure = FIGURES["MapThroughTraining"]()
    figure.revealed = True
    show(page, static_page(figure))
    drawn = """async values => {
        const slider = document.querySelector("[data-trait=step] input"), seen = new Set();
        for (const value of values) {
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
        }
        for (let i = 0; i < 40; i++) {
            await new Promise(done => requestAnimationFrame(done));
            seen.add([...document.querySelectorAll(".sa-svg")].map(svg => svg.innerHTML).join());
        }
        return seen.size;
    }"""
    assert page.evaluate(drawn, [1]) > 2
    page.wait_for_timeout(500)
    assert page.evaluate(drawn, [0, 1, 0]) <= 2


def test_the_state_can_be_dragged_in_its_plane(page, static_page):
    figure = show(page, static_page(AdditiveSteps()))
    box = figure.locator("svg.sa-drag").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.25 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.375 * box["height"])
    page.mouse.up()
    assert state(figure)["query"] == pytest.approx([-1.0, 0.5], abs=0.11)
    assert "on “mat”" in figure.locator(".sa-text").inner_text()
