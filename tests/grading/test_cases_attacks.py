# ruff: noqa: E501 -- one line a case
"""The bank of cases, D to F: forging a pass, stealing the answer, hurting the grader or the host."""

import json
import os
import re
import zipfile

import pytest

from seqattn.grading.audit import AuthorsJudge
from seqattn.grading.feedback import as_html
from seqattn.grading.grades import as_csv, as_json, as_text
from seqattn.grading.judge import Judge
from tests.grading.conftest import (
    EXERCISE,
    RIGHT,
    ROOT,
    STUB,
    answer_cell,
    filled,
    needs_isolation,
    question_of,
    text,
    verdict,
    verdicts,
)

HEAD = "def additive_score(query, keys, W_q, W_k, v):\n"
GOOD = (
    "    keys = keys.repeat_interleave(len(query) // len(keys), 0)\n"
    "    return torch.tanh((query @ W_q.T)[:, None] + keys @ W_k.T) @ v\n"
)
WRONG = "    return keys.sum(-1) * query.sum()\n"
BANK = ROOT / "seqattn" / "grading" / "banks" / "03_additive.bank"


def body(*lines, end=GOOD):
    return HEAD + "".join(f"    {line}\n" for line in lines) + end


# Before a wrong answer: whatever it does, the answer stays wrong.
FORGERIES = {
    "T-076 patches comparisons": (
        "torch.allclose = torch.equal = np.isclose = np.allclose = lambda *a, **k: True\n"
        "import torch.testing\ntorch.testing.assert_close = lambda *a, **k: None\n"
    ),
    "T-080 swallows errors": "import sys\nsys.excepthook = sys.unraisablehook = lambda *a: None\n",
    "T-081 no traceback": "import traceback\ntraceback.extract_tb = lambda *a, **k: []\n",
    "T-083 writes results and leaves": (
        'import os\nfor fd in range(3, 40):\n    try: os.write(fd, b\'{"verdict": "pass"}\')\n'
        "    except OSError: pass\n"
    ),
    "T-085 writes at the end": (
        "import atexit, os, threading\natexit.register(lambda: os.write(3, b'0' * 99))\n"
        "threading.Timer(0.01, lambda: os.write(3, b'0' * 99)).start()\n"
    ),
    "T-086 patches json": "import json\njson.dumps = lambda *a, **k: '{}'\n",
    "T-086 patches builtins": "import builtins\nbuiltins.len = lambda x: 0\n",
    "T-086 patches os.write": "import os\nos.write = lambda *a: 0\n",
    "T-091 swallows its own errors": "class additive:\n    pass\n",
    "replaces the runner's functions": (
        "import sys\nfor name, module in list(sys.modules.items()):\n"
        "    if name.endswith('runner'):\n"
        "        module._try = lambda call, case: {'result': {'value': None}}\n"
    ),
    "sends messages of its own": (
        "import sys\nwire = sys.modules.get('sandbox.wire')\n"
        "if wire is not None:\n    import os\n"
        "    for n in range(99):\n"
        "        os.write(3, wire.encode({'answer': 'learner', 'case': n, 'result': {'value': 1.0}}))\n"
        "    os.write(3, wire.encode({'event': 'done'}))\n    os._exit(0)\n"
    ),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_forger_gets_no_points_and_spoils_nothing(case, grade):
    found = grade(filled({"q1": FORGERIES[case] + HEAD + WRONG, "q6": RIGHT["q6"]}))
    assert verdict(found, "q1").verdict in ("fail", "error", "crashed")
    assert verdict(found, "q1").points == 0
    assert verdict(found, "q6").verdict == "pass"


def test_t_077_an_object_that_equals_everything_fails(grade):
    code = (
        "class Same(torch.Tensor):\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        + HEAD
        + GOOD.replace("return ", "return Same(").rstrip()
        + ")\n"
    )
    found = verdict(grade(filled({"q1": code})), "q1")
    assert (found.verdict, found.points) == ("fail", 0)
    assert "expected a torch tensor" in found.hint


def test_t_082_and_t_087_there_is_nothing_to_find_in_the_process(grade):
    code = body(
        "import gc, sys",
        "names = [m for m in sys.modules if 'judge' in m or 'oracle' in m or 'bank' in m]",
        "tuples = [o for o in gc.get_objects() if isinstance(o, dict) and 'expected' in o]",
        "assert not names and not tuples, 'found something'",
    )
    assert verdict(grade(filled({"q1": code})), "q1").verdict == "pass"


def test_t_089_answers_learned_by_heart_fail_on_another_seed():
    with AuthorsJudge("one") as one, AuthorsJudge("two") as two:
        case = one._cases("03_additive", "q1")[0]
        shown = case.expected.tolist()
        code = HEAD + f"    return torch.tensor({shown})\n"
        assert one.judge_code("03_additive", "q1", code).points == 0
        assert two.judge_code("03_additive", "q1", code).points == 0


def test_t_074_and_t_075_files_beside_the_notebook_play_no_part(grade, tmp_path):
    for name in ("conftest.py", "pytest.ini", "sitecustomize.py", "torch.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('loaded')", encoding="utf-8")
    (tmp_path / "seqattn").mkdir()
    (tmp_path / "seqattn" / "__init__.py").write_text("1 / 0", encoding="utf-8")
    assert grade(filled({"q1": RIGHT["q1"]})).points == 3


def test_t_071_to_t_073_cells_that_say_so_prove_nothing(grade):
    notebook = filled({q.id: q.wrong[0].code for q in EXERCISE.questions})
    for cell in notebook["cells"]:
        if not question_of(cell) and cell["cell_type"] == "code":
            cell["source"] = "# NBVAL_SKIP\nprint('PASS')"
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "15 of 15"}]
            cell["metadata"] = {"tags": ["raises-exception", "nbval-skip"], "points": 100}
    found = grade(notebook)
    assert found.points == sum(q.wrong[0].keeps for q in EXERCISE.questions)
    assert found.out_of == EXERCISE.points


