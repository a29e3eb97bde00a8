"""Weigh and time the pages of the built book against its bars: ``python -m benchmarks.pages``.

    python -m benchmarks.pages                            # the pages below
    python -m benchmarks.pages chapters/01_bottleneck     # others
    python -m benchmarks.pages --sizes                    # what depends on no clock
    python -m benchmarks.pages --lighthouse               # and Lighthouse's scores, through npx
    python -m benchmarks.pages --save before.json         # ... change something ...
    python -m benchmarks.pages --before before.json       # old numbers beside the new ones

In Chromium, each page visited for the first time at 1366 pixels: kilobytes of all that it asks for,
uncompressed, and as ``make book`` serves them; kilobytes of script; requests; elements; how far the
layout jumps; when the first live figure is drawn; and, with the processor four times slowed down,
how long after a key its figure is painted, for 19 of 20 keys. A number over its bar has an ``!``.
Times are medians of three visits, and of this machine; weights and jumps are held by
``tests/browser/test_weight.py`` and ``tests/book/test_pages.py``.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tools import build
from tools.browser import browser, installed, serving

PAGES = [
    "chapters/index",
    "chapters/01_bottleneck",
    "chapters/03_additive",
    "chapters/04_multiplicative",
    "chapters/11_coverage",
    "chapters/16_transformer",
    "chapters/18_build",
    "chapters/20_study",
    "chapters/notation",
    "chapters/map",
    "chapters/api_core",
    "chapters/api_maps",
    "exercises/06_decoder",
]
# A page with a live figure, and one without.
BARS = {
    "figures": {
        "kB": 900,
        "script kB": 350,
        "requests": 40,
        "jumps": 0.02,
        "figure ms": 700,
        "key ms": 50,
    },
    "text": {"kB": 350, "requests": 25, "jumps": 0.02},
}
# Lighthouse's scores, which have to be as large at least.
SCORES = {"desktop": 95, "mobile": 85, "access": 100}
# The newest that runs on Node 20.
LIGHTHOUSE = "lighthouse@12.8.2"
VISITS = 3
KEYS = 40
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
    for (const { name, duration } of list.getEntries()) {
        if (name === "keydown") window.painted.push(duration);
    }
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""


def visit(chromium: Browser, address: str, *, timed: bool) -> dict[str, Any]:
    """Visit a page for the first time; return what it cost."""
    page = chromium.new_page(viewport={"width": 1366, "height": 900})
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
    }
    if timed and (ready := page.evaluate("window.ready")) is not None:
        found["figure ms"] = ready
        if (late := after_a_key(page)) is not None:
            found["key ms"] = late
    page.close()
    return found


def after_a_key(page: Page) -> float | None:
    """Press arrow keys on the first slider that waits for no answer; give the 95th percentile."""
    slider = page.locator(".sa-fig input[type=range]:enabled").first
    if not slider.count():
        return None
    slider.scroll_into_view_if_needed()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    slider.focus()
    page.wait_for_timeout(500)
    page.evaluate("window.painted = []")
    for i in range(KEYS):
        page.keyboard.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
        page.wait_for_timeout(60)
    # The browser reports nothing that took less than a frame.
    times = [*page.evaluate("window.painted"), *[16.0] * KEYS][:KEYS]
    return statistics.quantiles(times, n=20)[-1]


def look(chromium: Browser, address: str, *, timed: bool) -> dict[str, Any]:
    """Visit a page some times; give the median of each number."""
    visits = [visit(chromium, address, timed=timed) for _ in range(VISITS if timed else 1)]
    return {name: statistics.median(found[name] for found in visits) for name in visits[0]}


def scores(address: str) -> dict[str, float]:
    """Ask Lighthouse for a page's scores, of 100; the median of some runs."""
    found: dict[str, list[float]] = {}
    for face, options in (("desktop", ["--preset=desktop"]), ("mobile", [])):
        for _ in range(VISITS):
            report = lighthouse(address, *options)["categories"]
            found.setdefault(face, []).append(report["performance"]["score"])
            found.setdefault("access", []).append(report["accessibility"]["score"])
    # The worst for what does not depend on time.
    middle = {name: min if name == "access" else statistics.median for name in found}
    return {name: 100 * middle[name](values) for name, values in found.items()}


