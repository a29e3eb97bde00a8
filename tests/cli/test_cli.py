"""The command as a process: what it waits for, and how Ctrl-C ends it."""

import os
import re
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# Presses Ctrl-C when a module is about to be imported, or when it was looked for in vain.
PRESS = """
import signal, sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {moment!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Press())
sys.argv = ["seqattn", *{arguments!r}]
"""
ENTRIES = {
    "script": "from seqattn.cli import main; main()",
    "module": "import runpy; runpy.run_module('seqattn', run_name='__main__')",
}


def start(code, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "moment", ["typer", "seqattn.cli.train", "torch", "torch.nn.functional", "numpy",
               "seqattn.translator", "safetensors"],
)  # fmt: skip
def test_ctrl_c_while_importing_is_one_line(entry, moment):
    arguments = ["translate", "--run", "toy", "the cat"]
    process = start(PRESS.format(moment=moment, arguments=arguments) + ENTRIES[entry])
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "seqattn: interrupted\n")


def test_ctrl_c_while_it_waits_for_a_sentence_is_one_line():
    code = "import sys; sys.argv = ['seqattn', 'translate', '--run', 'toy', '--json']\n"
    # The first sentence is asked for when all is imported.
    code += "import seqattn.data.pairs as lines\nlines.stream_lines = wait\n"
    wait = "def wait(stream, encoding, name):\n    print('ready', flush=True)\n"
    wait += "    yield from (line for line in iter(stream.readline, b''))\n"
    process = start(wait + code + ENTRIES["script"])
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, "seqattn: interrupted\n")


def test_who_ignores_ctrl_c_goes_on():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # as nohup and & do
    code += PRESS.format(
        moment="torch", arguments=["translate", "--run=toy", "the white cat sleeps"]
    )
    process = start(code + ENTRIES["script"])
    out, _ = process.communicate()
    assert (process.returncode, out) == (0, "le chat blanc dort\n")


def test_help_tells_what_is_for_learners_from_what_is_for_instructors():
    out, _ = start(
        "import sys; sys.argv = ['seqattn', '--help']\n" + ENTRIES["script"]
    ).communicate()
    learners, instructors = out.split("For learners")[1].split("For instructors")
    named = r"(?m)^\W*([a-z][a-z-]+) {2,}"
    assert re.findall(named, learners) == [
        *("check", "grade", "progress"),
        *("train", "translate", "evaluate", "compare", "doctor"),
    ]
    assert re.findall(named, instructors) == [
        *("audit", "grade-class", "regrade", "gradescope", "autograder"),
    ]


def test_help_waits_for_no_library_of_numbers():
    code = "import sys; sys.argv = ['seqattn', '--help']\ntry:\n    " + ENTRIES["script"]
    code += "\nfinally: print({'torch', 'numpy', 'matplotlib', 'pydantic'} & {*sys.modules})"
    out, _ = start(code).communicate()
    assert out.splitlines()[-1] == "set()"
