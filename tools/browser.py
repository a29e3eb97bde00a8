"""The browser of tools and tests: whichever Chromium is installed, with the book served to it."""

import functools
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

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


def wait_for_faces(pages: Page | BrowserContext) -> None:
    """Let a face of the book take its place however late it comes.

    The book leaves one that is not there in time to the next page. What is measured here must not
    depend on how busy the machine is.
    """

    def put(route: Route) -> None:
        answer = route.fetch()
        style = answer.text().replace("font-display:optional", "font-display:swap")
        route.fulfill(response=answer, body=style)

    pages.route(re.compile(r"/_static/(?:text|cells|book)\.css$"), put)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on a free local port, as ``make book`` does, and give its address."""
    handler = functools.partial(serve.Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
