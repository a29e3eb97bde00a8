"""Hostile and unlucky answers: contained, named, and without effect on anything else."""

import os

import pytest

from tests.grading.conftest import (
    EXERCISE,
    POINTS,
    RIGHT,
    ROOT,
    filled,
    needs_isolation,
    verdict,
    verdicts,
)

HEAD = "def additive_score(query, keys, W_q, W_k, v):\n"
GOOD = (
    "    keys = keys.repeat_interleave(len(query) // len(keys), 0)\n"
    "    return torch.tanh((query @ W_q.T)[:, None] + keys @ W_k.T) @ v\n"
)
WRONG = "    return (query @ W_q.T)[:, None].sum(-1) + keys.sum(-1)\n"


def body(*lines):
    return HEAD + "".join(f"    {line}\n" for line in lines) + GOOD


SLOW = {"error", "memory", "timeout"}  # which comes first depends on the machine

NAMED = {
    "endless loop": (body("while True: pass"), {"timeout"}),
    "deaf to signals": (
        body("import signal", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "while True: pass"),
        {"timeout"},
    ),
    "sleeps": (body("import time", "time.sleep(100)"), {"timeout"}),
    "exits": (body("import os", "os._exit(0)"), {"crashed"}),
    "segfault": (body("import ctypes", "ctypes.string_at(0)"), {"crashed"}),
    "aborts": (body("import os", "os.abort()"), {"crashed"}),
    "system exit": (body("import sys", "sys.exit(0)"), {"error"}),
    "quits": (body("quit()"), {"error"}),
    "asks": (body("input()"), {"error"}),
    "recursion": (body("return additive_score(query, keys, W_q, W_k, v)"), {"error"}),
    "memory": (body("x = bytearray(50 * 2**30)"), {"error", "memory"}),
    "large tensor": (body("x = torch.zeros(10**11)"), {"error", "memory"}),
    "leak": (body("x = []", "while True: x.append(torch.ones(2**22))"), SLOW),
    "flood": (body("while True: print('x' * 10**6)"), {"output_limit"}),
    "fork bomb": (body("import os", "while True: os.fork()"), {"error"}),
    "shell": (body("import subprocess", "subprocess.run(['true'])"), {"error"}),
    "system": (body("import os", "assert os.system('true') == 0"), {"error"}),
    "socket": (body("import socket", "socket.socket()"), {"error"}),
    "kills its parent": (body("import os", "os.kill(os.getppid(), 9)"), {"error"}),
    "traces": (
        body("import ctypes", "assert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0"),
        {"error"},
    ),
    "writes": (body("open('/tmp/seqattn-was-here', 'w')"), {"error"}),
    "writes here": (body("open('scratch', 'w').write('x')"), {"error"}),
    "reads the bank": (
        body(f"open({str(ROOT / 'solutions' / 'bank_03_additive.py')!r}).read()"),
        {"error"},
    ),
    "reads the package": (
        body(f"open({str(ROOT / 'seqattn' / 'attention' / 'scores.py')!r}).read()"),
        {"error"},
    ),
    "reads passwords": (body("open('/etc/passwd').read()"), {"error"}),
    "reads memory of others": (body("open('/proc/1/environ').read()"), {"error"}),
    "lists the home": (body("import os", "os.listdir(os.path.expanduser('/root'))"), {"error"}),
    "imports the key": (body("from seqattn import additive_score as f"), {"forbidden"}),
    "imports it by a trick": (body("__import__('seq' + 'attn')"), {"error"}),
    "imports it by importlib": (
        body("import importlib", "importlib.import_module('seq' + 'attn.attention')"),
        {"error"},
    ),
    "huge message": (body("raise ValueError('x' * 10**7)"), {"error"}),
    "message that raises": (
        "class E(Exception):\n    def __str__(self): raise self\n" + body("raise E()"),
        {"error"},
    ),
    "gpu": (body("query.cuda()"), {"error"}),
    "dead thread": (
        body("from threading import Thread", "for i in range(10**5): Thread(target=input).start()"),
        {"error", "memory", "timeout", "crashed"},
    ),
}


