"""The map equation ↔ function ↔ test ↔ exercise is whole, and a broken link in it is noticed."""

import dataclasses
import re

import pytest

from tools import course_map


@pytest.fixture(scope="module")
def course():
    return course_map.load()


def test_every_link_of_the_map_leads_somewhere(course):
    assert course_map.problems(course) == []


def test_every_page_covers_something_and_the_core_formulas_are_covered(course):
    for line in ("F-02", "F-03", "F-04", "F-06", "F-26", "D-01", "D-21", "W-01", "W-04"):
        assert course.covered_by(line), line


@pytest.mark.slow  # each checks the whole map
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"function": "seqattn.no_such_function"}, "function seqattn.no_such_function does not"),
        ({"test": "tests/test_nothing.py::test_nothing"}, "test tests/test_nothing.py"),
        ({"exercise": "03_additive#q99"}, "exercise 03_additive#q99 does not exist"),
        ({"covers": ("F-99",)}, "F-99 is not in the inventory"),
        ({"label": "eq-not-displayed"}, "eq-not-displayed is in the map but not displayed"),
        ({"chapter": "02_other"}, "is in the map but not displayed there"),
    ],
)
def test_a_broken_link_is_named(course, change, complaint):
    first = next(f for f in course.formulas if f.chapter == "03_additive")
    others = tuple(f for f in course.formulas if f is not first)
    broken = dataclasses.replace(course, formulas=(dataclasses.replace(first, **change), *others))
    assert any(complaint in problem for problem in course_map.problems(broken))


def test_a_formula_left_out_of_the_map_is_named(course):
    first, *others = course.formulas
    broken = dataclasses.replace(course, formulas=tuple(others))
    assert any(
        f"{first.label} is displayed but not in the map" in p for p in course_map.problems(broken)
    )


def test_a_displayed_formula_without_a_label_is_named(course, tmp_path):
    for name in ("chapters", "exercises", "tests", "_config.yml"):
        (tmp_path / name).symlink_to(course.root / name)
    (tmp_path / "chapters").unlink()
    chapters = tmp_path / "chapters"
    chapters.mkdir()
    for path in (course.root / "chapters").iterdir():
        (chapters / path.name).symlink_to(path)
    (chapters / "99_new.py").write_text("# %% [markdown]\n# $$ e = mc^2 $$\n", encoding="utf-8")
    moved = dataclasses.replace(course, root=tmp_path)
    assert "99_new.py, line 2: a displayed formula has no label" in course_map.problems(moved)


def test_the_source_of_each_test_is_found_whole(course):
    for formula in course.formulas:
        source = course_map.test_source(course.root, formula.test)
        assert re.search(r"^def test_", source, re.MULTILINE), formula.test
