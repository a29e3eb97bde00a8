"""Measure how high the live figures of the built book are: ``python -m tools.figure_heights``.

A page keeps a place of that height for each (:mod:`tools.figures`), so that nothing jumps when the
figure is drawn. Needs Chromium and playwright, as the browser tests do.
"""

import json

from playwright.sync_api import Page, Route

from tools import build
from tools.browser import browser, serving
from tools.figures import HEIGHTS

# A phone and a wide screen; between the two a figure's place is as high as on the wide one.
WIDTHS = (390, 1366)
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
    found: dict[str, list[list[int]]] = {}
    with browser() as chromium, serving(pages) as address:
        for name in with_figures:
            heights = []
            for width in WIDTHS:
                page = chromium.new_page(viewport={"width": width, "height": 900})
                wait_for_faces(page)
                page.goto(f"{address}/{name}.html")
                page.wait_for_selector("html[data-widgets=ready]")
                page.wait_for_timeout(500)
                heights.append(page.evaluate(MEASURE))
                page.close()
            found[name] = [list(pair) for pair in zip(*heights, strict=True)]
            print(name, *found[name])
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
    HEIGHTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
