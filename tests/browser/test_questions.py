"""Questions in the browser: answered by keyboard alone, kept, counted, listed and erased."""

import pytest

from tests.browser.conftest import unhappy

PAGE = "chapters/02_soft_addressing"
KEY = "seqattn.answers.v1"


def visit(page, address):
    """Open a page and let it come in whole: a request that leaving it breaks off is an error."""
    page.goto(address)  # until its scripts ran: on a busy machine the network is quiet before that
    page.wait_for_load_state("networkidle")


def fold(page, name):
    """The output that waits for the answer to a question."""
    return page.locator(f".tag_hide-until-{name} details.hide", has=page.locator(".cell_output"))


def is_open(page, name):
    return fold(page, name).first.evaluate("fold => fold.open")


def tab_to(page, selector):
    """Go on with Tab until the focus is there."""
    for _ in range(30):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {selector}")


def begin(page, name):
    """Put the focus before a question, where a reader of the text would be."""
    page.evaluate(
        """id => { const mark = document.createElement("span"); mark.tabIndex = -1;
            document.getElementById(id).before(mark); mark.focus(); }""",
        f"ask-{name}",
    )


def test_a_prediction_is_made_kept_counted_and_erased_by_keyboard(new_page, book_server):
    page = new_page(width=1366)
    visit(page, f"{book_server}/{PAGE}.html")
    assert (
        page.locator(".bd-links .sa-mark, .sa-progress").count() == 0
    )  # silent for who does not answer
    assert not is_open(page, "overflow")
    waiting = fold(page, "overflow").locator("summary").inner_text()
    assert "Your prediction first — or just show me" in waiting

    begin(page, "overflow")
    tab_to(page, "#ask-overflow input")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    tab_to(page, "#ask-overflow .sa-ask-commit")
    page.keyboard.press("Enter")
    said = page.locator("#ask-overflow .sa-ask-said")
    assert "Not so. Your answer: (b) The same weights, with rounding errors." in said.inner_text()
    assert "both are NaN" in said.inner_text()
    assert said.evaluate("said => said === document.activeElement")
    assert is_open(page, "overflow")
    assert not is_open(page, "survivors")
    assert page.locator(".bd-links .active .sa-mark").inner_text().startswith("1/")
    assert unhappy(page) == []

    page.reload()
    page.wait_for_load_state("networkidle")
    assert is_open(page, "overflow")
    assert "Your answer: (b)" in said.inner_text()
    page.locator(".sa-progress a").click()
    page.wait_for_load_state("networkidle")
    report = page.locator(".sa-report")
    assert "(b) The same weights, with rounding errors." in report.inner_text()
    assert unhappy(page) == []
    page.emulate_media(media="print")
    assert report.locator("li").first.is_visible()
    assert not report.get_by_role("button", name="Print").is_visible()
    page.emulate_media(media="screen")

    report.get_by_role("button", name="Erase all answers").press("Enter")
    page.keyboard.press("Enter")  # the focus is on the button that asks again
    assert "There are no answers yet" in report.inner_text()
    assert page.evaluate("key => localStorage.getItem(key)", KEY) is None
    visit(page, f"{book_server}/{PAGE}.html")
    assert not is_open(page, "overflow")


def test_each_kind_takes_an_answer_by_keyboard(new_page, book_server):
    page = new_page(width=390)
    visit(page, f"{book_server}/{PAGE}.html")
    page.locator("#ask-survivors input").fill("56")
    page.keyboard.press("Enter")
    said = page.locator("#ask-survivors .sa-ask-said")
    assert "without the clipping that would be" in said.inner_text()

    points = page.locator("#ask-adam-and-temperature [role=slider]")
    page.locator("#ask-adam-and-temperature .sa-ask-commit").press("Enter")
    assert "Draw the curve first" in page.locator("#ask-adam-and-temperature").inner_text()
    for point, keys in zip(points.all(), (*2 * [["Home"]], ["ArrowDown"], *4 * [["End"]])):
        for key in keys:
            point.press(key)
    assert [p.get_attribute("aria-valuenow") for p in points.all()] == (
        ["0", "0", "45", "100", "100", "100", "100"]
    )
    page.locator("#ask-adam-and-temperature .sa-ask-commit").press("Enter")
    assert "Right. Your answer: a curve nearest to (c)" in (
        page.locator("#ask-adam-and-temperature .sa-ask-said").inner_text()
    )

    several = page.locator("#ask-rows-of-pads")
    for at in (0, 2):
        several.locator("input").nth(at).press("Space")
    several.locator(".sa-ask-commit").press("Enter")
    assert "A row is a query" in several.locator(".sa-ask-said").inner_text()
    assert "the backward pass" in several.locator(".sa-ask-said").inner_text()
    several.locator("input").nth(2).press("Space")
    several.locator("input").nth(1).press("Space")
    several.locator(".sa-ask-commit").press("Enter")
    assert "Right." in several.locator(".sa-ask-said").inner_text()

    visit(page, f"{book_server}/chapters/03_additive.html")
    order = page.locator("#ask-one-step")
    for _ in range(3):
        order.get_by_role("button", name="Up: project the query").press("Enter")
    for _ in range(2):
        order.get_by_role("button", name="Down: form the context").press("Enter")
    order.get_by_role("button", name="Up: form the context").press("Enter")
    order.locator(".sa-ask-commit").press("Enter")
    assert "Right." in order.locator(".sa-ask-said").inner_text()


