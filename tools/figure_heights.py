"""Measure how high the live figures of the built book are: ``python -m tools.figure_heights``.

A page keeps a place of that height for each (:mod:`tools.figures`), so that nothing jumps when the
figure is drawn. Needs Chromium and playwright, as the browser tests do.
"""

import functools
import http.server
import json
import shutil
import threading

from playwright.sync_api import Page, Route, sync_playwright

from tools import build, serve
from tools.figures import HEIGHTS

# A phone and a wide screen; between the two a figure's place is as high as on the wide one.
WIDTHS = (390, 1366)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MEASURE = "[...document.querySelectorAll('.sa-fig')].map(f => Math.round(f.offsetHeight))"


def wait_for_faces(page: Page) -> None:
    """Have a page wait for its faces; by itself it goes on without one that comes late."""

    def patient(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(
            response=answer, body=answer.text().replace("display: optional", "display: block")
        )

    page.route("**/book.css", patient)


def main() -> None:
    """Open each page that has figures at each width; store their heights."""
    pages = build.build_pages()
    with_figures = [
        str(path.relative_to(pages).with_suffix(""))
        for path in sorted(pages.glob("*.html")) + sorted(pages.glob("*/*.html"))
        if 'class="sa-place"' in path.read_text(encoding="utf-8")
    ]
    handler = functools.partial(serve.Handler, directory=str(pages))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found: dict[str, list[list[int]]] = {}
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in with_figures:
            heights = []
            for width in WIDTHS:
                page = browser.new_page(viewport={"width": width, "height": 900})
                wait_for_faces(page)
                page.goto(f"http://127.0.0.1:{server.server_address[1]}/{name}.html")
                page.wait_for_selector("html[data-widgets=ready]")
                page.wait_for_timeout(500)
                heights.append(page.evaluate(MEASURE))
                page.close()
            found[name] = [list(pair) for pair in zip(*heights, strict=True)]
            print(name, *found[name])
        browser.close()
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
    HEIGHTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
