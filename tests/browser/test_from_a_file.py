"""The book opened from the disk: a page may then run scripts, but read no other file."""

import re

import pytest

from tests.browser.conftest import unhappy, widgets_ready
from tests.browser.test_questions import visit

CHAPTER = "chapters/02_soft_addressing"


@pytest.fixture
def at_hand(book):
    """Address of a page of the built book on the disk."""
    return lambda page: (book / page).as_uri()


def test_the_first_page_leads_to_the_front_page(page, at_hand):
    page.goto(at_hand("index.html"))
    page.wait_for_url("**/chapters/index.html")
    widgets_ready(page)


def test_a_figure_moves_and_an_answer_is_kept(page, at_hand):
    visit(page, at_hand(f"{CHAPTER}.html"))
    widgets_ready(page)
    figure = page.locator(".sa-fig").first
    before = figure.get_attribute("data-values")
    figure.locator("input[type=range]").first.press("ArrowRight")
    assert figure.get_attribute("data-values") != before
    page.locator("#ask-overflow input").first.check()
    page.locator("#ask-overflow .sa-ask-commit").click()
    visit(page, at_hand("chapters/your_answers.html"))
    # A page that another process shows may come before the answer does; then it is told of it.
    page.locator(".sa-report", has_text="1 of ").wait_for()


@pytest.mark.parametrize("name", [CHAPTER, "exercises/03_additive"])
def test_a_notebook_is_saved_to_the_byte(name, page, at_hand, book):
    page.goto(at_hand(f"{name}.html"))
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download notebook").click()
    assert saved.value.suggested_filename == f"{name.partition('/')[2]}.ipynb"
    text = (book / "notebooks" / f"{name}.ipynb").read_bytes()
    assert saved.value.path().read_bytes() == text
    assert page.url == at_hand(f"{name}.html")


def test_a_search_finds_pages_and_tries_to_read_none(page, at_hand):
    visit(page, at_hand("chapters/how_to_use.html"))
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText.includes('found')")
    page.wait_for_load_state("networkidle")
    results = page.locator("#search-results li")
    assert results.count() > 20
    title = "2. Soft addressing: queries, keys, values"
    results.get_by_role("link", name=title, exact=True).click()
    assert page.locator("h1").inner_text().startswith(title)


def test_over_a_server_a_search_still_shows_excerpts(page, book_server):
    page.goto(f"{book_server}/search.html?q=softmax")
    page.wait_for_selector("#search-results p.context")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_excerpts_are_text_alone_with_spaces_between_lines(theme, new_page, book_server):
    page = new_page(width=390, theme=theme)
    page.goto(f"{book_server}/search.html?q=window")
    page.wait_for_load_state("networkidle")
    found = page.locator("#search-results p.context").all_inner_texts()
    assert len(found) > 5
    for text in found:
        assert not re.search(r"Step through it|notebookThis|Live figure:|[a-z][.?!][A-Z]", text)
    results = page.locator("#search-results").bounding_box()
    assert results["width"] > 330
    assert unhappy(page, runOnly=["color-contrast"]) == []
    page.goto(f"{book_server}/search.html?q=zzzqq")
    page.wait_for_function("document.body.innerText.includes('No page has all of these words')")
    page.wait_for_load_state("networkidle")


def test_between_a_question_and_its_figure_stands_no_code(page, at_hand):
    page.goto(at_hand(f"{CHAPTER}.html"))
    cells = page.evaluate(
        """[...document.querySelectorAll(".cell")].map(cell => [...cell.children].map(part =>
            part.matches("details.above-input") ? "code" : "rest"))"""
    )
    folded = [parts for parts in cells if "code" in parts and len(parts) > 1]
    assert len(folded) > 5
    assert all(parts == ["rest", "code"] for parts in folded)
