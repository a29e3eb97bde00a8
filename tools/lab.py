"""Open the course in JupyterLab: ``make lab``.

Learners work in ``notebooks/``, which git ignores: plain notebooks (:mod:`tools.plain`), chapters
and exercises side by side. An update brings new versions there and never overwrites what somebody
wrote. Arguments go to JupyterLab: ``python -m tools.lab --no-browser``.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_core.paths import jupyter_data_dir
from nbformat.sign import NotebookNotary

from tools import plain

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
SETTINGS = ROOT / "_build" / "lab"
KERNELS = SETTINGS / "jupyter"  # where Jupyter looks first, see :func:`environment`
# Which version of each notebook was brought last, by the digest of its cells.
RECORD = ".seqattn.json"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
# Nothing covers the page, and nothing asks the network for news.
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    # Else what a run drew cannot be shown any more once its kernel has ended.
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
}


def digest(path: Path) -> str | None:
    """Digest what was written in a notebook, not what it showed; None if it cannot be read."""
    try:
        notebook = nbformat.read(path, as_version=4)
        written = [(cell.cell_type, cell.source) for cell in notebook.cells]
    except Exception:
        return None
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def bring(source: Path, name: str, folder: Path, record: dict[str, str]) -> str | None:
    """Bring one notebook to the learner, unless its newest version was brought before.

    Parameters
    ----------
    source : Path
        The newest version.
    name : str
        Where it goes below ``folder``, such as "chapters/03_additive.ipynb".
    folder : Path
        The learner's.
    record : dict
        What was brought last; changed in place.

    Returns
    -------
    str or None
        What the learner should know: the notebook had been changed, so the new version lies beside.
    """
    path, newest = folder / name, digest(source)
    assert newest is not None, source
    there = digest(path) if path.exists() else None
    brought, record[name] = record.get(name), newest
    if there == newest:
        return None
    if not path.exists() or (there is not None and there == brought):
        _write(source, path)
        return None
    if brought == newest:
        return None
    beside = path.with_suffix(".new.ipynb")
    number = 2
    while beside.exists() and digest(beside) not in (newest, record.get(f"{name} beside")):
        beside = path.with_suffix(f".new{number}.ipynb")
        number += 1
    _write(source, beside)
    record[f"{name} beside"] = newest
    return f"{name} holds your work and was kept; its new version is {beside.name}"


def _write(source: Path, path: Path) -> None:
    """Copy in one step, as this Python's kernel would save it, and sign.

    JupyterLab shows stored figures only of notebooks that it trusts, and marks one as changed, on
    opening it, whose kernel describes itself in other words.
    """
    notebook = nbformat.read(source, as_version=4)
    notebook.metadata.language_info = {
        "codemirror_mode": {"name": "ipython", "version": sys.version_info[0]},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": sys.version.split()[0],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    nbformat.write(notebook, part)
    os.replace(part, path)
    data = Path(jupyter_data_dir())
    data.mkdir(parents=True, exist_ok=True)  # else signatures live in memory only
    NotebookNotary(data_dir=str(data)).sign(nbformat.read(path, as_version=4))


def sync(built: Path, folder: Path = FOLDER) -> list[str]:
    """Bring all notebooks of ``built`` into the learner's folder; give what they should know."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / RECORD
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    if not isinstance(record, dict):
        record = {}
    names = sorted(path.relative_to(built).as_posix() for path in built.rglob("*.ipynb"))
    said = [bring(built / name, name, folder, record) for name in names]
    place.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return [message for message in said if message]


