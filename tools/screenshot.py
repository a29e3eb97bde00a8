"""Make the README's picture from the built book: ``python -m tools.screenshot``.

Needs a Chromium, as the browser tests do.
"""

from pathlib import Path

from tools import build
from tools.browser import browser, serving

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "_assets" / "screenshot.png"


def main() -> None:
    """Build the book, open its first chapter, answer nothing, and take the picture."""
    pages = build.build_pages()
    with browser() as chromium, serving(pages) as address:
        page = chromium.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(f"{address}/chapters/03_additive.html")
        page.wait_for_selector("html[data-widgets=ready]")
        page.wait_for_function("document.fonts.status === 'loaded'")
        page.locator(".sa-fig").first.scroll_into_view_if_needed()
        page.evaluate("document.querySelector('.sa-fig').scrollIntoView({block: 'start'})")
        page.mouse.wheel(0, -140)
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