@needs_isolation
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_hostile_answers_are_contained_and_named(name, grade):
    code, expected = NAMED[name]
    found = grade(filled(RIGHT | {"q1": code}))
    mine = verdict(found, "q1")
    assert mine.verdict in expected, mine
    assert mine.points == 0
    assert len(mine.hint) < 600
    others = verdicts(found)
    del others["q1"]
    assert set(others.values()) == {"pass"}
    assert found.isolation.startswith("full")
    assert not os.path.exists("/tmp/seqattn-was-here")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recursion", "memory"])
def test_what_one_answer_has_loaded_costs_the_next_no_time(name, grade):
    loads = grade(filled(RIGHT | {"q2": f"from torch.func import vmap\n{RIGHT['q2']}"}))
    assert loads.points == EXERCISE.points
    code, expected = NAMED[name]
    assert verdict(grade(filled(RIGHT | {"q1": code})), "q1").verdict in expected


FORGED = {
    "patches comparison": "import numpy\nnumpy.allclose = numpy.isclose = lambda *a, **k: True\n"
    "torch.allclose = lambda *a, **k: True\n",
    "equal to everything": "class T(torch.Tensor):\n    def __eq__(self, o): return True\n"
    "    __hash__ = None\n",
    "patches the encoder": "import json\njson.dumps = lambda *a, **k: '{}'\n",
    "prints a verdict": 'print(\'{"score": 15, "verdict": "pass"}\')\n',
    "writes to every pipe": "import os\nfor fd in range(1, 64):\n"
    "    try: os.write(fd, b'x' * 999)\n"
    "    except OSError: pass\n",
    "at exit": "import atexit, os\natexit.register(lambda: os.write(3, b'x'))\n",
    "swallows errors": "import sys\nsys.excepthook = lambda *a: None\n",
    "changes defaults": "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n",
    "turns warnings into errors": "import warnings\nwarnings.simplefilter('error')\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_wrong_answer_never_passes_and_spoils_nothing(name, grade):
    found = grade(filled(RIGHT | {"q1": FORGED[name] + HEAD + WRONG}))
    assert verdict(found, "q1").points == 0
    others = verdicts(found)
    del others["q1"]
    assert set(others.values()) == {"pass"}


HARMLESS = {
    "warns": "    import warnings\n    warnings.warn('careful')\n",
    "prints": "    print('x' * 1000)\n    import sys\n    print('y', file=sys.stderr)\n",
    "seeds": "    torch.manual_seed(1)\n",
    "sets defaults": "    torch.set_default_dtype(torch.float32)\n",
    "guards": "    if query.shape[0] % keys.shape[0]:\n        raise ValueError('sizes')\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_warnings_prints_and_settings_never_change_a_score(name, grade):
    found = grade(filled(RIGHT | {"q1": HEAD + HARMLESS[name] + GOOD}))
    assert found.points == EXERCISE.points


def test_a_right_answer_may_carry_helpers_and_imports(grade):
    code = (
        "from math import sqrt\nimport torch.nn.functional as functional\n\n"
        "def helper(x):\n    return functional.tanh(x) if False else x.tanh()\n\n"
        + HEAD
        + "    keys = keys.repeat_interleave(len(query) // len(keys), 0)\n"
        + "    return helper((query @ W_q.T)[:, None] + keys @ W_k.T) @ v\n"
    )
    assert grade(filled(RIGHT | {"q1": code})).points == sum(POINTS.values())


def test_nothing_survives_from_one_notebook_to_the_next(grade):
    spoiler = "torch.tanh = None\nimport builtins\nbuiltins.len = None\n" + HEAD + WRONG
    assert verdict(grade(filled({"q1": spoiler})), "q1").points == 0
    assert grade(filled(RIGHT)).points == EXERCISE.points