def test_an_answer_is_told_with_its_formulas_and_emphasis(new_page, book_server):
    page = new_page()
    visit(page, f"{book_server}/chapters/03_additive.html")
    order = page.locator("#ask-one-step")
    order.locator(".sa-ask-commit").press("Enter")
    told = order.locator(".sa-ask-said p").first
    assert told.locator("msub").count() == 2
    assert told.inner_text().rstrip().endswith("and the context.")
    one = page.locator("#ask-two-halves")
    one.locator("input").first.check()
    one.locator(".sa-ask-commit").press("Enter")
    assert one.locator(".sa-ask-said p").first.locator("em").inner_text() == "bereitet"
    page.reload()
    page.wait_for_load_state("networkidle")
    assert told.locator("msub").count() == 2
    visit(page, f"{book_server}/chapters/your_answers.html")
    assert "project the query s_{t−1} → take" in page.locator(".sa-report").inner_text()


def test_an_answer_kept_before_indices_had_signs_is_still_known(new_page, book_server):
    page = new_page()
    visit(page, f"{book_server}/chapters/03_additive.html")
    page.locator("#ask-one-step .sa-ask-commit").press("Enter")
    page.evaluate(
        """key => {
            const kept = JSON.parse(localStorage.getItem(key)), one = kept.answers["one-step"];
            one.said = one.said.replace(/[_{}]/g, "");
            localStorage.setItem(key, JSON.stringify(kept));
        }""",
        KEY,
    )
    page.reload()
    page.wait_for_load_state("networkidle")
    assert "Your answer:" in page.locator("#ask-one-step .sa-ask-said").inner_text()


def test_what_is_said_of_an_output_waits_with_it(new_page, browser, book_server):
    page = new_page()
    visit(page, f"{book_server}/chapters/03_additive.html")
    cells = page.locator(".cell.tag_hide-until-two-halves")
    said = cells.last.locator("xpath=following-sibling::details[1]")
    assert said.locator("summary").inner_text() == "What the output shows"
    assert cells.count() == 4
    assert [cell.is_visible() for cell in cells.all()] == [True, False, False, False]
    assert not said.is_visible()

    cells.first.locator("summary", has_text="just show me").click()
    said.wait_for()
    assert all(one.evaluate("fold => fold.open") for one in fold(page, "two-halves").all())
    cells.last.locator("summary", has_text="Hide code cell output").click()
    assert said.is_visible()  # once told, always there

    page = new_page()
    visit(page, f"{book_server}/chapters/03_additive.html")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    cells = page.locator(".cell.tag_hide-until-two-halves")
    assert all(cell.is_visible() for cell in cells.all())
    assert cells.last.locator("xpath=following-sibling::details[1]").is_visible()

    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    visit(plain, f"{book_server}/chapters/03_additive.html")
    cells = plain.locator(".cell.tag_hide-until-two-halves")
    assert all(cell.is_visible() for cell in cells.all())
    assert cells.last.locator("xpath=following-sibling::details[1]").is_visible()
    context.close()


