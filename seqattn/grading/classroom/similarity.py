"""Tell how alike answers are once names, blanks and comments are put aside. A hint, no proof."""

import ast
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from seqattn.grading.parsing import parse

__all__ = ["Pair", "fingerprint", "similar_pairs"]

# Answers smaller than this are alike by necessity: there is one way to write them.
SMALLEST = 25
ALIKE = 0.8
# One short answer in common is chance; so much of several is not.
ENOUGH = 80


@dataclass(frozen=True)
class Pair:
    """Two submissions that resemble each other more than the exercise explains.

    Attributes
    ----------
    one, other : str
        Who handed them in, or the files' names.
    share : float
        Of the answers' structure that they have in common, from 0 to 1.
    questions : list of str
        Questions whose answers are the same but for names.
    """

    one: str
    other: str
    share: float
    questions: list[str]


def fingerprint(code: str, stub: str = "") -> Counter[str]:
    """Count an answer's statements and expressions, without names and what the stub has."""
    try:
        trees = [_anonymous(parse(text)) for text in (code, stub)]
        parts = [
            Counter(ast.dump(n) for n in ast.walk(t) if isinstance(n, ast.stmt | ast.expr))
            for t in trees
        ]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter()
    return parts[0] - parts[1]


def _anonymous(tree: ast.AST) -> ast.AST:
    """Take the names out of a tree, which is changed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = "_"
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = "_", None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.name = "_"
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def similar_pairs(
    prints: Mapping[str, Mapping[str, Counter[str]]], *, common: float = 0.3
) -> list[Pair]:
    """List pairs of submissions that are alike, the most alike first.

    Parameters
    ----------
    prints : dict of person or file to dict of question to Counter
        Fingerprints.
    common : float
        What more than this share of the class wrote is the natural answer, and counts for nothing.
    """
    usual = Counter(
        (q, _digest(p)) for answers in prints.values() for q, p in answers.items() if p.total()
    )
    most = max(2, common * len(prints))
    telling = {
        name: {
            q: p
            for q, p in answers.items()
            if p.total() >= SMALLEST and usual[q, _digest(p)] <= most
        }
        for name, answers in prints.items()
    }
    pairs = []
    for one, other in combinations(sorted(telling), 2):
        both = telling[one].keys() & telling[other].keys()
        shared = sum((telling[one][q] & telling[other][q]).total() for q in both)
        total = sum((telling[one][q] | telling[other][q]).total() for q in both)
        same = sorted(q for q in both if telling[one][q] == telling[other][q])
        if shared >= ENOUGH and shared / total >= ALIKE and same:
            pairs.append(Pair(one, other, round(shared / total, 3), same))
    return sorted(pairs, key=lambda p: (-p.share, p.one, p.other))


def _digest(counter: Counter[str]) -> str:
    return hashlib.sha256(repr(sorted(counter.items())).encode()).hexdigest()
