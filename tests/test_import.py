"""What importing seqattn costs, in a fresh interpreter."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_seqattn_pulls_in_no_extra():
    # Compared with torch alone, which may itself import what happens to be installed.
    listing = "import sys; import {}; print(*sys.modules)"
    # All of it: names are imported when they are asked for.
    everything = "seqattn; [getattr(seqattn, name) for name in seqattn.__all__]"
    brought = set(run(listing.format(everything))) - set(run(listing.format("torch, jaxtyping")))
    others = {name.partition(".")[0] for name in brought} - set(sys.stdlib_module_names)
    assert others <= {"seqattn", "torch", "numpy", "jaxtyping"}


def test_names_are_there_before_they_are_imported():
    code = "import seqattn, sys; print('torch' in sys.modules, 'attend' in dir(seqattn), "
    code += "seqattn.attend is seqattn.attention.attend, seqattn.plot_attention.__module__)"
    assert run(code) == ["False", "True", "True", "seqattn.plots.maps"]
    assert run("from seqattn import *; print(attention_entropy.__name__)") == ["attention_entropy"]
    code = "import seqattn\ntry: seqattn.attendd\nexcept AttributeError as error: print(error)"
    assert run(code)[-1] == "'attendd'"


def test_who_translates_does_not_wait_for_what_trains():
    code = "import sys; from seqattn.cli import main; sys.argv[1:] = {}\n"
    code += "try: main()\nexcept SystemExit: print(*sys.modules)"
    modules = run(code.format(["translate", "the dog sleeps"]))
    assert "seqattn.translator" in modules
    assert not [name for name in modules if name.startswith("seqattn.training")]
