"""The built pages: nothing leaves the book, no link is dead, every picture has words."""

import json
import re
import zipfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from seqattn.grading.bank import exercises, load
from seqattn.grading.feedback import link as link_to
from tools import build, course_map

pytestmark = pytest.mark.book

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """What a page links to, loads, names and pictures."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.links, self.loads, self.ids, self.images = path, [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if a.get("id"):
            self.ids.add(a["id"])
        if tag == "a" and a.get("name"):
            self.ids.add(a["name"])
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag in ("script", "img", "iframe", "source") and a.get("src"):
            self.loads.append(a["src"])
        if tag == "link" and a.get("rel") not in ("canonical", "next", "prev", "author"):
            self.loads.append(a["href"])
        if tag == "img":
            self.images.append(a)


@pytest.fixture(scope="session")
def pages(book):
    # _static holds the theme's own templates.
    found = [p for p in book.rglob("*.html") if "_static" not in p.relative_to(book).parts]
    return {p.resolve(): Page(p) for p in found}


def test_pages_load_nothing_from_outside(pages, book):
    outside = [
        (str(page.path.relative_to(book)), load)
        for page in pages.values()
        for load in page.loads
        if urlsplit(load).scheme in ("http", "https") or load.startswith("//")
    ]
    assert outside == []


def test_every_internal_link_and_file_exists(pages, book):
    dead = []
    for page in pages.values():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            target = target.resolve()
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].ids
            ):
                dead.append((page.path.name, link))
    assert dead == []


def test_every_picture_has_a_text_alternative(pages):
    wordless = [
        (page.path.name, image.get("src"))
        for page in pages.values()
        for image in page.images
        if len(image.get("alt") or "") < 20 and "logo" not in (image.get("class") or "")
    ]
    assert wordless == []


def test_each_notebook_page_offers_its_notebook_and_no_dead_colab_link(pages, book):
    for stem in ("chapters/01_bottleneck", "chapters/03_additive", "exercises/03_additive"):
        text = (book / f"{stem}.html").read_text(encoding="utf-8")
        assert f"notebooks/{stem}.ipynb" in text
        assert "Download notebook" in text
        assert "colab.research" not in text


def test_the_map_leads_to_the_tests_of_all_formulas_and_old_links_to_it_stay(pages, book):
    course = course_map.load(ROOT)
    the_map = pages[(book / "chapters/map.html").resolve()]
    for formula in course.formulas:
        here = f"test-{formula.label}"
        assert here in the_map.ids
        assert f"../_modules/tests/{formula.chapter}.html#{here}" in the_map.links
        tests = pages[(book / f"_modules/tests/{formula.chapter}.html").resolve()]
        assert here in tests.ids
        said = unescape(re.sub(r"<[^>]+>", "", tests.path.read_text(encoding="utf-8")))
        assert f"def {formula.test.split('::')[-1]}(" in said


def test_every_labelled_formula_carries_its_links(book):
    text = (book / "chapters" / "03_additive.html").read_text(encoding="utf-8")
    lines = re.findall(r'<p class="formula-links">(.*?)</p>', text, re.DOTALL)
    assert len(lines) >= 3
    for line in lines:
        assert re.search(r"api_\w+\.html#seqattn", line)
        assert "_modules/tests/03_additive.html#test-eq-" in line
        assert "Source: " in line


def test_answers_are_not_in_the_pages_or_their_sources(book):
    assert not list(book.rglob("*solutions*"))
    sources = sorted((ROOT / "solutions").glob("[0-9]*.py"))
    assert len(sources) >= 4
    for source in sources:
        solution = source.read_text(encoding="utf-8")
        answers = re.findall(r"# BEGIN ANSWER\n(.*?)# END ANSWER", solution, re.DOTALL)
        lines = {line.strip() for answer in answers for line in answer.splitlines()}
        stub = (book / "notebooks" / "exercises" / f"{source.stem}.ipynb").read_text("utf-8")
        page = (book / "exercises" / f"{source.stem}.html").read_text("utf-8")
        said = unescape(re.sub(r"<[^>]+>", "", page))
        assert stub.count("NotImplementedError") >= 4
        # Short lines, such as a return of one name, may stand anywhere.
        for line in (line for line in lines if len(line) > 30):
            assert json.dumps(line)[1:-1] not in stub, line
            assert line not in said, line


def test_the_wheel_lies_beside_the_pages_and_holds_the_package_only(book):
    (wheel,) = (book / "wheels").glob("*.whl")
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"seqattn"}


def test_what_the_grader_says_to_read_again_is_there(book):
    reads = {q.read for name in exercises() for q in load(name).questions}
    for read in reads:
        path, _, anchor = link_to(read, book.as_uri()).removeprefix(book.as_uri()).partition("#")
        assert anchor in Page(book / path.lstrip("/")).ids, read


def weight(page: Path) -> dict[str, int]:
    """Weigh what a first visit to a page carries, uncompressed: all that it names, and its fonts.

    ``tests/browser/test_weight.py`` weighs some pages in a browser, which no page deceives.
    """
    text = page.read_text(encoding="utf-8")
    named = re.findall(
        r'<script[^>]* src="([^"?]+)|<link rel="(?:stylesheet|icon)" href="([^"?]+)', text
    )
    files = {"".join(pair) for pair in named}
    files |= {source for source in re.findall(r'<img[^>]* src="([^":?]+)"', text)}
    faces = {"serif", "sans", "serif-italic"}
    faces |= {"mono"} if re.search("<(?:code|pre|kbd)", text) else set()
    static = re.search(r'href="([^"]*_static/)\w+\.css"', text)[1]
    files |= {f"{static}fonts/{face}.woff2" for face in faces}
    sizes = {name: (page.parent / unquote(name)).stat().st_size for name in files}
    return sizes | {page.name: page.stat().st_size}


def test_pages_of_text_stay_light(book):
    """At most 350 kB for a page without live figures, on the first visit."""
    everything = [p for p in book.rglob("*.html") if "_static" not in p.relative_to(book).parts]
    weighed = {
        str(page.relative_to(book)): weight(page)
        for page in everything
        # The search brings its index; index.html sends the reader on.
        if page.name not in ("search.html", "index.html")
        and 'class="sa-place"' not in page.read_text(encoding="utf-8")
    }
    assert {"chapters/map.html", "chapters/api_core.html", "exercises/06_decoder.html"} <= set(
        weighed
    )
    heavy = {
        name: (sum(sizes.values()), sorted(sizes.items(), key=lambda pair: -pair[1])[:4])
        for name, sizes in weighed.items()
        if sum(sizes.values()) > 350_000
    }
    assert heavy == {}


def test_pages_with_live_figures_stay_light(book):
    heavy = {
        p.name: p.stat().st_size
        for p in book.rglob("chapters/*.html")
        if p.stat().st_size > 500_000
    }
    assert heavy == {}


@pytest.mark.weekly  # it builds the book a second time
def test_published_from_a_fork_everything_points_to_that_fork(tmp_path):
    published = build.build_pages(tmp_path, SEQATTN_PUBLISH_REPOSITORY="Ada/attention")
    (wheel,) = (published / "wheels").glob("*.whl")
    page = (published / "chapters" / "03_additive.html").read_text(encoding="utf-8")
    colab = "https://colab.research.google.com/github/Ada/attention/blob/gh-pages/"
    assert f"{colab}notebooks/chapters/03_additive.ipynb" in page
    assert "https://github.com/Ada/attention" in page
    for stem in ("chapters/03_additive", "exercises/03_additive"):
        notebook = (published / "notebooks" / f"{stem}.ipynb").read_text(encoding="utf-8")
        assert f'WHEEL = \\"https://ada.github.io/attention/wheels/{wheel.name}\\"' in notebook
