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


def test_every_section_that_is_linked_exists():
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= titles
