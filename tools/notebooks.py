"""Chapters: from the edited ``NN_name.py`` to the executed ``NN_name.ipynb``, reproducibly.

``python -m tools.notebooks execute [NN ...]`` runs each chapter in an empty folder and stores what
it shows; running twice changes nothing. ``python -m tools.notebooks drift`` says which notebooks no
longer match their source, without running anything. ``python -m tools.notebooks prose [NN ...]``
renews what stands between the code, and the scripts of live figures, and runs nothing either.
"""

import argparse
import copy
import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools import claims, figures

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# The first code cell of every notebook. Publishing fills in WHEEL (tools/plain.py).
INSTALL_CELL = """\
# On Colab, or wherever the course's package is missing, install it. Elsewhere this does nothing.
import importlib.util
import subprocess
import sys

WHEEL = ""
if importlib.util.find_spec("seqattn") is None:
    if not WHEEL:
        raise ModuleNotFoundError("No seqattn here: run `make lab`, or pip install its wheel.")
    command = [sys.executable, "-m", "pip", "install", "-q", f"seqattn[course] @ {WHEEL}"]
    subprocess.run(command, check=True)"""


def read_source(path: Path) -> NotebookNode:
    """Read a py:percent chapter as a notebook with the install cell and stable cell ids.

    An id depends on the cell's own text alone, so that inserting a cell renames no other.
    """
    notebook = jupytext.read(path, fmt="py:percent")
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        if "install" in cell.metadata.get("tags", []):
            cell.source = INSTALL_CELL
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:10]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
        language_info=NotebookNode(name="python"),
        jupytext=NotebookNode(formats="ipynb,py:percent"),
        seqattn=notebook.metadata.get("seqattn", NotebookNode()),
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def execute(notebook: NotebookNode, *, timeout: int = 4 * 3600) -> NotebookNode:
    """Run a notebook in an empty folder and return it with clean outputs.

    Parameters
    ----------
    notebook : NotebookNode
        A notebook from :func:`read_source`.
    timeout : int
        Seconds allowed for one cell, and for the start of the kernel.
    """
    notebook = claims.with_takers(copy.deepcopy(notebook))
    # The kernel inherits these. Same hash seed, same thread count: same text on every run.
    os.environ |= {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=timeout,
            startup_timeout=timeout,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            store_widget_state=True,
            record_timing=False,
            extra_arguments=["--IPKernelApp.log_level=40"],
        )
        client.execute()
    _clean_outputs(notebook)
    notebook = claims.settle(notebook)
    _settle_widgets(notebook)
    return notebook


def renew_prose(stored: NotebookNode, fresh: NotebookNode) -> NotebookNode | None:
    """Give a stored notebook the prose of its source, and keep what its code showed.

    Prose is what stands between the code, and what a picture is called for those who cannot see it;
    tags that hide an output or keep it from being compared go with it. Live figures get the script
    and the style that they have now.
    None if the code differs, or if prose asks for a value that was not asked for before: then it
    has to run again.
    """

    def code(notebook: NotebookNode) -> list[NotebookNode]:
        return [cell for cell in notebook.cells if cell.cell_type == "code"]

    def essence(cell: NotebookNode) -> tuple[str, dict[str, Any]]:
        # An id is that of its text. Some tags say only how the page hides what the code showed, or
        # that nobody compares it.
        tags = [t for t in cell.metadata.get("tags", []) if not t.startswith(("hide-", "nbval-"))]
        rest = {k: v for k, v in cell.metadata.items() if k not in ("mystnb", "tags")}
        return cell.id, {**rest, "tags": tags}

    if list(map(essence, code(stored))) != list(map(essence, code(fresh))):
        return None
    if not claims.take_over(fresh, stored):
        return None
    renewed, shown = copy.deepcopy(stored), iter(copy.deepcopy(code(stored)))
    renewed.metadata.seqattn = fresh.metadata.seqattn
    renewed.cells = [
        NotebookNode(next(shown), metadata=cell.metadata) if cell.cell_type == "code" else cell
        for cell in fresh.cells
    ]
    renew_figures(renewed)
    return renewed


def renew_figures(notebook: NotebookNode) -> int:
    """Give the live figures of a stored notebook the script and the style that they have now.

    What a figure shows stays: its state is what the code made. A figure whose state has changed in
    kind has to be made anew.

    Parameters
    ----------
    notebook : NotebookNode
        With stored widgets, or none. It is changed.

    Returns
    -------
    int
        How many figures were not up to date.
    """
    stored = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {"state": {}})
    kinds, renewed = figures.kinds(), 0
    for model in stored["state"].values():
        state = model["state"]
        kind = kinds.get(str(state.get("_anywidget_id", "")).rpartition(".")[2])
        if kind is None:
            continue
        now = {"_esm": kind._esm, "_css": kind._css}
        renewed += any(state.get(name) != text for name, text in now.items())
        state.update(now)
    return renewed


