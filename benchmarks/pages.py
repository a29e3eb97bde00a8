"""Weigh and time the pages of the built book: ``python -m benchmarks.pages``.

In Chromium, each page visited for the first time: kilobytes (uncompressed, and as ``make book``
serves them), kilobytes of script, requests, elements, how far the layout jumps, when the first live
figure is drawn, and how long after a key the figure is painted with the processor four times slowed
down. Times are of this machine; the weights are held by tests/browser/test_weight.py.
"""

import statistics
from typing import Any

from playwright.sync_api import Browser

from tools import build
from tools.browser import browser, serving

PAGES = [
    "chapters/index",
    "chapters/02_soft_addressing",
    "chapters/03_additive",
    "chapters/19_judge",
    "exercises/03_additive",
    "chapters/how_to_use",
]
WATCH = """
window.moved = 0; window.painted = [];
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });
new MutationObserver((_, observer) => {
    if (document.querySelector(".sa-fig[data-values]")) {
        window.ready = performance.now(); observer.disconnect();
    }
}).observe(document, { subtree: true, childList: true, attributes: true });
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.painted.push(entry.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
KEYS = 40


def look(browser: Browser, address: str) -> dict[str, Any]:
    """Visit a page for the first time at 1366 pixels; return what it cost."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.add_init_script(WATCH)
    came: list[Any] = []
    page.on("requestfinished", lambda request: came.append(request))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    sizes = [(r.resource_type, len(r.response().body()), r.sizes()) for r in came]
    found = {
        "kB": sum(size for _, size, _ in sizes) / 1000,
        "sent kB": sum(sent["responseBodySize"] for *_, sent in sizes) / 1000,
        "script kB": sum(size for kind, size, _ in sizes if kind == "script") / 1000,
        "requests": len(sizes),
        "elements": page.evaluate("document.querySelectorAll('*').length"),
        "jumps": page.evaluate("window.moved"),
        "figure ms": page.evaluate("window.ready ?? NaN"),
        "key to paint ms": float("nan"),
    }
    slider = page.locator(".sa-fig input[type=range]").first
    if slider.count():
        slider.scroll_into_view_if_needed()
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        slider.focus()
        page.evaluate("window.painted = []")
        for i in range(KEYS):
            page.keyboard.press("ArrowRight" if i % 2 else "ArrowLeft")
            page.wait_for_timeout(30)
        # The browser reports nothing that took less than a frame.
        times = [*page.evaluate("window.painted"), *[16.0] * KEYS][: max(KEYS, 1)]
        found["key to paint ms"] = statistics.quantiles(times, n=20)[-1]
    page.close()
    return found


def main() -> None:
    """Print the table."""
    with browser() as chromium, serving(build.build_pages()) as address:
        for i, name in enumerate(PAGES):
            found = look(chromium, f"{address}/{name}.html")
            if not i:
                print(f"{'page':28}", *(f"{title:>16}" for title in found))
            numbers = (f"{v:16,.3f}" if k == "jumps" else f"{v:16,.0f}" for k, v in found.items())
            print(f"{name:28}", *numbers, flush=True)


if __name__ == "__main__":
    main()