def lighthouse(address: str, *options: str) -> dict[str, Any]:
    """Run Lighthouse once; give its report.

    Raises
    ------
    SystemExit
        If there is no ``npx``, or Lighthouse does not run.
    """
    npx = shutil.which("npx")
    if npx is None:
        raise SystemExit(
            "--lighthouse needs npx, which comes with Node 18.16 or newer (nodejs.org, or your "
            f"system's packages nodejs and npm); it fetches {LIGHTHOUSE} itself, once"
        )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [npx, "--yes", LIGHTHOUSE, address, *options, "--quiet", "--output=json"]
        command += [f"--output-path={report}", "--only-categories=performance,accessibility"]
        command += ["--chrome-flags=--headless=new --no-sandbox"]
        environment = os.environ | {"CHROME_PATH": installed() or ""}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not report.is_file():
            raise SystemExit(f"{LIGHTHOUSE} did not run:\n{done.stderr.strip()[-2000:]}")
        found = json.loads(report.read_text(encoding="utf-8"))
    if error := found.get("runtimeError"):
        raise SystemExit(f"{LIGHTHOUSE} found no page: {error['message']}")
    return found


def number(name: str, value: float | None) -> str:
    """Spell a number as its column does."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.3f}" if name == "jumps" else f"{value:,.0f}"


def over(name: str, value: float | None, bars: dict[str, float]) -> bool:
    """Say whether a number is on the wrong side of its bar."""
    if value is None:
        return False
    return value < SCORES[name] if name in SCORES else value > bars.get(name, math.inf)


def row(
    found: dict[str, float], before: dict[str, float], bars: dict[str, float], names: list[str]
) -> list[str]:
    """Spell a page's numbers, each behind the one that it had before."""
    cells = []
    for name in names:
        value = found.get(name)
        cell = number(name, value) + ("!" if over(name, value, bars) else "")
        cells.append(f"{number(name, before[name])} → {cell}" if name in before else cell)
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", default=PAGES, help="such as chapters/01_bottleneck")
    parser.add_argument("--sizes", action="store_true", help="leave out what depends on time")
    parser.add_argument("--lighthouse", action="store_true", help=f"run {LIGHTHOUSE} by npx")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the numbers there")
    parser.add_argument("--before", type=Path, metavar="FILE", help="numbers that were saved")
    chosen = parser.parse_args()
    before = json.loads(chosen.before.read_text(encoding="utf-8")) if chosen.before else {}
    built = build.build_pages()
    if unknown := [name for name in chosen.pages if not (built / f"{name}.html").is_file()]:
        raise SystemExit(f"the book has no page {unknown[0]}: expected a name such as {PAGES[1]}")
    all_found, rows = {}, []
    names = ["kB", "sent kB", "script kB", "requests", "elements", "jumps"]
    names += [] if chosen.sizes else ["figure ms", "key ms"]
    names += list(SCORES) if chosen.lighthouse else []
    with browser() as chromium, serving(built, patient=False) as address:
        for name in chosen.pages:
            text = (built / f"{name}.html").read_text(encoding="utf-8")
            kind = "figures" if 'class="sa-place"' in text else "text"
            found = look(chromium, f"{address}/{name}.html", timed=not chosen.sizes)
            if chosen.lighthouse:
                found |= scores(f"{address}/{name}.html")
            all_found[name] = found
            rows.append([name, kind, *row(found, before.get(name, {}), BARS[kind], names)])
            print(".", end="", flush=True)
    for kind, bars in BARS.items():
        limits = [SCORES.get(name, bars.get(name)) for name in names]
        spelt = [number(n, limit) for n, limit in zip(names, limits, strict=True)]
        rows.append([f"bar of a page with {kind}", "", *spelt])
    print_table(["page", "kind", *names], rows)
    if chosen.save:
        chosen.save.write_text(json.dumps(all_found, indent=1) + "\n", encoding="utf-8")


def print_table(titles: list[str], rows: list[list[str]]) -> None:
    """Print a table in columns as wide as they have to be."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    print("\r", end="")
    for line in (titles, *rows):
        first, second, *others = zip(line, widths, strict=True)
        print(f"{first[0]:{first[1]}}  {second[0]:{second[1]}}", end="")
        print("".join(f"  {cell:>{width}}" for cell, width in others))


if __name__ == "__main__":
    main()
