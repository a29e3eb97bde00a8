"""Install the pinned PyTorch: on Linux without an NVIDIA driver the build for CPUs alone.

``.venv/bin/python tools/install_torch.py [cpu | default | URL]``, before everything else. The usual
build for Linux brings NVIDIA's libraries along, gigabytes that nothing here could use. Where
PyTorch's own index cannot be reached, pip's index is used, as it is for ``default``; a URL names
another index that has PyTorch's wheels. Needs nothing but Python and its pip.
"""

import platform
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 5.0  # seconds in which an index has to answer
# Where NVIDIA's driver shows itself, the last in Windows' subsystem for Linux.
DRIVER = tuple(
    map(Path, ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/usr/lib/wsl/lib/nvidia-smi"))
)


def pinned(constraints: Path = ROOT / "constraints.txt") -> str:
    """Give the version of PyTorch that the course was tested with."""
    found = re.search(r"^torch==(\S+)", constraints.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{constraints} does not pin torch; expected a line such as torch==2.13.0")
    return found[1]


def has_driver() -> bool:
    """Tell whether this machine has a driver for NVIDIA's GPUs."""
    return shutil.which("nvidia-smi") is not None or any(path.exists() for path in DRIVER)


def choose(wanted: str) -> str | None:
    """Give the index to install from, or None for pip's own.

    Parameters
    ----------
    wanted : str
        "cpu", "default", the address of an index, or "" to decide by the machine: wheels for macOS
        and Windows are for CPUs anyway.
    """
    if wanted == "cpu":
        return CPU_INDEX
    if wanted == "default":
        return None
    if re.match(r"(https?|file)://", wanted):
        return wanted.rstrip("/")
    if wanted:
        raise SystemExit(f"TORCH is {wanted!r}; expected cpu, default or the address of an index")
    return CPU_INDEX if platform.system() == "Linux" and not has_driver() else None


def answers(index: str, patience: float = PATIENCE) -> bool:
    """Tell whether an index has a page for PyTorch, in bounded time whatever the network does."""
    found: list[bool] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index}/torch/", timeout=patience):
                found.append(True)
        except (OSError, ValueError):
            # A proxy that wants a password, a refused connection, no such name: pip may try.
            pass

    # urlopen's own limit does not cover the look-up of the name.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(patience)
    return bool(found)


def installed() -> str | None:
    """Give the version of PyTorch that is there, without the build's name."""
    try:
        return metadata.version("torch").partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def install(wanted: str = "") -> None:
    """Install PyTorch, if the pinned version is not there; say in one line what is taken."""
    version, index = pinned(), choose(wanted)
    if installed() == version:
        if wanted:
            print(f"== PyTorch {version} is there already; for another build remove .venv first")
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip.append(f"torch=={version}")
    if index is not None:
        build = "the build for CPUs" if index == CPU_INDEX else "the build"
        if not answers(index):
            print(f"== {index} does not answer: PyTorch {version} comes from pip's own index")
        else:
            print(f"== PyTorch {version}: {build} from {index}", flush=True)
            # What PyTorch needs comes later, from pip's own index and pinned.
            if not subprocess.run(
                [*pip, "--no-deps", "--index-url", index], check=False
            ).returncode:
                return
            print(f"== {index} has no PyTorch {version} for this machine: pip's own index has")
    else:
        print(f"== PyTorch {version}: the build of pip's own index", flush=True)
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    raise SystemExit(subprocess.run([*pip, *constraints], check=False).returncode)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        raise SystemExit(__doc__)
    install(*sys.argv[1:])
