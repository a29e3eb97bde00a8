"""Build the book into ``_build/html``: the wheel that its notebooks install, then the pages.

Warnings are errors and every cross-reference is checked. A second run that finds nothing changed
takes seconds.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHEELS = ROOT / "_build" / "wheel"


def build_wheel() -> Path:
    """Build the wheel unless the one that is there is newer than everything in it.

    Returns
    -------
    Path
        The wheel.
    """
    inputs = [ROOT / "pyproject.toml", ROOT / "README.md"]
    inputs += [p for p in (ROOT / "seqattn").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    newest = max(path.stat().st_mtime for path in inputs)
    wheels = sorted(WHEELS.glob("seqattn-*.whl"))
    if len(wheels) == 1 and wheels[0].stat().st_mtime > newest:
        return wheels[0]
    for wheel in wheels:
        wheel.unlink()
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(WHEELS)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    return next(WHEELS.glob("seqattn-*.whl"))


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
    shutil.rmtree(output / "_build" / ".doctrees", ignore_errors=True)


def main() -> None:
    """Build wheel and pages."""
    started = time.perf_counter()
    build_wheel()
    pages = build_pages()
    print(f"== built {pages.relative_to(ROOT)}/index.html in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
