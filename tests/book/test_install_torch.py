"""Which PyTorch `make env` takes, and that no dead index keeps anybody waiting."""

import functools
import http.server
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import install_torch

ROOT = Path(__file__).resolve().parents[2]
VERSION = install_torch.pinned()


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine to be set: its system, its driver, its index; and what pip was asked."""
    state = SimpleNamespace(system="Linux", smi=None, answers=True, there=None, asked=[], fails=0)
    monkeypatch.setattr(install_torch, "DRIVER", (tmp_path / "nvidia",))
    monkeypatch.setattr(install_torch.platform, "system", lambda: state.system)
    monkeypatch.setattr(install_torch.shutil, "which", lambda name: state.smi)
    monkeypatch.setattr(install_torch, "answers", lambda index: state.answers)
    monkeypatch.setattr(install_torch, "installed", lambda: state.there)

    def run(command, check):
        state.asked.append(command[command.index(f"torch=={VERSION}") :])
        return SimpleNamespace(returncode=int(len(state.asked) <= state.fails))

    monkeypatch.setattr(install_torch.subprocess, "run", run)
    state.driver = tmp_path / "nvidia"
    return state


FROM_CPU = [f"torch=={VERSION}", "--no-deps", "--index-url", install_torch.CPU_INDEX]
FROM_PIP = [f"torch=={VERSION}", "--constraint", str(ROOT / "constraints.txt")]


def test_linux_without_a_driver_takes_the_build_for_cpus(machine, capsys):
    install_torch.install()
    assert machine.asked == [FROM_CPU]
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("way", ["smi", "driver", "Darwin", "Windows"])
def test_elsewhere_pips_own_index_decides(machine, way):
    if way == "smi":
        machine.smi = "/usr/bin/nvidia-smi"
    elif way == "driver":
        machine.driver.touch()
    else:
        machine.system = way
    with pytest.raises(SystemExit, match=r"^0$"):
        install_torch.install()
    assert machine.asked == [FROM_PIP]


def test_an_index_that_does_not_answer_is_said_in_one_line_and_left(machine, capsys):
    machine.answers = False
    with pytest.raises(SystemExit, match=r"^0$"):
        install_torch.install()
    assert machine.asked == [FROM_PIP]
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "does not answer" in said


def test_an_index_without_the_wheel_is_left_too(machine, capsys):
    machine.fails = 1
    with pytest.raises(SystemExit, match=r"^0$"):
        install_torch.install()
    assert machine.asked == [FROM_CPU, FROM_PIP]
    assert "has no PyTorch" in capsys.readouterr().out


def test_a_failing_pip_fails_the_command(machine):
    machine.fails = 2
    with pytest.raises(SystemExit, match=r"^1$"):
        install_torch.install()


def test_one_word_overrides(machine):
    machine.smi = "/usr/bin/nvidia-smi"
    install_torch.install("cpu")
    install_torch.install("https://mirror.example/whl/cu130/")
    machine.smi = None
    with pytest.raises(SystemExit):
        install_torch.install("default")
    mirror = [*FROM_CPU[:-1], "https://mirror.example/whl/cu130"]
    assert machine.asked == [FROM_CPU, mirror, FROM_PIP]
    with pytest.raises(SystemExit, match="TORCH is 'gpu'; expected cpu, default or the address"):
        install_torch.install("gpu")


def test_what_is_there_stays(machine, capsys):
    machine.there = VERSION
    install_torch.install()
    assert capsys.readouterr().out == ""
    install_torch.install("cpu")
    assert "is there already" in capsys.readouterr().out
    assert machine.asked == []


def test_a_dead_index_costs_a_moment(tmp_path):
    (tmp_path / "torch").mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.log_message = lambda *arguments: None
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        alive = f"http://127.0.0.1:{server.server_port}"
        assert install_torch.answers(alive, 60)
        assert not install_torch.answers(f"{alive}/nothing")
        server.shutdown()
        assert not install_torch.answers(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.2)
    assert not install_torch.answers("https://no-such-host.invalid", 0.2)


def test_it_runs_on_python_alone():
    """The base Python has nothing but its library; so may have the new environment."""
    code = (
        "import sys; sys.argv = ['x']; sys.path.insert(0, 'tools')\n"
        "import install_torch; print(install_torch.pinned())"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == VERSION


def test_make_and_the_readme_and_the_workflows_use_it():
    line = "tools/install_torch.py"
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"{line} $(TORCH)" in make
    for name in ("README.md", "chapters/how_to_use.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text.index(line) < text.index("pip install -c constraints.txt -e")
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        if workflow.stem != "weekly":
            assert "pip install" not in text, "by make, as everybody"
            continue
        # The weekly one takes what is newest, without our pins, and no gigabytes either.
        for job in re.findall(r"(?ms)^  \w+:\n.*?(?=^  \S|\Z)", text):
            installs = re.findall(r"pip install (.*)", job)
            assert not installs or installs[0].endswith("--index-url " + install_torch.CPU_INDEX)
