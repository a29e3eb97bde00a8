"""Make the README's picture from the built book: ``python -m tools.screenshot``.

Needs a Chromium, as the browser tests do.
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools import build

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "_assets" / "screenshot.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    """Build the book, open its first chapter, answer nothing, and take the picture."""
    pages = build.build_pages()
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto((pages / "chapters" / "03_additive.html").as_uri())
        page.wait_for_selector("html[data-widgets=ready]")
        page.locator(".sa-fig").first.scroll_into_view_if_needed()
        page.evaluate("document.querySelector('.sa-fig').scrollIntoView({block: 'start'})")
        page.mouse.wheel(0, -140)
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
