"""Answers are read by several threads at once, and CPython's trees do not bear that."""

import ast
import sys
import threading
from pathlib import Path

import pytest

from seqattn import grading
from seqattn.grading.parsing import parse, parse_expression

HERE = Path(grading.__file__).parent
CODE = "\n".join(f"def f{n}(x):\n    return [x, (x + {n}) * {{x: {n}}}[x]]" for n in range(60))


class Litter:
    """Garbage that the collector alone finds, whose end takes long enough for another thread."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


def test_threads_that_parse_while_the_collector_runs_do_not_spoil_one_another():
    failed, interval = [], sys.getswitchinterval()

    def work():
        for _ in range(60):
            Litter()
            try:
                assert len(parse(CODE).body) == 60
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failed == []


def test_it_parses_as_ast_does():
    assert ast.dump(parse(CODE)) == ast.dump(ast.parse(CODE))
    assert ast.dump(parse_expression("a + 1")) == ast.dump(ast.parse("a + 1", mode="eval"))
    with pytest.raises(SyntaxError):
        parse("a +")


def test_the_grader_parses_nowhere_else():
    """But in the sandbox, whose process has one thread."""
    modules = [p for p in HERE.rglob("*.py") if "sandbox" not in p.parts and p.stem != "parsing"]
    found = {p.name for p in modules if "ast.parse(" in p.read_text(encoding="utf-8")}
    assert len(modules) > 20
    assert not found
