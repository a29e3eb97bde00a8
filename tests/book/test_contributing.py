"""CONTRIBUTING's map: every path on it exists, and every folder of the package is on it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = re.search(r"^## Map of the house\n(.*?)^## ", TEXT, re.DOTALL | re.MULTILINE)[1]


def test_every_path_on_the_map_exists():
    paths = set(re.findall(r"(?<![\w/])[\w.]+/[\w./]*", MAP))
    assert len(paths) > 25
    # NN and NAME stand for what one adds: their folders are there.
    places = {path.rpartition("/")[0] if re.search("NN|NAME", path) else path for path in paths}
    assert sorted(place for place in places if not (ROOT / place).exists()) == []


def test_every_folder_of_the_package_is_on_the_map():
    folders = {init.parent.name for init in (ROOT / "seqattn").glob("*/__init__.py")}
    assert folders == set(re.findall(r"^seqattn/(\w+)/ ", MAP, re.MULTILINE))


def test_every_file_that_is_named_exists_and_holds_what_is_said_to_be_in_it():
    files = {name for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|js|yml|toml|css))`", TEXT)}
    assert len(files) > 40
    assert (
        sorted(f for f in files if not re.search("NN|NAME", f) and not (ROOT / f).is_file()) == []
    )
    held = re.findall(r"`(\w+)`\s+(?:of|in)\s+`((?:\w+/)+\w+\.py)`", TEXT)
    assert len(held) > 10
    missing = [
        (name, path)
        for name, path in held
        if not re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_every_module_of_the_grader_is_on_its_list():
    grader = ROOT / "seqattn" / "grading"
    listed = (grader / "__init__.py").read_text(encoding="utf-8")
    modules = [path.stem for path in grader.glob("*.py") if path.stem != "__init__"]
    assert [m for m in modules if f":mod:`seqattn.grading.{m}`" not in listed] == []
    inner = {path.stem for path in grader.glob("sandbox/*.py")} - {"__init__"}
    assert [m for m in inner if f"``{m}``" not in listed] == []


def test_every_section_that_is_linked_exists():
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^###? (.*)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= titles
