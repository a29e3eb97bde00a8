"""The feedback page in a browser: light, dark, on a phone, by keyboard."""

from dataclasses import replace

import pytest

from seqattn.grading.answers import Answer
from seqattn.grading.bank import load
from seqattn.grading.feedback import as_html, page
from seqattn.grading.grades import Grade, Verdict
from tests.browser.conftest import unhappy

LONG = "    return " + " + ".join(f"a_rather_long_name_{n}" for n in range(30))
CODE = f"# Question q1\ndef f(x):\n{LONG}\n"
VERDICTS = [
    Verdict("q1", "One", "fail", 0, 3, "W" * 300, line=3, read="chapters/03_additive: masks"),
    Verdict("q2", "Two", "pass", 2, 2),
    Verdict("q3", "Three", "not_attempted", 0, 2),
]
GRADE = Grade("nb.ipynb", "03_additive", "", VERDICTS, "s", "full", notes=["N" * 200])
LOOKS = {"wide": (1200, "light"), "dark": (1200, "dark"), "phone": (390, "dark")}


def pages():
    answers = {v.question: Answer(CODE) for v in VERDICTS}
    table = [["question", "right"], [f"q1 {'long ' * 30}", "3"]]
    return {
        "student": as_html(replace(GRADE, answers=answers), "https://example.org", student="Ada"),
        "class": page("Class summary", [("Files", table)]),
    }


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("kind", ["student", "class"])
def test_it_fits_and_is_accessible(kind, look, new_page, tmp_path):
    (tmp_path / "page.html").write_text(pages()[kind], encoding="utf-8")
    width, theme = LOOKS[look]
    shown = new_page(width=width, theme=theme)
    shown.goto((tmp_path / "page.html").as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (theme == "light")
    assert unhappy(shown) == []


@pytest.mark.parametrize("look", LOOKS)
def test_no_code_is_cut_off(look, new_page, tmp_path):
    (tmp_path / "page.html").write_text(pages()["student"], encoding="utf-8")
    width, theme = LOOKS[look]
    shown = new_page(width=width, theme=theme)
    shown.goto((tmp_path / "page.html").as_uri())
    hidden = "all => all.map(pre => pre.scrollWidth - pre.clientWidth)"
    cut = shown.locator("pre:visible").evaluate_all(hidden)
    assert cut
    assert max(cut) <= 0
    # A line that goes on in the next row is one line still, and its number stands once.
    assert shown.locator("mark[data-line='3']").bounding_box()["height"] > 40


def test_read_again_leads_to_the_heading_in_the_book(new_page, book_server, tmp_path):
    """That each question's heading is there, tests/book/test_pages.py says."""
    q = load("03_additive").question("q2")
    verdict = Verdict("q2", q.title, "fail", 0, q.points, "No.", read=q.read)
    path = tmp_path / "page.html"
    graded = replace(GRADE, verdicts=[verdict])
    path.write_text(as_html(graded, book_server), encoding="utf-8")
    shown = new_page()
    shown.goto(path.as_uri())
    heading = q.read.partition(": ")[2]
    shown.get_by_role("link", name=heading).click()
    shown.wait_for_url(f"{book_server}/**")
    # The target of an address is what the browser found under its name.
    target = shown.locator(":target :is(h1, h2, h3, h4)").first
    assert target.text_content().lower().startswith(heading)


def test_the_keyboard_reaches_links_code_and_folds(new_page, tmp_path):
    (tmp_path / "page.html").write_text(pages()["student"], encoding="utf-8")
    shown = new_page()
    shown.goto((tmp_path / "page.html").as_uri())
    reached = []
    for _ in range(20):
        shown.keyboard.press("Tab")
        reached.append(shown.evaluate("document.activeElement.tagName"))
    assert {"A", "PRE", "SUMMARY"} <= set(reached)
    shown.locator("summary").first.focus()
    shown.keyboard.press("Enter")
    assert shown.locator("details[open] pre").is_visible()