def keep_figures(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
    """Keep what stored outputs show when a notebook is saved whose figures have not run yet.

    JupyterLab saves the figures that its kernel knows, and no others: those that came with the
    notebook would be gone on the next opening. JupyterLab's server calls this before it writes.

    Parameters
    ----------
    model : dict
        What is to be written; changed in place.
    path : str
        Where, below the server's folder.
    contents_manager : ContentsManager
        Who writes.
    """
    if model["type"] != "notebook" or model["content"] is None:
        return
    content = model["content"]
    outputs = [o for cell in content["cells"] for o in cell.get("outputs", ())]
    shown = [o["data"][VIEW]["model_id"] for o in outputs if VIEW in o.get("data", {})]
    widgets = content["metadata"].get("widgets", {}).get(STATE, {"state": {}})
    wanted = [one for one in shown if one not in widgets["state"]]
    try:
        there = json.loads((Path(contents_manager.root_dir) / path).read_text(encoding="utf-8"))
        before = there["metadata"]["widgets"][STATE]
    except (OSError, ValueError, KeyError, TypeError):
        return
    while wanted:
        one = wanted.pop()
        if one in before["state"] and one not in widgets["state"]:
            widgets["state"][one] = before["state"][one]
            wanted += re.findall(r"IPY_MODEL_(\w+)", json.dumps(before["state"][one]))
    if widgets["state"]:
        content["metadata"]["widgets"] = {STATE: before | widgets}


def write_kernel() -> None:
    """Write the kernel of the notebooks: the usual one, but with one thread.

    The models of the course are small. A second thread makes none of their updates much faster,
    and where another program keeps a core busy, each operation waits for it: chapter 3 then takes
    a quarter of an hour instead of a minute. Terminals are not changed, nor what sets its threads.
    """
    place = KERNELS / "kernels" / "python3"
    place.mkdir(parents=True, exist_ok=True)
    kernel = {**get_kernel_dict(), "env": {"OMP_NUM_THREADS": "1"}}
    (place / "kernel.json").write_text(json.dumps(kernel, indent=1), encoding="utf-8")


def command(folder: Path = FOLDER) -> list[str]:
    """Give the command that starts JupyterLab in a folder of plain notebooks."""
    SETTINGS.mkdir(parents=True, exist_ok=True)
    (SETTINGS / "overrides.json").write_text(json.dumps(OVERRIDES), encoding="utf-8")
    write_kernel()
    return [
        sys.executable, "-m", "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        "--FileContentsManager.pre_save_hook=tools.lab.keep_figures",
        # jupytext would read and write a .py beside each notebook; that is for maintainers.
        "--ServerApp.jpserver_extensions={'jupyterlab_jupytext': False}",
        # The front page, beside the folders of chapters and exercises.
        "--LabApp.default_url=/lab/tree/chapters/index.ipynb?file-browser-path=/",
        f"--LabApp.app_settings_dir={SETTINGS}",
        # Named, or a server without a terminal of its own starts login shells, which reset PATH.
        f"--ServerApp.terminado_settings={{'shell_command': ['{os.environ.get('SHELL', 'sh')}']}}",
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Give variables by which terminals and ``!`` find ``seqattn``, and the server our files."""

    def first(one: Path, name: str) -> str:
        return os.pathsep.join(filter(None, (str(one), os.environ.get(name))))

    return os.environ | {
        "PATH": first(Path(sys.executable).parent, "PATH"),
        "PYTHONPATH": first(ROOT, "PYTHONPATH"),
        "JUPYTER_PATH": first(KERNELS, "JUPYTER_PATH"),
    }


def main() -> None:
    """Bring the notebooks, say what was kept, become JupyterLab."""
    plain.write_all()
    for message in sync(plain.OUT):
        print(f"== {message}")
    print(f"== your notebooks are in {FOLDER.relative_to(ROOT)}/ (Ctrl-C stops)", flush=True)
    started = [*command(), *sys.argv[1:]]
    # The folders of the repository have the same names, and terminals would open there.
    os.chdir(FOLDER)
    if os.name == "posix":
        os.execve(started[0], started, environment())
    raise SystemExit(subprocess.run(started, env=environment(), check=False).returncode)


if __name__ == "__main__":
    main()