NASTY = "=cmd|'/c calc'!A1 <script>alert(1)</script> \x1b[2J {\"score\": 9}"


def test_t_092_output_and_names_are_shown_as_text_everywhere(grade):
    found = grade(filled({"q1": body(f"raise ValueError({NASTY!r})")}), name="=1+1 <script>x.ipynb")
    assert "<script>" not in as_html(found)
    assert "\x1b" not in as_text(found) + as_html(found) + as_csv([found])
    assert json.loads(as_json(found))["points"] == 0
    assert all(not line.startswith("=") for line in as_csv([found]).splitlines())


# What reaches for the answer, and the verdicts that are right.
THEFTS = {
    "T-094 reads the solution": (
        body(f"exec(open({str(ROOT / 'solutions' / '03_additive.py')!r}).read())"),
        {"error"},
    ),
    "T-094 looks around": (
        body("import glob, os", f"assert glob.glob({str(ROOT / 'solutions' / '*.py')!r})"),
        {"error"},
    ),
    "T-094 reads the bank": (body(f"open({str(BANK)!r}, 'rb').read()"), {"error"}),
    "T-095 imports the grader": (body("import judge"), {"error"}),
    "T-096 imports the package": (body("from seqattn.attention import additive_score"), {"forbidden"}),
    "T-096 imports it as something": (body("import seqattn as s"), {"forbidden"}),
    "T-097 imports it by name": (body("__import__('seq' + 'attn')"), {"error"}),
    "T-097 imports it by importlib": (
        body("import importlib", "importlib.import_module('seq' + 'attn.attention')"),
        {"error"},
    ),
    "T-097 without the hook": (
        body(
            "import sys",
            "sys.meta_path[:] = [f for f in sys.meta_path if 'Hidden' not in type(f).__name__]",
            f"sys.path.insert(0, {str(ROOT)!r})",
            "__import__('seq' + 'attn')",
        ),
        {"error"},
    ),
    "T-099 downloads it": (
        body("import socket", "socket.create_connection(('example.org', 443), 1)"),
        {"error"},
    ),
    "T-100 reads the tests": (
        body(f"open({str(ROOT / 'tests' / 'grading' / 'test_bank.py')!r}).read()"),
        {"error"},
    ),
}  # fmt: skip


@needs_isolation
@pytest.mark.parametrize("case", THEFTS)
def test_the_answer_cannot_be_had(case, grade):
    code, expected = THEFTS[case]
    found = verdict(grade(filled({"q1": code})), "q1")
    assert (found.verdict in expected, found.points) == (True, 0), found


