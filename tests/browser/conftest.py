"""One Chromium for all browser tests; a page that errs or asks for the outside fails its test."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from ipywidgets.embed import dependency_state, embed_data
from playwright.sync_api import sync_playwright

from tools import figures
from tools.browser import NAMES, installed, serving

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A page that never gets there would hang the tests; one on a busy machine gets there in time.
PATIENCE = 10 * 60  # seconds
INSIDE = ("file", "data", "blob", "about")


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    """Return a headless Chromium; skip where there is none, unless SEQATTN_REQUIRE_BROWSER=1."""
    path = installed()
    if path is None:
        why = f"no browser: none of {', '.join(NAMES)} is installed (apt-get install chromium)"
        if os.environ.get("SEQATTN_REQUIRE_BROWSER") == "1":
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=FLAGS, timeout=1000 * PATIENCE
        )
        yield chromium
        chromium.close()


def watch(page):
    """Return a list that fills with console errors, exceptions and requests leaving the book."""
    problems = []

    def on_console(message):
        # Whoever asks which styles apply makes the inspector read the page again, by its address.
        # Of a file that is refused, and it is no fault of the page.
        own = f"Unsafe attempt to load URL {page.url} from frame with URL {page.url}."
        if message.type in ("error", "warning") and not message.text.startswith(own):
            problems.append(f"console {message.type}: {message.text}")

    def on_failed(request):
        if not (request.url == page.url and page.url.startswith("file:")):  # as above
            problems.append(f"failed: {request.url}")

    def on_request(request):
        parts = urlsplit(request.url)
        if parts.scheme not in INSIDE and parts.hostname not in ("localhost", "127.0.0.1"):
            problems.append(f"request leaves the page: {request.url}")

    def on_response(response):
        if response.status >= 400:
            problems.append(f"{response.status} for {response.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(f"exception: {error}"))
    page.on("request", on_request)
    page.on("response", on_response)
    page.on("requestfailed", on_failed)
    return problems


@pytest.fixture
def new_page(browser):
    """Make watched pages: ``new_page(width=375, theme="dark")``. Their problems fail the test."""
    opened = []

    def make(width=1000, height=900, theme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme
        )
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        opened.append((context, watch(page)))
        return page

    yield make
    problems = [problem for _, found in opened for problem in found]
    for context, _ in opened:
        context.close()
    assert problems == []


@pytest.fixture
def page(new_page):
    """One watched page of desktop width."""
    return new_page()


@pytest.fixture(scope="session")
def book_server(book):
    """Address of the served book, without a slash at the end; its pages wait for their fonts."""
    with serving(book) as address:
        yield address


@pytest.fixture(scope="session")
def readers_book(book):
    """Address of the book as readers get it: a font that is late is left to the next page."""
    with serving(book, patient=False) as address:
        yield address


@pytest.fixture
def static_page(tmp_path):
    """Write a page that stores live figures as the book does, and return its path."""
    figures.write_scripts(tmp_path)
    shutil.copy(ROOT / "_assets" / figures.RUNTIME, tmp_path)
    style = (figures.HERE / "figure.css").read_text(encoding="utf-8")

    def write(*widgets, theme="light", name="page.html"):
        data = embed_data(widgets, state=dependency_state(widgets, drop_defaults=False))
        places = [
            figures.place(*figures.stored(data["manager_state"]["state"], view["model_id"]))
            for view in data["view_specs"]
        ]
        colours = {"light": "#fff; color: #222", "dark": "#14181e; color: #ddd"}[theme]
        path = tmp_path / name
        path.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Live figures</title><style>body {{ background: {colours} }} {style}</style>"
            f'<link rel="icon" href="data:,"><script defer src="{figures.RUNTIME}"></script></head>'
            f"<body><main><h1>Live figures</h1>{''.join(places)}</main></body></html>",
            encoding="utf-8",
        )
        return path

    return write


def unhappy(page, **options):
    """What axe finds, but for the markup inside formulas, which Temml answers for.

    With the rule that axe calls experimental: who speaks the words on a button must reach it.
    Without preload it does not fetch style sheets again, from places where they are not. What it
    found in order fills megabytes, and takes as long to hand over as to find.
    """
    spoken = {"label-content-name-mismatch": {"enabled": True}}
    options = {"preload": False, "resultTypes": ["violations"], "rules": spoken} | options
    found = Axe().run(page, {"exclude": [["math > *"]]}, options).response["violations"]
    return [(v["id"], [n["html"][:160] for n in v["nodes"]]) for v in found]


def widgets_ready(page):
    """Wait until the stored widgets of the page are drawn."""
    page.wait_for_selector("html[data-widgets=ready]")
    page.wait_for_selector(".sa-fig[data-values]")
    # They are drawn again, at their own width, in the frame after the one that finds it out.
    let_frames_pass(page)


def let_frames_pass(page, count=3):
    """Wait until so many frames have been drawn."""
    page.evaluate(
        """async count => {
            for (let frame = 0; frame < count; frame++)
                await new Promise(done => requestAnimationFrame(done));
        }""",
        count,
    )
