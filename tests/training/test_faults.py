"""The tool that kills trainings: a short run of it, and that it would notice a fault."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.test_trainer import prepare
from tools import faults

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_been():
    done = subprocess.run(
        [sys.executable, "-m", "tools.faults", "--kills", "6"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    assert "6 kills: every checkpoint readable, every run resumed" in done.stdout


def test_the_tool_sees_a_weight_a_log_line_and_a_file_that_differ(tmp_path):
    for name in ("one", "two"):
        prepare(tmp_path, name, average=2).run()
    one, two = (faults.remains(tmp_path / name) for name in ("one", "two"))
    assert faults.differences(one, two) == []
    weight = next(name for name in one if name.startswith("last.safetensors model."))
    two[weight] = two[weight] + 1e-7 * torch.ones_like(two[weight])
    del two["log 3"]
    two["best.safetensors header"] = {**two["best.safetensors header"], "fingerprint": 1}
    assert set(faults.differences(one, two)) == {weight, "log 3", "best.safetensors header"}


def test_the_tool_sees_a_checkpoint_that_cannot_be_read(tmp_path):
    prepare(tmp_path).run()
    assert faults.check(tmp_path / "run") == 12
    last = tmp_path / "run" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-9])
    with pytest.raises(OSError, match="is no checkpoint"):
        faults.check(tmp_path / "run")
