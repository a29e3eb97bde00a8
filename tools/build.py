"""Build the book into ``_build/html``: the wheel that its notebooks install, then the pages.

Warnings are errors and every cross-reference is checked. A second run that finds nothing changed
takes seconds.

``python -m tools.build wheels`` builds two wheels alone: one for instructors, which grades, and one
for students of a course that is graded for marks, which holds no answers. With
``SEQATTN_EDITION=students`` the book offers the latter.
"""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from tools import address
from tools.wheel import EDITIONS, edition

ROOT = Path(__file__).resolve().parents[1]


def wheels(chosen: str | None = None) -> Path:
    """Give the folder for the wheel of an edition; ``SEQATTN_EDITION`` says which if not told."""
    chosen = chosen or edition()
    return ROOT / "_build" / ("wheel" if chosen == "instructors" else f"wheel-{chosen}")


def build_wheel(chosen: str | None = None) -> Path:
    """Build the wheel unless the one that is there is newer than everything in it.

    Parameters
    ----------
    chosen : str, optional
        ``instructors``, which grades, or ``students``, which holds no answers.

    Returns
    -------
    Path
        The wheel.
    """
    chosen = chosen or edition()
    folder = wheels(chosen)
    inputs = [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "tools" / "wheel.py"]
    inputs += [p for p in (ROOT / "seqattn").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    newest = max(path.stat().st_mtime for path in inputs)
    there = sorted(folder.glob("seqattn-*.whl"))
    if len(there) == 1 and there[0].stat().st_mtime > newest and _leads_to(there[0]):
        return there[0]
    for wheel in there:
        wheel.unlink()
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    environment = os.environ | {"SEQATTN_EDITION": chosen}
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, env=environment)
    return next(folder.glob("seqattn-*.whl"))


def _leads_to(wheel: Path) -> bool:
    """Say whether a wheel knows the address that the book has now."""
    with zipfile.ZipFile(wheel) as archive:
        try:
            return archive.read("seqattn/grading/address.txt").decode() == address.book()
        except KeyError:
            return False


def build_pages(output: Path = ROOT, **environment: str) -> Path:
    """Build the pages with jupyter-book into ``output/_build/html``; exit if it warns or fails.

    Parameters
    ----------
    output : Path
        Folder to build below.
    **environment : str
        Variables to set, such as ``SEQATTN_PUBLISH_REPOSITORY="owner/name"``.

    Returns
    -------
    Path
        The folder with the pages.
    """
    index = output / "_build" / "html" / "searchindex.js"
    everywhere = [*(ROOT / "_assets").rglob("*"), ROOT / "_toc.yml"]
    changed = max(path.stat().st_mtime for path in everywhere)
    if index.is_file() and changed > index.stat().st_mtime:
        # Sphinx writes the pages that changed. But style sheets and pictures are copied only when a
        # page is written, and the table of contents stands beside every page.
        _forget(output)
    run = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", run, "build", str(ROOT)]
    command += ["--path-output", str(output), "-W", "-n", "--keep-going", "-q"]
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    status = subprocess.run(command, env=variables, cwd=ROOT, check=False).returncode
    if status:
        # Sphinx warns about a page only when it reads it. Forget what was read, so that the same
        # warning comes again until its cause is gone.
        _forget(output)
        raise SystemExit("the book was not built: see the messages above")
    return output / "_build" / "html"


def _forget(output: Path) -> None:
    # The pages of the source too: Sphinx writes them when the source changes, not when what they
    # link to moves to another page.
    for folder in (".doctrees", "html/_modules"):
        shutil.rmtree(output / "_build" / folder, ignore_errors=True)


def main() -> None:
    """Build wheel and pages, or the wheels of all editions."""
    if sys.argv[1:] == ["wheels"]:
        for chosen in EDITIONS:
            print(f"for {chosen}: {build_wheel(chosen).relative_to(ROOT)}")
        return
    started = time.perf_counter()
    build_wheel()
    pages = build_pages()
    print(f"== built {pages.relative_to(ROOT)}/index.html in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
