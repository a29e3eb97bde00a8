"""Run the beginning of every notebook with the libraries that are here: ``python -m tools.colab``.

Colab has its own torch and an ipywidgets of years ago, so what runs with our pins need not run
there. In an environment with such versions this runs each notebook's cells down to its first live
figure, in an empty folder, and looks at what the figure hands to the page: the view that moves, and
the sentence that stands in its place where no view can be drawn.
"""

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.notebooks import ROOT, WIDGET_VIEW

FALLBACK = "A live figure."
TIMEOUT = 30 * 60


def beginning(notebook: NotebookNode) -> NotebookNode:
    """Return the cells down to the first stored live figure; all of them where there is none."""
    for position, cell in enumerate(notebook.cells):
        if any(WIDGET_VIEW in output.get("data", {}) for output in cell.get("outputs", [])):
            notebook.cells = notebook.cells[: position + 1]
            break
    return notebook


def figure_of(cell: NotebookNode) -> dict[str, object] | None:
    """Return what a cell showed as a live figure, by MIME type."""
    found = [o.data for o in cell.get("outputs", []) if WIDGET_VIEW in o.get("data", {})]
    return found[-1] if found else None


def run(path: Path) -> str:
    """Run the beginning of one notebook.

    Returns
    -------
    str
        What its figure handed over.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    ValueError
        If the figure has no view, or no sentence to stand in its place.
    """
    notebook = nbformat.read(path, as_version=4)
    # An exercise has no figure, and its answers are the reader's: its imports have to work.
    stored = beginning(notebook)
    expected = figure_of(stored.cells[-1]) is not None
    if not expected:
        stored.cells = [cell for cell in stored.cells if cell.cell_type == "code"][:2]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            stored,
            timeout=TIMEOUT,
            resources={"metadata": {"path": folder}},
            store_widget_state=False,
        )
        client.execute()
    shown = figure_of(stored.cells[-1])
    if not expected:
        return "imports"
    if shown is None:
        raise ValueError(f"{path.name}: its first live figure shows no view with these libraries")
    text = str(shown.get("text/plain", ""))
    if FALLBACK not in text:
        raise ValueError(
            f"{path.name}: where no view can be drawn its figure shows {text!r}; expected a "
            f"sentence that begins {FALLBACK!r}"
        )
    return text


def main() -> None:
    """Run all notebooks; exit with an error where one fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="parts of names, such as 02; default: all")
    only = parser.parse_args().only
    print(", ".join(f"{name} {version(name)}" for name in ("torch", "ipywidgets", "anywidget")))
    failed = []
    paths = [
        p for folder in ("chapters", "exercises") for p in sorted((ROOT / folder).glob("*.ipynb"))
    ]
    for path in paths:
        if only and not any(part in path.name for part in only):
            continue
        try:
            print(f"{path.name}: {run(path)}", flush=True)
        except Exception as error:  # whatever it is, the other notebooks are tried too
            failed.append(path.name)
            print(f"{path.name}: FAILED\n{error}", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
