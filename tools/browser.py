"""The browser of tools and tests: whichever Chromium is installed, with the book served to it."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tools import serve

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed() -> str | None:
    """Give the path of a Chromium, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a headless Chromium; exit with a sentence where there is none."""
    path = installed()
    if path is None:
        raise SystemExit(f"no browser: none of {', '.join(NAMES)} is installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class PatientHandler(serve.Handler):
    """Serve the book so that a font takes its place however late it comes.

    As readers get it, one that is not there in time is left to the next page. What is measured must
    not depend on how busy the machine is.
    """

    def content(self, path: Path) -> bytes:
        """Give a file; in style sheets, no font is optional."""
        return super().content(path).replace(b"font-display:optional", b"font-display:swap")


@contextmanager
def serving(folder: Path, patient: bool = True) -> Iterator[str]:
    """Serve a folder on a free local port and give its address; as ``make book`` if not patient."""
    kind = PatientHandler if patient else serve.Handler
    handler = functools.partial(kind, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