def test_what_is_said_of_a_live_figure_waits_for_its_answer(new_page, browser, book_server):
    address = f"{book_server}/chapters/20_study.html"
    behind = "xpath=ancestor::*[starts-with(@class, 'cell ')]/following-sibling::*[position() < 4]"
    page = new_page()
    visit(page, address)
    place = page.locator("[id='20_study-FixedVersusDynamic']")
    folds = place.locator(behind)
    assert folds.count() == 3
    assert not any(one.is_visible() for one in folds.all())
    place.scroll_into_view_if_needed()
    place.get_by_role("button", name="Just show me").press("Enter")
    assert all(one.is_visible() for one in folds.all())

    # Checking an answer shows them too, now and on a later visit.
    page.reload()
    page.wait_for_load_state("networkidle")
    assert not any(one.is_visible() for one in folds.all())
    place.locator(".sa-options input").first.check()
    place.get_by_role("button", name="Check").press("Enter")
    assert all(one.is_visible() for one in folds.all())
    page.reload()
    place.locator(".sa-said[data-right]").wait_for()
    assert all(one.is_visible() for one in folds.all())

    page = new_page()
    visit(page, address)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    folds = page.locator("[id='20_study-FixedVersusDynamic']").locator(behind)
    assert all(one.is_visible() for one in folds.all())

    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    visit(plain, address)
    folds = plain.locator("[id='20_study-FixedVersusDynamic']").locator(behind)
    assert folds.count() == 3
    assert all(one.is_visible() for one in folds.all())
    context.close()


def test_a_curve_is_drawn_with_the_pointer(new_page, book_server):
    page = new_page()
    visit(page, f"{book_server}/{PAGE}.html")
    pad = page.locator("#ask-adam-and-temperature svg")
    pad.scroll_into_view_if_needed()
    first, last = (pad.locator("circle").nth(at).bounding_box() for at in (0, 6))
    page.mouse.move(first["x"] + 8, first["y"] + 8)
    page.mouse.down()
    page.mouse.move(last["x"] + 8, last["y"] - 1000)  # one leap: what it passed lies on the line
    page.mouse.up()
    heights = [float(c.get_attribute("aria-valuenow")) for c in pad.locator("circle").all()]
    assert heights == pytest.approx([50 + 50 * at / 6 for at in range(7)], abs=2)


