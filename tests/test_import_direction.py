"""Imports point one way: from the rooms further up in the house to those below, never back."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "seqattn"

# From the ground up: each room may import those before it. Whoever opens one need not open those
# after it.
ORDER = [
    *(
        "extras",
        "locking",
        "settings",
        "specials",
        "precision",
        "process",
        "dropout",
        "context_managers",
        "console",
    ),  # what every room uses
    *("data", "attention", "metrics", "plots"),
    *("decoding", "models", "translator"),  # a model is whatever a search can drive
    *("evaluation", "training"),
    *("widgets", "grading", "cli", "__main__", "__init__"),
]


def imports_in(text: str, modules: set[str], package: str = "") -> set[str]:
    """Name the modules that a text imports anywhere, in functions and for types alone included."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*parents, *filter(None, [node.module])])
            for alias in node.names:  # a module of that package, or a name in it
                whole = f"{source}.{alias.name}"
                found.add(whole if whole in modules else source)
    return found & modules


def read_imports() -> dict[str, set[str]]:
    """Give what each module of the package imports of it."""
    paths = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports = {}
    for name, path in paths.items():
        package = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        imports[name] = imports_in(path.read_text(encoding="utf-8"), set(paths), package) - {name}
    return imports


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    return read_imports()


def room(module: str) -> str:
    """Give the room of a module: what follows the package's name."""
    return module.split(".")[1] if "." in module else "__init__"


def test_every_room_has_its_place_in_the_order(imports):
    assert {room(module) for module in imports} == set(ORDER)
    assert len(ORDER) == len(set(ORDER))


def test_imports_point_down(imports):
    upwards = {
        (room(module), room(other)): f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if ORDER.index(room(other)) > ORDER.index(room(module))
    }
    assert upwards == {}


def test_no_two_modules_import_each_other(imports):
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a.b\ndef f():\n    from a import c", {"a.b", "a.c"}),
        ("from a.b import name, c", {"a.b"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import d", {"a"}),
        ("from . import d, e", {"a.b", "a.b.d"}),
        ("from .d import e\nfrom ..c import f\nfrom .. import g", {"a.b.d", "a.c", "a"}),
    ],
)
def test_imports_are_found_wherever_they_stand(text, found):
    assert imports_in(text, {"a", "a.b", "a.b.d", "a.c"}, "a.b") == found
