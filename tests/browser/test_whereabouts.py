"""At a chapter's head, the translator with its parts lit opens into the live figure."""

import pytest

from tests.browser.conftest import unhappy, widgets_ready
from tools.contents import Contents
from tools.figures import known_heights
from tools.whereabouts import key

CHAPTER = "chapters/08_reading_maps"  # has no other figure of this kind
PLACES = Contents().whereabouts
OPENED = ".where .sa-fig[data-values]"


@pytest.mark.parametrize(("width", "theme"), [(1366, "light"), (390, "dark")])
def test_it_opens_by_keyboard_and_its_script_comes_only_then(width, theme, new_page, book_server):
    page = new_page(width=width, theme=theme)
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"{book_server}/{CHAPTER}.html")
    widgets_ready(page)
    assert "Unrolled.js" not in asked
    summary = page.locator(".where > summary")
    assert PLACES[CHAPTER].words in " ".join(summary.inner_text().split())
    summary.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(OPENED)
    assert "Unrolled.js" in asked
    figure = page.locator(OPENED)
    assert figure.locator(".sa-unlit").count() == 4  # all but attention
    before = figure.get_attribute("data-values")
    figure.get_by_role("button", name="Next event").press("Enter")
    page.wait_for_function(
        "before => document.querySelector('.where .sa-fig').dataset.values !== before", arg=before
    )
    kept = known_heights()[key(CHAPTER)][0][width > 390]
    assert figure.evaluate("figure => figure.offsetHeight") == pytest.approx(kept, abs=12)
    assert unhappy(page) == []


def test_a_mouse_opens_it_in_a_book_on_the_disk(page, book):
    page.goto((book / f"{CHAPTER}.html").as_uri())
    widgets_ready(page)
    page.locator(".where > summary").click()
    page.wait_for_selector(OPENED)


def test_on_paper_the_picture_stays_alone(page, book_server):
    page.goto(f"{book_server}/{CHAPTER}.html")
    widgets_ready(page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".where > summary svg").is_visible()
    assert not page.locator(".where-open").is_visible()
    assert not page.locator(".where .sa-place").is_visible()


def test_without_scripts_the_picture_stays(browser, book_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book_server}/{CHAPTER}.html")
    assert page.locator(".where > summary svg").is_visible()
    assert not page.locator(".where-open").is_visible()
    context.close()