SOFTMAXES = [
    "torch.softmax(s / t, -1)",
    "getattr(torch, 'soft' 'max')(s / t, -1)",
    "(s / t).softmax(-1)",
    "nn.Softmax(-1)(s / t)",
    "F.softmin(-s / t, -1)",
    "(s / t).log_softmax(-1).exp()",
    "torch._softmax(s / t, -1, False)",
    "torch._C._nn.softplus(s) * 0 + torch._C._VariableFunctions.softmax(s / t, -1)",
    "torch.ops.aten.softmax.int(s / t, -1)",
    "torch.ops.aten._softmax(s / t, -1, False)",
    "getattr(torch.ops.aten, '_soft' 'max')(s / t, -1, False)",
    "torch._C._special.special_softmax(s / t, -1)",
    "torch._masked_softmax(s / t, torch.zeros_like(s) > 0, -1)",
    "torch.softmax(s / t, -1) if len(s) > 1 else (e := (s / t).exp()) / e.sum(-1, keepdim=True)",
]


@pytest.mark.parametrize(
    ("exercise", "question", "code"),
    [
        *(("02_softmax", "q1", f"def softmax(s, t):\n    return {x}") for x in SOFTMAXES),
        (
            "05_scaled",
            "q1",
            "def scaled_dot_attention(q, k, v):\n"
            "    return torch._scaled_dot_product_attention_math(q, k, v)[0]",
        ),
        (
            "05_scaled",
            "q1",
            "def scaled_dot_attention(q, k, v):\n"
            "    f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu\n"
            "    return f(q[None], k[None], v[None])[0][0]",
        ),
        (
            "05_scaled",
            "q1",
            "def scaled_dot_attention(q, k, v):\n"
            "    return getattr(F, 'scaled_dot_' + 'product_attention')(q, k, v)",
        ),
        *(
            ("16_transformer", "q1", f"def layer_norm(x, gain, bias, eps):\n    return {x} + bias")
            for x in (
                "F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], gain, eps)",
                "gain * nn.RMSNorm(x.shape[-1], eps)(x - x.mean(-1, keepdim=True))",
            )
        ),
        *(
            ("17_evaluation", "q1", f"{above}\ndef bleu(written, references):\n    {x}")
            for above, x in (
                ("import sacrebleu", "return sacrebleu.corpus_bleu(written, references).score"),
                ("", "from nltk.translate.bleu_score import corpus_bleu"),
                ("", "return __import__('sacre' + 'bleu').corpus_bleu(written, references).score"),
            )
        ),
        ("17_evaluation", "q2", "def difference(a, b):\n    import scipy.stats"),
    ],
)
def test_t_098_what_a_question_forbids_is_caught_by_name_and_when_it_is_used(
    exercise, question, code, judge
):
    found = judge.judge_code(exercise, question, code)
    assert (found.verdict, found.points) == ("forbidden", 0)
    assert "do it without" in found.hint


def test_a_variable_may_be_called_like_what_is_forbidden(judge):
    code = (
        "def softmax(s, t):\n    log_softmax = (s / t) - (s / t).logsumexp(-1, keepdim=True)\n"
        "    softmax = log_softmax.exp()\n    return softmax\n"
    )
    assert judge.judge_code("02_softmax", "q1", code).verdict == "pass"


def test_t_102_and_t_103_hints_hold_no_value_of_a_hidden_case(grade):
    code = HEAD + "    print(query)\n    return query.sum() + keys.sum(-1)\n"
    found = verdict(grade(filled({"q1": code})), "q1")
    said = " ".join([found.hint, found.shapes, *found.notes])
    with Judge("0123") as judge:
        for case in judge._cases("03_additive", "q1")[:5]:
            for number in case.inputs[0].ravel()[:3]:
                assert f"{number:.3f}" not in said
    assert "tensor" not in said