def test_a_finger_scrolls_past_the_curve_and_draws_sideways_or_by_a_point(browser, book_server):
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True)
    page = context.new_page()
    visit(page, f"{book_server}/{PAGE}.html")
    pad = page.locator("#ask-adam-and-temperature svg")
    pad.evaluate("svg => svg.scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.wait_for_timeout(500)  # for the page to come to rest
    touch = context.new_cdp_session(page)
    points = pad.locator("circle")

    def heights():
        return [float(c.get_attribute("aria-valuenow")) for c in points.all()]

    def swipe(x, y, by_x, by_y):
        way = [{"x": x + by_x * i, "y": y + by_y * i} for i in range(10)]
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": way[:1]})
        for place in way[1:]:
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [place]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    start, box = heights(), pad.bounding_box()
    first, top = points.nth(0).bounding_box(), page.evaluate("scrollY")
    swipe(first["x"] + 8, first["y"] + 8, 0, -4)  # a point is taken up
    assert heights()[0] > start[0]
    assert heights()[1:] == start[1:]
    assert page.evaluate("scrollY") == top
    swipe(first["x"] + 8, box["y"] + box["height"] - 70, 28, 0)  # sideways along the bottom
    assert max(heights()) < 30
    drawn = heights()
    swipe(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.4, 0, -8)
    page.wait_for_function("top => scrollY > top", arg=top)
    assert heights() == drawn
    context.close()


@pytest.mark.parametrize(
    "stored", ["{", "null", "[1]", '{"answers": {"overflow": 5}, "shown": {}}']
)
def test_what_is_stored_may_be_broken(stored, new_page, book_server):
    page = new_page()
    page.add_init_script(f"localStorage.setItem({KEY!r}, {stored!r})")
    visit(page, f"{book_server}/{PAGE}.html")
    page.locator("#ask-overflow input").first.check()
    page.locator("#ask-overflow .sa-ask-commit").click()
    assert is_open(page, "overflow")


def test_a_browser_that_keeps_nothing_shows_everything_the_same(new_page, book_server):
    page = new_page()
    page.add_init_script(
        """for (const name of ["getItem", "setItem", "removeItem"])
            Storage.prototype[name] = (key) => {
                if (key.startsWith("seqattn")) throw new DOMException("no room");
                return null;
            };"""
    )
    visit(page, f"{book_server}/{PAGE}.html")
    page.locator("#ask-overflow").get_by_role("button", name="Just show me").click()
    assert is_open(page, "overflow")
    assert "both are NaN" in page.locator("#ask-overflow").inner_text()
    page.locator("#ask-survivors input").fill("0")
    page.keyboard.press("Enter")
    assert "Right." in page.locator("#ask-survivors").inner_text()
    assert "they last until you leave it" in page.locator(".sa-progress").inner_text()


def test_where_local_storage_throws_all_else_works(new_page, book_server):
    """As with blocked cookies: whoever only asks for it gets an error."""
    page = new_page()
    page.add_init_script(
        """Object.defineProperty(window, "localStorage", { configurable: true, get() {
            throw new DOMException("Access is denied for this document.", "SecurityError");
        } });"""
    )
    visit(page, f"{book_server}/{PAGE}.html")
    theme = "document.documentElement.dataset.theme"
    seen = {page.evaluate(theme)}
    for _ in range(2):
        page.locator(".theme-switch-button:visible").first.click()
        seen.add(page.evaluate(theme))
    assert seen == {"light", "dark"}

    page.wait_for_selector("html[data-widgets=ready]")
    slider = page.locator(".sa-fig input[type=range]:enabled").first
    before = slider.input_value()
    slider.press("ArrowRight")
    assert slider.input_value() != before
    figure = page.locator(".sa-fig:has(.sa-predict)").first
    figure.locator(".sa-options input").first.check()
    figure.get_by_role("button", name="Check").click()
    assert figure.locator(".sa-said[data-right]").count() == 1

    page.locator("#ask-overflow input").first.check()
    page.locator("#ask-overflow .sa-ask-commit").click()
    assert is_open(page, "overflow")
    assert "they last until you leave it" in page.locator(".sa-progress").inner_text()
    visit(page, f"{book_server}/chapters/your_answers.html")
    page.get_by_role("button", name="Erase all answers").click()
    page.get_by_role("button", name="Erase", exact=True).click()
    assert "There are no answers yet" in page.locator(".sa-report").inner_text()


def test_without_scripts_question_and_answer_are_there(browser, book_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    visit(page, f"{book_server}/{PAGE}.html")
    ask = page.locator("#ask-overflow")
    assert ask.get_by_text("No numbers at all.").is_visible()
    assert not ask.get_by_text("both are NaN").is_visible()
    ask.locator("summary").click()
    assert ask.get_by_text("both are NaN").is_visible()
    context.close()


def test_answers_of_several_tabs_are_all_kept(new_page, book_server):
    page = new_page()
    report, other = (page.context.new_page() for _ in range(2))
    for tab, name in ((page, PAGE), (other, PAGE), (report, "chapters/your_answers")):
        visit(tab, f"{book_server}/{name}.html")
    page.locator("#ask-overflow input").first.check()
    page.locator("#ask-overflow .sa-ask-commit").click()
    report.locator(".sa-report", has_text="1 of ").wait_for()
    other.locator("#ask-survivors").get_by_role("button", name="Just show me").click()
    other.locator("#ask-rows-of-pads input").first.check()
    other.locator("#ask-rows-of-pads .sa-ask-commit").click()
    assert other.locator(".sa-progress").inner_text().startswith("You have answered 2 of")
    report.locator(".sa-report", has_text="2 of ").wait_for()
    assert list(page.evaluate("window.seqattnAnswers.of().shown")) == ["survivors"]

    report.get_by_role("button", name="Erase all answers").click()
    report.get_by_role("button", name="Erase", exact=True).click()
    page.locator(".sa-progress").wait_for(state="detached")
    other.locator(".sa-progress").wait_for(state="detached")


def test_a_page_that_back_leads_to_again_keeps_what_came_since(new_page, book_server):
    page = new_page()
    visit(page, f"{book_server}/chapters/your_answers.html")
    later = {"answers": {"x": {"said": "b", "asked": "Which?", "page": PAGE}}, "shown": {}}
    page.evaluate(
        """([key, later]) => {
            localStorage.setItem(key, JSON.stringify(later));
            dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        }""",
        [KEY, later],
    )
    assert "Which?" in page.locator(".sa-report li").inner_text()


def test_answers_of_live_figures_are_kept(new_page, book_server):
    page = new_page()
    visit(page, f"{book_server}/{PAGE}.html")
    page.evaluate(
        """document.dispatchEvent(new CustomEvent("seqattn:answer", { detail: {
            id: "some-figure", choice: 1, right: true, asked: "Which?", said: "b" } }))"""
    )
    page.wait_for_selector("html[data-widgets=ready]")  # scripts on their way would break off
    visit(page, f"{book_server}/chapters/your_answers.html")
    assert "Which?" in page.locator(".sa-report li").inner_text()
