"""Mutation test: break the core in small ways and see whether the tests notice.

``python -m tools.mutation [PATH ...]`` changes one operator, comparison, number or condition at a
time (operators by cosmic-ray, extra ``[mutation]``), runs the tests that belong to the file, and
prints each change that no test noticed. A change of meaning that survives is a missing test. (Some
survivors change nothing: an annotation, a comparison that cannot be equal.)

Each mutant is tried in a fork of one process that has imported torch already, so that most take a
second. No file is touched: the fork reads the changed text in place of the file's.
"""

import argparse
import ast
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What is tested, and by what: the closest tests first, they notice most.
TARGETS = {
    "seqattn/attention/masks.py": ["tests/attention/test_masks.py", "tests/attention"],
    "seqattn/attention/scores.py": ["tests/attention/test_scores.py", "tests/attention"],
    "seqattn/attention/core.py": [
        "tests/attention/test_masked_softmax.py",
        "tests/attention/test_attention.py",
        "tests/attention/test_every_kind.py",
        "tests/attention",
    ],
    "seqattn/attention/named.py": ["tests/attention/test_attention.py", "tests/test_public_api.py"],
    "seqattn/attention/multihead.py": [
        "tests/attention/test_multihead.py",
        "tests/attention/test_every_kind.py",
    ],
    "seqattn/attention/local.py": [
        "tests/attention/test_local.py",
        "tests/attention/test_every_kind.py",
    ],
    "seqattn/attention/coverage.py": [
        "tests/attention/test_coverage.py",
        "tests/attention/test_every_kind.py",
    ],
    "seqattn/attention/hard.py": [
        "tests/attention/test_hard.py",
        "tests/attention/test_every_kind.py",
    ],
    "seqattn/attention/windowed.py": ["tests/attention/test_windowed.py"],
    "seqattn/training/regularizers.py": ["tests/training/test_regularizers.py"],
    "seqattn/attention/testing.py": ["tests/attention/test_check_padding.py"],
    "seqattn/decoding/beam_search.py": ["tests/decoding/test_search.py", "tests/decoding"],
    "seqattn/decoding/greedy.py": ["tests/decoding/test_sampling.py", "tests/decoding"],
    "seqattn/decoding/rows.py": ["tests/decoding/test_search.py", "tests/decoding"],
    "seqattn/decoding/topk.py": ["tests/decoding/test_search.py", "tests/decoding"],
    "seqattn/decoding/interface.py": ["tests/decoding/test_interface.py", "tests/decoding"],
    "seqattn/metrics/attention_weights.py": ["tests/metrics/test_attention_weights.py"],
    "seqattn/metrics/alignment_error.py": ["tests/metrics/test_metrics.py"],
    "seqattn/metrics/bleu.py": ["tests/metrics/test_metrics.py"],
    "seqattn/metrics/attention_maps.py": ["tests/metrics/test_attention_maps.py"],
}
OPERATORS = (
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
    *("ReplaceBinaryOperator_Mul_Div", "ReplaceBinaryOperator_Div_Mul"),
    *("ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_Mod_FloorDiv"),
    *("ReplaceBinaryOperator_Pow_Mul", "ReplaceBinaryOperator_BitAnd_BitOr"),
    *("ReplaceBinaryOperator_BitOr_BitAnd", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_Lt_GtE"),
    *("ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_LtE_Gt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_Gt_LtE"),
    *("ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_GtE_Lt"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
    *("ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Invert"),
    *("ReplaceUnaryOperator_Delete_Not", "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
    *("NumberReplacer", "RemoveDecorator"),
)
# What would only take time to start.
UNUSED = [
    part for name in ("cacheprovider", "nbval", "xdist", "cov") for part in ("-p", f"no:{name}")
]
SECONDS = 120  # of a processor: a mutant may loop for ever; that is noticed


def mutants(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, what stands there, and the whole changed text, for each mutant of a file."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = path.read_text(encoding="utf-8")
    tree, meaning = get_ast(text), meaning_of(text)
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        spots = [spot for node in ast_nodes(tree) for spot in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(spots):
            changed = mutate_code(text, operator, occurrence)
            if changed is None or meaning_of(changed) == meaning:
                continue
            pairs = zip(text.splitlines(), changed.splitlines(), strict=False)
            line = next(new.strip() for old, new in pairs if old != new)
            yield start[0], f"{name}: {line}", changed


class _WithoutAnnotations(ast.NodeTransformer):
    """Drop what no run depends on: annotations, and how a signature marks its arguments."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        given = node.args
        for name in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            name.annotation = None
        given.args = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        given.posonlyargs, given.kwonlyargs = [], []
        given.defaults = [*given.defaults, *filter(None, given.kw_defaults)]
        given.kw_defaults = []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def meaning_of(text: str) -> str:
    """Give a module without its annotations, in a form that can be compared."""
    return ast.dump(_WithoutAnnotations().visit(ast.parse(text)))


def survives(path: Path, changed: str, tests: str) -> bool:
    """Say whether the tests of a file or folder pass with the changed text in the file's place."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        for descriptor in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        whole, stored = SourceFileLoader.get_data, f"{path.parent / '__pycache__' / path.stem}."

        def get_data(self, name):
            if str(name) == str(path):
                return changed.encode()
            if str(name).startswith(stored):
                raise OSError("stored bytecode would hide the changed text")
            return whole(self, name)

        SourceFileLoader.get_data = get_data  # type: ignore[method-assign]
        status = 1
        try:
            import pytest

            status = int(pytest.main(["-x", "-q", "--assert=plain", *UNUSED, tests]))
        finally:
            os._exit(status)
    ends = time.monotonic() + 30 * SECONDS  # for one that waits for ever
    while time.monotonic() < ends:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def judge(job: tuple[str, int, str, str]) -> tuple[str, int, str, bool]:
    """Try one mutant: by the closest tests, and by the others only if these see nothing."""
    name, line, what, changed = job
    return name, line, what, all(survives(ROOT / name, changed, t) for t in TARGETS[name])


def main() -> None:
    """Try all mutants of the files named, or of all targets, and list the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help=f"of {', '.join(TARGETS)}; default: all")
    names = parser.parse_args().paths or list(TARGETS)
    if unknown := set(names) - TARGETS.keys():
        parser.error(f"no tests are named for {', '.join(sorted(unknown))}")
    os.chdir(ROOT)
    jobs = [(name, *mutant) for name in names for mutant in mutants(ROOT / name)]
    for module in ("torch", "torch.testing", "torch._dynamo", "hypothesis", "pytest", "beartype"):
        importlib.import_module(module)
    for name in names:
        for tests in TARGETS[name]:
            if not survives(ROOT / name, (ROOT / name).read_text(encoding="utf-8"), tests):
                sys.exit(f"{tests} fails without any change")
    sys.dont_write_bytecode = True  # the runs above have stored what does not change
    tried, survivors = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    with multiprocessing.get_context("fork").Pool(min(2, os.cpu_count() or 1)) as pool:
        for name, line, what, survived in pool.imap(judge, jobs):
            tried[name] += 1
            if survived:
                survivors[name] += 1
                print(f"{name}:{line}: {what}", flush=True)
    for name in names:
        print(f"{name}: {tried[name]} mutants, {survivors[name]} survive")


if __name__ == "__main__":
    main()
