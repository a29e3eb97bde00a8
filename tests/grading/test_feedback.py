"""The feedback page: what it shows, where it goes, and what it never touches."""

import errno
import json
import os
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from docutils.nodes import make_id

from seqattn.grading import feedback
from seqattn.grading.answers import Answer
from seqattn.grading.bank import exercises, load
from seqattn.grading.diagnosis import result_line
from seqattn.grading.feedback import as_html, link, write_page
from seqattn.grading.grades import Grade, Verdict
from tests.grading.conftest import EXERCISE, NAME, NO_TANH, RIGHT, filled, seqattn

ADDRESS = "https://example.org/book"
NASTY = (
    "def additive_score(query, keys, W_q, W_k, v):\n    return '</pre><script>alert(1)</script>'"
)


class Page(HTMLParser):
    """Sorts a page: its title, links, marked lines and whatever would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.marked, self.code, self.title = [], [], [], [], ""
        self.open, self.folded = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)
        if tag == "a":
            self.links.append(given["href"])
        if tag in ("script", "link", "img", "iframe", "object") or "src" in given:
            self.fetched.append(tag)
        if tag == "mark":
            self.marked.append(int(given["data-line"]))
        if "data-line" in given:
            self.code.append("")
            self.folded.append("details" in self.open)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "title" in self.open:
            self.title += data
        if self.open[-1:] in (["span"], ["mark"]):
            self.code[-1] += data


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def failed(name="mine.ipynb", hint="Look at the sign."):
    verdict = Verdict("q1", "The score", "fail", 0, 3, hint, line=3, read=f"chapters/{NAME}: masks")
    return Grade(name, NAME, "", [verdict], "seed", "full")


@pytest.fixture
def graded(judge, tmp_path):
    wrong = EXERCISE.question("q2").wrong[0]
    path = write(tmp_path / "mine.ipynb", filled(RIGHT | {"q1": NASTY, "q2": wrong.code}))
    return path, judge.grade(path)


def test_each_question_has_its_code_beside_it_and_the_line_of_the_fault_is_marked(graded):
    path, grade = graded
    answers = grade.answers
    # What is shown is what was graded, whatever lies there by now.
    path.write_text("{}", encoding="utf-8")
    page = Page(as_html(grade, ADDRESS, student="Ada Lovelace"))
    assert page.title == "Additive attention: Ada Lovelace"
    shown = "".join(page.code)
    for answer in answers.values():
        assert answer.code.rstrip("\n") in shown
    wrong = [v.line for v in grade.verdicts if v.verdict != "pass"]
    assert len(wrong) == 2
    assert page.marked == wrong
    # What is right is folded: the page is about the rest.
    right = sum(len(answers[v.question].code.rstrip().split("\n")) for v in grade.verdicts[2:])
    assert sum(page.folded) == right
    assert page.fetched == []
    assert page.open == []


def test_read_again_leads_to_the_heading(graded):
    _, grade = graded
    reads = [v.read for v in grade.verdicts if v.read]
    assert len(reads) == 2
    page = Page(as_html(grade, ADDRESS))
    assert [to for to in page.links if to[0] != "#"] == [link(read, ADDRESS) for read in reads]
    assert page.links[-1] == f"{ADDRESS}/chapters/02_soft_addressing.html#where-it-breaks-masks"
    # Where there is no book there is no dead link, but page and heading by name.
    without = as_html(grade)
    assert all(to[0] == "#" for to in Page(without).links)
    assert all(read in without for read in reads)
    # It says why, and what to do; a page with links has no need to.
    assert "make html" in without
    assert "make html" not in as_html(grade, ADDRESS)


def test_the_book_may_stand_where_its_reader_says(judge, tmp_path):
    path = write(tmp_path / "mine.ipynb", filled(RIGHT | {"q1": NO_TANH.code}))
    assert seqattn("grade", path, "--book", "http://localhost:8000").returncode == 0
    page = Page((tmp_path / "mine.feedback.html").read_text(encoding="utf-8"))
    read = EXERCISE.question("q1").read
    assert link(read, "http://localhost:8000") in page.links


HEAD = "def f(x):\n"


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        (HEAD + "    return x\n", "value", 2),
        (HEAD + '    """Do it."""\n    return x\n', "value", 3),
        ("f = lambda x: x\n", "value", 1),
        ("f = 3\n", "value", 1),
        # The line that is missing could stand anywhere.
        (HEAD + "    y = x\n    return y\n", "value", 0),
        (HEAD + "    y = x\n    return y\n", "gradient", 0),
        (HEAD + "    if x:\n        return x\n    return 2\n", "shape", 0),
        (HEAD + "    print(x)\n", "nothing", 0),
        (HEAD + "    y = x\n    return y\n", "shape", 3),
        (HEAD + "    y = x\n    return print(y)\n", "nothing", 3),
        ("class f(nn.Module):\n    def forward(self, x):\n        return x\n", "flag", 0),
        ("class f(nn.Module):\n    def forward(self, x):\n        return x\n", "shape", 3),
    ],
)
def test_no_line_is_blamed_for_what_may_be_missing(code, kind, line):
    assert result_line(code, "f", kind) == line


@pytest.mark.parametrize("name", exercises())
def test_a_heading_is_named_as_sphinx_names_it(name):
    for q in load(name).questions:
        page, _, heading = q.read.partition(": ")
        assert link(q.read, ADDRESS) == f"{ADDRESS}/{page}.html#{make_id(heading)}"


def test_the_address_is_the_wheels_own_or_that_of_the_book_built_here(tmp_path, monkeypatch):
    monkeypatch.setattr(feedback, "ROOT", tmp_path)
    monkeypatch.setattr(feedback, "files", lambda _: tmp_path)
    feedback.published.cache_clear()
    assert feedback.address() == ""
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    assert feedback.address() == (tmp_path / "_build" / "html").as_uri()
    (tmp_path / "address.txt").write_text(f"{ADDRESS}\n")
    feedback.published.cache_clear()
    assert feedback.published() == feedback.address() == ADDRESS
    feedback.published.cache_clear()


@pytest.mark.slow
def test_grading_writes_a_page_without_being_asked_and_says_where(tmp_path):
    # Of one statement, which is to blame.
    code = "def additive_score(query, keys, W_q, W_k, v):\n    return keys.sum(-1)\n"
    path = write(tmp_path / "mine.ipynb", filled({"q1": code}))
    before = path.read_bytes()
    done = seqattn("grade", path)
    page = tmp_path / "mine.feedback.html"
    assert done.stdout.splitlines()[-1] == f"Page: {page}"
    text = page.read_text(encoding="utf-8")
    assert Page(text).title == "Additive attention: mine.ipynb"
    assert Page(text).marked
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"mine.ipynb", "mine.feedback.html"}


def test_an_earlier_page_is_replaced_and_nothing_else_ever_is(tmp_path):
    path = write(tmp_path / "mine.ipynb", filled(RIGHT))
    first = write_page(path, failed(hint="before"))
    assert write_page(path, failed(hint="after")) == first
    assert "after" in first.read_text(encoding="utf-8")
    for own in ("mine: my own notes", "", "<meta name='seqattn-source' content='00'>"):
        first.write_text(own, encoding="utf-8")
        second = write_page(path, failed())
        assert second == tmp_path / "mine-2.feedback.html"
        assert first.read_text(encoding="utf-8") == own
    first.unlink()
    first.symlink_to(path)
    write_page(path, failed())
    assert json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.slow
def test_two_notebooks_of_one_name_have_a_report_each(tmp_path):
    one = write(tmp_path / "a" / "02.ipynb", filled(RIGHT))
    two = write(tmp_path / "b" / "02.ipynb", filled({}))
    out = tmp_path / "r"
    done = seqattn("grade", one, two, "--out", out)
    assert f"Page: {out / '02.html'}" in done.stdout
    assert f"Page: {out / '02-2.html'}" in done.stdout
    points = {p.name: json.loads(p.read_text("utf-8"))["points"] for p in out.glob("*.json")}
    assert points == {"02.json": 16, "02-2.json": 0}
    seqattn("grade", two, "--out", out)
    assert len(list(out.iterdir())) == 4
    again = {p.name: json.loads(p.read_text("utf-8"))["points"] for p in out.glob("*.json")}
    assert again == points


def test_a_folder_that_cannot_be_written_costs_the_page_and_nothing_more(
    tmp_path, monkeypatch, capsys
):
    from seqattn.grading import commands

    def closed(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    path = write(tmp_path / "mine.ipynb", filled(RIGHT))
    monkeypatch.setattr(feedback, "write_whole", closed)
    commands._write_page(path, failed(), None)
    said = capsys.readouterr()
    assert said.out == ""
    assert "no page was written" in said.err
    assert "Read-only file system" in said.err
    assert "--out FOLDER" in said.err
    assert [p.name for p in tmp_path.iterdir()] == ["mine.ipynb"]


def test_a_long_answer_is_cut_and_said_so():
    code = "\n".join(f"x{n} = {n}" for n in range(900))
    page = as_html(replace(failed(), answers={"q1": Answer(code)}))
    assert "x499 = 499" in page
    assert "x500 = 500" not in page
    assert "400 more lines" in page


def test_no_page_says_the_seed(graded):
    _, grade = graded
    assert grade.seed == "0123"
    secret = Grade(**{**vars(grade), "seed": "an unguessable seed"})
    assert "unguessable" not in as_html(secret)