ALL = "' '.join(f'{x:.6f}' for x in query.flatten())"
LETTERS = "''.join(chr(97 + int(abs(x) * 10) % 26) for x in query.flatten())"
LEAKS = {
    "raised": f"raise ValueError({ALL})",
    "raised, letters": f"raise ValueError({LETTERS})",
    "raised, far too long": f"raise ValueError({ALL} * 400)",
    "asserted": f"assert False, {LETTERS}",
    "a key": f"{{}}[{ALL}]",
    "a key of letters": f"{{}}[{LETTERS}]",
    "no number": f"int({LETTERS})",
    "no attribute": f"getattr(torch, {LETTERS})",
    "evaluated": f"eval({LETTERS} + '.x')",
    "a shape": "query.view(*[1 + int(abs(x) * 100) for x in query.flatten()])",
}


@pytest.mark.parametrize("leak", LEAKS)
def test_t_102_an_error_message_carries_no_data_out(leak, grade):
    found = verdict(grade(filled({"q1": body(LEAKS[leak])})), "q1")
    assert found.verdict == "error"
    assert len(found.hint) < 400
    said = found.hint.partition(":")[2] or found.hint
    assert not re.search(r"\d\.\d|\d\d+[^\d]+\d\d+[^\d]+\d\d+[^\d]+\d\d+", said), found.hint
    with Judge("0123") as judge:
        for case in judge._cases("03_additive", "q1"):
            letters = "".join(chr(97 + int(abs(x) * 10) % 26) for x in case.inputs[0].ravel())
            assert len(letters) < 6 or letters[:6] not in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return helper(query)", "NameError: name 'helper' is not defined"),
        ("return query @ W_k", "mat1 and mat2 shapes cannot be multiplied"),
        ("raise ValueError('this is mine')", "ValueError: this is mine"),
        ("return query.no_such_method()", "'no_such_method'"),
    ],
)
def test_messages_that_help_are_kept(line, said, grade):
    found = verdict(grade(filled({"q1": f"{HEAD}    {line}\n"})), "q1")
    assert said in found.hint


def test_t_105_nothing_is_unpickled(grade):
    code = (
        "class Bomb:\n    def __reduce__(self):\n"
        "        import os\n        return os.system, ('touch /tmp/seqattn-was-here',)\n"
        + HEAD
        + "    return Bomb()\n"
    )
    assert verdict(grade(filled({"q1": code})), "q1").verdict == "fail"
    assert not os.path.exists("/tmp/seqattn-was-here")


HOSTILE = {
    "T-107 writes to /etc": body("open('/etc/motd', 'a').write('x')"),
    "T-107 writes into site-packages": body("open(torch.__file__, 'a').write('x')"),
    "T-107 reads keys": body("import os", "open(os.path.expanduser('~/.ssh/id_rsa')).read()"),
    "T-108 kills its parent": body("import os", "os.kill(os.getppid(), 9)"),
    "T-108 kills everybody": body("import os", "os.kill(-1, 9)"),
    "T-109 binds a port": body("import socket", "socket.socket().bind(('127.0.0.1', 0))"),
    "T-109 unix sockets": body("import socket", "socket.socket(socket.AF_UNIX).connect('\\0x')"),
    "T-109 a socket pair": body("import socket", "socket.socketpair()"),
    "T-110 reads others' folders": body("import os", "[open(x) for x in os.scandir('/tmp')]", "1 / 0"),
    "T-113 leaves files at home": body("import os", "open(os.path.expanduser('~/.cache'), 'w')"),
    "T-113 leaves bytecode": body("import os", "os.mkdir('__pycache__')"),
    "maps memory of others": body("open('/proc/1/mem', 'rb')"),
    "reads its parent's memory": body("import os", "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)"),
    "starts a program": body("import os", "os.execv('/bin/true', ['true'])"),
    "changes root": body("import os", "os.chroot('/')"),
    "mounts": body("import ctypes", "assert ctypes.CDLL(None).mount(0, 0, 0, 0, 0) == 0"),
    "loads a kernel module": body("import ctypes", "assert ctypes.CDLL(None).syscall(175, 0, 0, 0) == 0"),
}  # fmt: skip


@needs_isolation
@pytest.mark.parametrize("case", HOSTILE)
def test_the_host_is_out_of_reach(case, grade):
    found = grade(filled({"q1": HOSTILE[case], "q6": RIGHT["q6"]}))
    assert verdict(found, "q1").verdict in ("error", "crashed"), verdict(found, "q1")
    assert verdict(found, "q6").verdict == "pass"
    assert found.isolation.startswith("full"), "this kernel does not confine: see the report"


