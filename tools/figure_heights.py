"""Measure the live figures of the built book, and picture them: ``python -m tools.figure_heights``.

``python -m tools.figure_heights chapters/16_transformer`` does so for one page, or several.

A page keeps a place of its height for each (:mod:`tools.figures`), so that nothing jumps when the
figure is drawn; a reader whose browser runs no scripts sees its picture there. Needs
Chromium and playwright, as the browser tests do.
"""

import argparse
import io
import json
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page

from tools import build, whereabouts
from tools.browser import browser, serving
from tools.figures import HEIGHTS, STILLS, in_notebook, known_heights, stem, still_name

# A phone and a wide screen; between the two a figure's place is as high as on the wide one.
WIDTHS = (390, 1366)
MEASURE = "[...document.querySelectorAll('.sa-fig')].map(f => Math.round(f.offsetHeight))"


# The figure with its answer shown, without what only a script can serve.
FOR_A_PICTURE = """figure => {
    figure.querySelector(".sa-show")?.click();
    for (const element of figure.querySelectorAll(".sa-predict, .sa-foot")) element.remove();
    for (const control of figure.querySelectorAll(".sa-now")) control.classList.remove("sa-now");
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


def take_picture(figure: Locator, path: Path) -> None:
    """Store what stands in for a figure where no script runs.

    Parameters
    ----------
    figure : Locator
        A drawn figure, on a page with reduced motion. It cannot be used afterwards.
    path : Path
        Where to write the picture, as lossless WebP.
    """
    figure.evaluate(FOR_A_PICTURE)
    with Image.open(io.BytesIO(figure.screenshot())) as picture:
        picture.convert("RGB").save(path, lossless=True, method=6)


def head_height(page: Page) -> list[int]:
    """Open the figure at a chapter's head, give its height, and take it away."""
    fold = page.locator(".where > summary")
    if not fold.count():
        return []
    fold.click()
    page.wait_for_selector(".where .sa-fig[data-values]")
    page.wait_for_timeout(300)
    height = page.locator(".where .sa-fig").evaluate("figure => figure.offsetHeight")
    page.locator(".where").evaluate("fold => fold.remove()")
    return [height]


def main() -> None:
    """Open each page that has figures, or was named, at each width; store heights and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="such as chapters/16_transformer; else all")
    chosen = parser.parse_args().page
    pages = build.build_pages()
    with_figures = [
        str(path.relative_to(pages).with_suffix(""))
        for path in sorted(pages.glob("*.html")) + sorted(pages.glob("*/*.html"))
        if 'class="sa-place"' in path.read_text(encoding="utf-8")
    ]
    if unknown := set(chosen) - set(with_figures):
        raise SystemExit(f"{min(unknown)} is no page with a live figure: {', '.join(with_figures)}")
    measured = chosen or with_figures
    known = known_heights()
    kept = [*with_figures, *map(whereabouts.key, with_figures)]
    found = {name: known[name] for name in kept if name in known}
    STILLS.mkdir(exist_ok=True)
    with browser() as chromium, serving(pages) as address:
        for name in measured:
            for old in STILLS.glob(f"{stem(name)}-*.webp"):
                old.unlink()
            heights, heads = [], []
            for width in WIDTHS:
                page = chromium.new_page(
                    viewport={"width": width, "height": 900}, reduced_motion="reduce"
                )
                page.goto(f"{address}/{name}.html")
                page.wait_for_selector("html[data-widgets=ready]")
                page.wait_for_function("document.fonts.status === 'loaded'")
                page.wait_for_timeout(500)
                heights.append(page.evaluate(MEASURE))
                heads += head_height(page)
                if width == max(WIDTHS):
                    drawn = page.locator(".sa-fig").all()
                    known_to = in_notebook(build.ROOT / f"{name}.ipynb")
                    for i, (figure, (_, traits)) in enumerate(zip(drawn, known_to, strict=True)):
                        take_picture(figure, STILLS / still_name(name, i, traits))
                page.close()
            found[name] = [list(pair) for pair in zip(*heights, strict=True)]
            if heads:
                found[whereabouts.key(name)] = [heads]
            print(name, *found[name])
            lines = ",\n".join(
                f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(found.items())
            )
            HEIGHTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