def _clean_outputs(notebook: NotebookNode) -> None:
    """Drop what differs from run to run and join the pieces in which streams arrive."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.metadata.pop("execution", None)
        joined: list[NotebookNode] = []
        for output in cell.outputs:
            last = joined[-1] if joined else None
            if (
                output.output_type == "stream"
                and last is not None
                and last.output_type == "stream"
                and last.name == output.name
            ):
                last.text += output.text
            else:
                joined.append(output)
        cell.outputs = joined


def _settle_widgets(notebook: NotebookNode) -> None:
    """Keep the widgets that are on show and number them in reading order.

    Model ids are random. Renumbered by first appearance, they are the same in every run.
    """
    stored = notebook.metadata.get("widgets", {}).get(WIDGET_STATE)
    if not stored:
        notebook.metadata.pop("widgets", None)
        return
    models = stored["state"]
    order: list[str] = []

    def visit(model_id: str) -> None:
        if model_id in models and model_id not in order:
            order.append(model_id)
            text = json.dumps(models[model_id].get("state", {}), sort_keys=True)
            for child in re.findall(r"IPY_MODEL_([0-9a-f]+)", text):
                visit(child)

    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(WIDGET_VIEW)
            if view:
                visit(view["model_id"])
    # Links (jslink) are shown by no view but join widgets that are.
    for model_id in sorted(models, key=lambda m: json.dumps(models[m], sort_keys=True)):
        refers = re.findall(r"IPY_MODEL_([0-9a-f]+)", json.dumps(models[model_id]))
        if "Link" in models[model_id]["model_name"] and set(refers) & set(order):
            visit(model_id)

    names = {old: f"{number:032x}" for number, old in enumerate(order, start=1)}
    text = json.dumps({old: models[old] for old in order})
    for old, new in names.items():
        text = text.replace(old, new)
    stored["state"] = json.loads(text)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(WIDGET_VIEW)
            if view:
                view["model_id"] = names[view["model_id"]]


def sources(only: list[str] | None = None) -> list[Path]:
    """List the sources, front page first, appendices last: all, or those with a given prefix."""
    paths = [CHAPTERS / "index.py", *sorted(CHAPTERS.glob("[0-9][0-9]_*.py"))]
    paths += sorted(set(CHAPTERS.glob("*.py")) - set(paths))
    if not only:
        return paths
    chosen = [p for p in paths if p.name.startswith(tuple(only))]
    if not chosen:
        known = ", ".join(p.stem for p in paths)
        raise SystemExit(f"no chapter starts with {' or '.join(only)}; there are: {known}")
    return chosen


def write(notebook: NotebookNode, path: Path) -> bool:
    """Write a notebook if it differs from what is there; return whether it did."""
    text = nbformat.writes(notebook, indent=1) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def drift(path: Path) -> str | None:
    """Say in one line how a stored notebook differs from its source, or None if it does not."""
    stored_path = path.with_suffix(".ipynb")
    again = f"run `make execute ONLY={path.name[:2]}`"
    if not stored_path.exists():
        return f"{stored_path.name} is missing: {again}"
    stored, fresh = nbformat.read(stored_path, as_version=4), read_source(path)
    if not claims.take_over(fresh, stored):
        return f"{stored_path.name} has no value for a placeholder of {path.name}: {again}"

    def essence(notebook: NotebookNode) -> list:
        return [(c.id, c.cell_type, c.source, dict(c.metadata)) for c in notebook.cells]

    if essence(stored) != essence(fresh) or stored.metadata.get("seqattn") != fresh.metadata.get(
        "seqattn"
    ):
        return (
            f"{stored_path.name} is older than {path.name}: {again} (where text alone changed, "
            f"`make prose ONLY={path.name[:2]}` does)"
        )
    if any(c.cell_type == "code" and c.source and c.execution_count is None for c in stored.cells):
        return f"{stored_path.name} has cells that were never run: {again}"
    if renew_figures(stored):
        return (
            f"{stored_path.name} has live figures with the script or the style of before: run "
            f"`make prose ONLY={path.name[:2]}`"
        )
    return None


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["execute", "prose", "drift"])
    parser.add_argument("only", nargs="*", help="how names begin, such as 03")
    arguments = parser.parse_args()
    if arguments.command == "drift":
        stale = [message for path in sources(arguments.only) if (message := drift(path))]
        print("\n".join(stale) or "notebooks match their sources")
        sys.exit(bool(stale))
    for path in sources(arguments.only):
        stored, made = path.with_suffix(".ipynb"), read_source(path)
        if arguments.command == "prose":
            renewed = renew_prose(nbformat.read(stored, as_version=4), made)
            if renewed is None:
                raise SystemExit(
                    f"{path.name}: its code changed: make execute ONLY={path.name[:2]}"
                )
            made = renewed
        else:
            print(f"{path.stem}: running", flush=True)
            made = execute(made)
        changed = write(made, stored)
        print(f"{path.stem}: {'stored' if changed else 'unchanged'}")


if __name__ == "__main__":
    main()