def test_t_114_nothing_survives_to_the_next_question_or_file(grade):
    spoiler = "torch.tanh = torch.softmax = None\nnn.Parameter = None\n" + HEAD + WRONG
    found = grade(filled(RIGHT | {"q1": spoiler}))
    rest = verdicts(found)
    assert rest.pop("q1") in ("fail", "error")
    assert set(rest.values()) == {"pass"}
    assert grade(filled(RIGHT)).points == EXERCISE.points


def test_t_116_a_worker_that_is_killed_is_started_again(tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled(RIGHT)), encoding="utf-8")
    with Judge("0123") as judge:
        assert judge.grade(path).points == EXERCISE.points
        judge.sandbox._worker.kill()
        judge.sandbox._worker.wait()
        assert judge.grade(path).points == EXERCISE.points


def test_t_115_weaker_isolation_is_stated(tmp_path, monkeypatch):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled({"q6": RIGHT["q6"]})), encoding="utf-8")
    with Judge("0123") as judge:
        monkeypatch.setattr(judge.sandbox, "_forks", False)
        found = judge.grade(path)
    assert found.points == 1
    assert found.isolation.startswith("weak: process and timeout only")
    assert "weak: process and timeout only" in as_text(found)


def zipped(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_t_111_an_archive_cannot_write_anywhere(judge, tmp_path):
    zipped(tmp_path / "a.zip", {"../../evil.ipynb": json.dumps(filled(RIGHT))})
    assert judge.grade(tmp_path / "a.zip").problem.startswith("unreadable: 0 notebooks")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]
    assert not (tmp_path.parents[1] / "evil.ipynb").exists()


def test_t_068_an_archive_that_swells_is_refused(judge, tmp_path):
    zipped(tmp_path / "b.zip", {"a.ipynb": b" " * (200 << 20)})
    found = judge.grade(tmp_path / "b.zip")
    assert found.problem == "unreadable: the archive holds too much: pack the notebook alone"


def test_t_111_devices_and_folders_are_unreadable(judge, tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name in ("pipe.ipynb", "folder.ipynb"):
        assert judge.grade(tmp_path / name).problem == "unreadable: not a plain file"


def test_t_104_renamed_copies_are_found_and_the_stub_is_none():
    from seqattn.grading.classroom.similarity import fingerprint, similar_pairs

    def renamed(code):
        return re.sub(r"\b(d_a|keys|mask|scores|weights)\b", r"my_\1", code)

    questions = ("q2", "q3", "q5")
    answers = {
        "ada": {q: RIGHT[q] for q in questions},
        "bob": {q: "# mine\n" + renamed(RIGHT[q]) for q in questions},
        "cy": {q: EXERCISE.question(q).right[1] for q in questions},
        "dan": {q: text(answer_cell(STUB, q)) for q in questions},
        "eve": {q: text(answer_cell(STUB, q)) for q in questions},
    }
    prints = {
        name: {q: fingerprint(code, text(answer_cell(STUB, q))) for q, code in codes.items()}
        for name, codes in answers.items()
    }
    pairs = similar_pairs(prints)
    assert [(p.one, p.other, p.share) for p in pairs] == [("ada", "bob", 1.0)]


DEEP = {
    "brackets": "(" * 10**5,
    "minus": "-" * 10**5 + "1",
    "attributes": "x" + ".a" * 10**5,
    "a chain of and": "1" + " and 1" * 10**5,
    "a chain of plus": "1" + "+1" * 9000,
    "targets": "x=" * 20_000 + "1",
    "lambdas": "lambda: " * 5000 + "1",
    "elif": "if 1: pass\n" + "elif 1: pass\n" * 3000,
    "bytes that are no text": "\ud800",
    "null": "\0",
}


@pytest.mark.parametrize("name", DEEP)
def test_code_made_to_break_a_parser_costs_one_question_and_little_time(name, grade):
    import time

    # The parser works in this process; the sandbox has limits of its own.
    started = time.process_time()
    found = grade(filled({"q1": HEAD + GOOD + DEEP[name], "q6": RIGHT["q6"]}))
    assert verdict(found, "q1").verdict in ("syntax_error", "error", "crashed", "fail", "pass")
    assert verdict(found, "q6").verdict == "pass"
    assert time.process_time() - started < 20
    as_json(found)
    as_html(found)
