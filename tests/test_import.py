"""What importing seqattn costs, in a fresh interpreter."""

import subprocess
import sys


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_seqattn_pulls_in_no_extra():
    # Compared with torch alone, which may itself import what happens to be installed.
    listing = "import sys, {}; print(*sys.modules)"
    brought = set(run(listing.format("seqattn"))) - set(run(listing.format("torch, jaxtyping")))
    others = {name.partition(".")[0] for name in brought} - set(sys.stdlib_module_names)
    assert others <= {"seqattn", "torch", "numpy", "jaxtyping"}
