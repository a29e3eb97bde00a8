"""The README: its example runs, its commands and files exist."""

import doctest
import re
import tomllib
from pathlib import Path

import yaml

from seqattn.grading.bank import exercises, load

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    example = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    test = doctest.DocTestParser().get_doctest(example, {}, "README", "README.md", 0)
    assert len(test.examples) >= 5
    said = []
    results = doctest.DocTestRunner().run(test, out=said.append)
    assert results.failed == 0, "".join(said)


def test_every_make_target_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", TEXT))
    assert {"book", "test"} <= named <= targets


def test_every_linked_file_exists():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_table_has_every_chapter_and_exercise_with_its_number_of_questions():
    rows = re.findall(r"^\| \[.*?\]\((\w+)/(\w+)\.ipynb\) \| (.*) \|$", TEXT, re.MULTILINE)
    chapters = [name for folder, name, _ in rows if folder == "chapters"]
    assert chapters == sorted(path.stem for path in (ROOT / "chapters").glob("[0-9][0-9]_*.py"))
    graded = {name: said for folder, name, said in rows if folder == "exercises"}
    assert sorted(graded) == exercises()
    for name, said in graded.items():
        assert said.startswith(f"graded: {len(load(name).questions)} questions"), name


def test_the_two_commands_come_first():
    block = re.search(r"```bash\n(.*?)```", TEXT, re.DOTALL)[1]
    assert [line.split("#")[0].strip() for line in block.splitlines()] == ["make book", "make test"]


def test_the_citation_is_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert [author["name"] for author in cited["authors"]] == [
        a["name"] for a in project["authors"]
    ]
