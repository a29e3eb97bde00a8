# ruff: noqa: E501 -- one line a case
"""Twenty more hostile notebooks, of our own invention: contained, and nobody else pays."""

import os

import pytest

from tests.grading.conftest import EXERCISE, RIGHT, filled, needs_isolation, verdict

HEAD = "def additive_score(query, keys, W_q, W_k, v):\n"
WRONG = "    return keys.sum(-1)\n"
CTYPES = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def calls(code):
    """Run code at every call, then answer wrongly."""
    return HEAD + "".join(f"    {line}\n" for line in code.splitlines()) + WRONG


NOTEBOOKS = {
    "01 rewrites the runner's bytecode": "import sys\nfor m in list(sys.modules.values()):\n    if hasattr(m, '_try') and hasattr(m, '_call'):\n        m._try.__code__ = (lambda call, case: {'result': {'value': case}}).__code__\n" + calls(""),
    "02 returns its inputs from the frame above": calls("import sys\nf = sys._getframe()\nwhile f:\n    if 'case' in f.f_locals and isinstance(f.f_locals['case'], dict) and 'expected' in f.f_locals['case']:\n        return f.f_locals['case']['expected']\n    f = f.f_back"),
    "03 a metaclass that lies about its type": "class Meta(type):\n    def __instancecheck__(cls, x): return True\nclass T(metaclass=Meta):\n    __class__ = torch.Tensor\n    shape = (2, 5)\n" + HEAD + "    return T()\n",
    "04 a tensor with a numpy of its own": HEAD + "    x = keys.sum(-1)\n    x.numpy = lambda: 1 / 0\n    return x\n",
    "05 patches Tensor.detach and clone": "torch.Tensor.detach = torch.Tensor.clone = torch.Tensor.contiguous = lambda self, *a, **k: torch.zeros(2, 5)\n" + HEAD + WRONG,
    "06 a dict that grows while it is read": "class D(dict):\n    def items(self):\n        n = 0\n        while True:\n            yield str(n), n\n            n += 1\n" + HEAD + "    return D(a=1)\n",
    "07 a list that holds itself": HEAD + "    x = []\n    x.append(x)\n    return x\n",
    "08 nested a thousand times": HEAD + "    x = keys\n    for _ in range(1000): x = [x]\n    return x\n",
    "09 a million empty tuples": HEAD + "    return [()] * 10**6\n",
    "10 closes every descriptor": calls("import os\nos.closerange(0, 4096)"),
    "11 fills the result pipe with frames of zeros": calls("import os\nfor _ in range(2000): os.write(3, bytes(8))"),
    "12 a header that claims petabytes": calls("import os\nos.write(3, (2**60).to_bytes(8, 'big'))"),
    "13 raises its own limits": calls("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (10**9, 10**9))\nopen('/tmp/seqattn-was-here', 'w').write('x' * 100)"),
    "14 asks for new privileges and another filter": CTYPES + calls("assert libc.prctl(38, 0, 0, 0, 0) == 0\nassert libc.prctl(22, 0, 0) == 0\nopen('/tmp/seqattn-was-here', 'w')"),
    "15 io_uring, past the filter": CTYPES + calls("ring = libc.syscall(425, 8, ctypes.create_string_buffer(120))\nassert ring >= 0, 'refused'"),
    "16 memfd and fexecve": CTYPES + calls("fd = libc.syscall(319, b'x', 0)\nassert fd >= 0, 'refused'"),
    "17 process_vm_readv from its parent": CTYPES + calls("import os\nassert libc.syscall(310, os.getppid(), 0, 0, 0, 0, 0) >= 0, 'refused'"),
    "18 opens the judge's descriptors by /proc": calls("import os\nfor fd in range(64):\n    open(f'/proc/{os.getppid()}/fd/{fd}', 'rb')"),
    "19 shared memory and semaphores": calls("from multiprocessing import shared_memory\nshared_memory.SharedMemory('seqattn', create=True, size=10)"),
    "20 a thread that goes on after the answer": "import threading, time\ndef go():\n    while True:\n        try: open('/tmp/seqattn-was-here', 'w')\n        except OSError: time.sleep(0.01)\nthreading.Thread(target=go, daemon=True).start()\n" + HEAD + WRONG,
    "21 an answer named like the runner's own": "send = print = None\n" + HEAD + WRONG,
    "22 an exception whose class has no name": "E = type('', (Exception,), {'__module__': None})\n" + calls("raise E(E)"),
    "23 an int subclass that never ends": "class N(int):\n    def bit_length(self):\n        while True: pass\n" + HEAD + "    return N(3)\n",
    "24 a million global names": "globals().update({f'x{n}': n for n in range(10**6)})\n" + HEAD + WRONG,
}  # fmt: skip


@needs_isolation
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_hostile_notebook_earns_nothing_and_costs_nobody_anything(name, grade):
    found = grade(filled({"q1": NOTEBOOKS[name], "q6": RIGHT["q6"]}))
    mine = verdict(found, "q1")
    assert mine.verdict in ("fail", "error", "crashed", "timeout", "memory", "output_limit"), mine
    assert mine.points == 0
    assert len(mine.hint) < 700
    assert verdict(found, "q6").verdict == "pass"
    assert not os.path.exists("/tmp/seqattn-was-here")


def test_after_all_of_them_a_right_notebook_is_right(grade):
    assert grade(filled(RIGHT)).points == EXERCISE.points
