# ruff: noqa: E501 -- one line a case
"""The bank of cases, B and C: accidents in code, and answers that want too much."""

from dataclasses import replace

import pytest

from tests.grading.conftest import EXERCISE, RIGHT, filled, verdict

HEAD = "def additive_score(query, keys, W_q, W_k, v):\n"
GOOD = "    return torch.tanh((query @ W_q.T)[:, None] + (keys @ W_k.T).repeat_interleave(len(query) // len(keys), 0)) @ v\n"
SCORES = "torch.tanh((query @ W_q.T)[:, None] + (keys @ W_k.T).repeat_interleave(len(query) // len(keys), 0)) @ v"


def body(*lines, end=GOOD):
    return HEAD + "".join(f"    {line}\n" for line in lines) + end


def returns(text):
    return f"{HEAD}    return {text}\n"


# Case: answer, verdicts that are right, what the hint must say.
CASES = {
    "T-031 syntax error": (HEAD + "    return (query\n", {"syntax_error"}, "never closed"),
    "T-032 warnings": (
        body("import warnings", "warnings.warn('x')", "np.log(np.zeros(2) - 1)"),
        {"pass"},
        "",
    ),
    "T-032 writes to the C stderr": (body("import os", "os.write(2, b'NNPACK' * 99)"), {"pass"}, ""),
    "T-034 progress bar": (body("from tqdm import tqdm", "list(tqdm(range(20)))"), {"pass"}, ""),
    "T-035 prints a lot": (body("for i in range(2000): print(i)"), {"pass"}, ""),
    "T-036 prints for return": (HEAD + f"    print({SCORES})\n", {"fail"}, "did you forget to return"),
    "T-037 numpy": (returns(f"({SCORES}).numpy()"), {"fail"}, "expected a torch tensor"),
    "T-037 list": (returns(f"({SCORES}).tolist()"), {"fail"}, "expected a torch tensor"),
    "T-037 float64": (
        body("query, keys, W_q, W_k, v = [x.double() for x in (query, keys, W_q, W_k, v)]"),
        {"fail"},
        "keep their dtype",
    ),
    "T-037 requires grad": (returns(f"({SCORES}) * nn.Parameter(torch.ones(1))"), {"pass"}, ""),
    "T-037 meta device": (returns(f"({SCORES}).to('meta')"), {"fail"}, "expected a torch tensor"),
    "T-037 sparse": (returns(f"({SCORES}).to_sparse()"), {"fail"}, "expected a torch tensor"),
    "T-038 one axis too many": (returns(f"({SCORES})[..., None]"), {"fail"}, "(B * K, S, 1)"),
    "T-038 of another shape": (returns(f"({SCORES}).sum(0)"), {"fail"}, "expected (6, 5)"),
    "T-039 changes its input": (
        body(end="    query.mul_(2)\n" + GOOD.replace("query @", "(query / 2) @")),
        {"fail"},
        "changes query: work on a copy",
    ),
    "T-040 a name of the session": (returns("scale * query"), {"error"}, "restart and run all"),
    "T-043 random": (body(end="    return torch.rand(len(query), keys.shape[1])\n"), {"fail"}, "not determin"),
    "T-044 changes defaults": (
        "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n"
        "np.seterr(all='raise')\ntorch.manual_seed(3)\n" + body(),
        {"pass"},
        "",
    ),
    "an optimiser of torch": (
        body("w = nn.Parameter(torch.ones(1))", "torch.optim.AdamW([w]).step()"),
        {"pass"},
        "",
    ),
    "T-044 makes warnings errors": (
        "import warnings\nwarnings.simplefilter('error')\n" + body(),
        {"pass"},
        "",
    ),
    "T-046 input": (body("input('?')"), {"error"}, "Nobody is there to type"),
    "T-047 sys.exit": (body("import sys", "sys.exit(0)"), {"error"}, "must not end the process"),
    "T-047 exit": (body("exit()"), {"error"}, "SystemExit"),
    "T-047 exits when it is defined": ("import sys\nsys.exit(0)\n" + body(), {"pass"}, ""),
    "T-048 recursion": (returns("additive_score(query, keys, W_q, W_k, v)"), {"error"}, "without end"),
    "T-049 segfault": (body("import ctypes", "ctypes.string_at(0)"), {"crashed"}, "signal 11"),
    "T-050 trains for minutes": (
        "for _ in range(10**9): torch.ones(99, 99) @ torch.ones(99, 99)\n" + body(),
        {"timeout"},
        "computed longer than 4 seconds",
    ),
    "sleeps for minutes": (
        "import time\ntime.sleep(999)\n" + body(),
        {"timeout"},
        "without computing",
    ),
    "T-051 wants a GPU": (body("query = query.cuda()"), {"error"}, "graded on a CPU"),
    "T-051 downloads": (
        body("import urllib.request", "urllib.request.urlopen('http://example.org')"),
        {"error"},
        "",
    ),
    "T-052 slow": (body("torch.ones(400, 400) @ torch.ones(400, 400)"), {"pass"}, ""),
    "T-053 await": ("await something\n" + body(), {"pass"}, ""),
    "T-054 a newer Python": ("type X = int\n" + body(), {"syntax_error", "pass"}, ""),
    "T-055 endless": (body("while True: pass"), {"timeout"}, "a loop that never ends"),
    "T-057 deaf to signals": (
        body("import signal", "for s in (2, 15, 24): signal.signal(s, signal.SIG_IGN)", "while 1: pass"),
        {"timeout"},
        "",
    ),
    "T-058 leaves": (body("import os", "os._exit(0)"), {"crashed"}, "status 0"),
    "T-060 50 GB": (body("bytearray(50 * 2**30)"), {"memory"}, ""),
    "T-060 a large tensor": (body("torch.zeros(10**10)"), {"memory"}, ""),
    "T-061 slow leak": (
        body("x = []", "while True: x.append(bytearray(2**20))"),
        {"memory", "timeout"},
        "",
    ),
    "T-062 fork bomb": (body("import os", "while True: os.fork()"), {"error"}, "PermissionError"),
    "T-063 threads": (
        body("import threading, time", "for _ in range(10**5): threading.Thread("
             "target=time.sleep, args=(99,)).start()"),
        {"error", "memory", "crashed", "timeout"},
        "",
    ),
    "T-064 fills the disk": (body("open('big', 'wb').write(b'x' * 10**9)"), {"error"}, "without files"),
    "T-066 many files": (
        body("import os", "for i in range(10**4): os.mkdir(str(i))"),
        {"error"},
        "without files",
    ),
    "T-067 daemon": (
        body("import os", "os.setsid() if os.fork() == 0 else None"),
        {"error"},
        "PermissionError",
    ),
    "T-070 a huge number": (returns("10 ** (10 ** 5)"), {"fail"}, "expected a torch tensor"),
    "T-070 a huge message": (body("raise ValueError('y' * 10**7)"), {"error"}, "ValueError"),
    "T-070 a huge result": (returns("torch.zeros(2**14, 2**11)"), {"error", "memory"}, "TooMuch"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_accident_has_its_verdict_and_costs_nothing_else(case, grade, judge, monkeypatch):
    code, expected, said = CASES[case]
    if "timeout" not in expected:  # what ends by itself may take its time on a slow machine
        monkeypatch.setattr(judge.sandbox, "limits", replace(judge.sandbox.limits, seconds=60.0))
    # An answer that is right comes after it.
    found = grade(filled({"q1": code, "q6": RIGHT["q6"]}))
    mine = verdict(found, "q1")
    assert mine.verdict in expected, mine
    assert said in mine.hint
    assert len(mine.hint) < 700
    assert "Traceback" not in mine.hint
    assert mine.points == (mine.out_of if mine.verdict == "pass" else 0)
    assert verdict(found, "q6").verdict == "pass"


def test_t_033_prints_beyond_measure_end_in_output_limit_and_a_short_report(grade):
    found = verdict(grade(filled({"q1": body("while True: print('x' * 10**5)")})), "q1")
    assert found.verdict in ("output_limit", "timeout")
    assert "xxx" not in found.hint


def test_t_041_arguments_in_another_order_hear_the_signature(grade):
    code = f"def additive_score(keys, query, W_q, W_k, v):\n    return {SCORES}\n"
    found = verdict(grade(filled({"q1": code})), "q1")
    assert found.verdict in ("fail", "error")
    assert "additive_score(query, keys, W_q, W_k, v)" in found.hint


def test_t_042_nan_in_empty_rows_keeps_the_other_points(grade):
    code = (
        "def masked_softmax(s, m):\n    return torch.softmax(s.masked_fill(~m, -torch.inf), -1)\n"
    )
    found = verdict(grade(filled({"q2": code})), "q2")
    assert (found.verdict, found.points, found.out_of) == ("partial", 3, 4)
    assert "gives NaN" in found.hint


def test_the_line_of_a_wrong_result_is_named_as_the_learner_counts(grade):
    code = "\n\n" + HEAD + "    x = query @ W_q.T\n    return x[:, None].cos() @ v\n"
    found = verdict(grade(filled({"q1": code})), "q1")
    # The marker is line 1.
    assert found.line == 6


def test_shapes_of_both_sides_are_named(grade):
    wrong = EXERCISE.question("q1").wrong
    code = next(w.code for w in wrong if w.name == "one number too many dimensions")
    found = verdict(grade(filled({"q1": code})), "q1")
    assert "has shape (6, 5, 1); expected (6, 5)" in found.shapes
