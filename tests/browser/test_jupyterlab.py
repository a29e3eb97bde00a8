"""JupyterLab as ``make lab`` starts it: plain notebooks, live figures, the course's command."""

import json
import socket
import subprocess
import time
from pathlib import Path
from urllib.request import Request, urlopen

import nbformat
import pytest
import websocket

from seqattn.widgets import SoftmaxTemperature
from tests.browser.conftest import PATIENCE
from tests.browser.test_live_figures import have_shown, state, values
from tests.widgets.figures import agrees
from tools import lab as make_lab
from tools import plain

# One server for all.
pytestmark = pytest.mark.xdist_group("jupyterlab")

CELL = """
import json, pathlib
from seqattn.widgets import SoftmaxTemperature

figure = SoftmaxTemperature()
def write(change):
    seen = {name: getattr(figure, name) for name in ("scores", "temperature", "mask")}
    pathlib.Path("part").write_text(json.dumps(seen | {"numbers": figure.numbers()}))
    pathlib.Path("part").rename("kernel.json")
figure.observe(write)
figure
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab as ``make lab`` does, with one notebook more; give address and folder."""
    places = tmp_path_factory.mktemp("lab")
    folder = places / "notebooks"
    variables = {
        f"JUPYTER_{name}_DIR": str(places / name) for name in ("CONFIG", "RUNTIME", "DATA")
    }
    variables["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    plain.write_all(places / "built")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        assert make_lab.sync(places / "built", folder) == []
        patch.setattr(make_lab, "SETTINGS", places / "settings")
        command, environment = make_lab.command(folder), make_lab.environment()
        environment.pop("PYTEST_VERSION", None)  # checks are read here, not counted
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in (CELL, "!seqattn --help")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "figure.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        f"--ServerApp.port={port}",
        "--ServerApp.open_browser=False",
        "--ServerApp.allow_root=True",
        "--ServerApp.disable_check_xsrf=True",
        "--IdentityProvider.token=",
        f"--MappingKernelManager.kernel_info_timeout={PATIENCE}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]
    address = f"http://127.0.0.1:{port}"
    log = places / "log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [*command, *options], env=environment, stdout=file, stderr=file, cwd=folder
        )
        try:
            wait_for(f"{address}/api", server, log)
            yield address, folder
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # beside busy loops it once did not end at all
                server.kill()  # its kernels end with it
                server.wait()


def wait_for(url, server, log):
    for _ in range(2 * PATIENCE):
        try:
            urlopen(url, timeout=PATIENCE).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not answer:\n{log.read_text()}")


def opened(browser, url):
    """Open a notebook."""
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(url)
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.evaluate("window.jupyterapp.shell.currentWidget.context.ready")
    return page


def run_all(page):
    """Choose Run All and wait until it is through; give the errors that cells raised."""
    return page.evaluate(
        """async () => {
            const { shell, commands } = window.jupyterapp;
            const { content, sessionContext } = shell.currentWidget;
            await sessionContext.ready;
            await sessionContext.session.kernel.info;
            await commands.execute("notebook:run-all-cells");
            return content.model.sharedModel.cells.flatMap(cell => cell.outputs ?? [])
                .filter(output => output.output_type === "error").map(output => output.evalue);
        }"""
    )


def ask(address, path, content=None):
    data = None if content is None else json.dumps(content).encode()
    request = Request(f"{address}/{path}", data, method="PUT" if data else "GET")
    with urlopen(request, timeout=PATIENCE) as response:
        return response.geturl(), response.read()


def wait_for_figures(page):
    """Wait for stored figures; Lab may miss them on a busy machine: load again, as we advise."""
    stored, missed = page.locator(".sa-fig[data-values]"), page.get_by_text("model not found")
    stored.or_(missed).first.wait_for(state="attached")
    while not stored.count():
        page.reload()
        stored.or_(missed).first.wait_for(state="attached")


def test_a_figure_in_jupyterlab_moves_by_keyboard_and_reports_to_the_kernel(browser, lab):
    address, folder = lab
    page = opened(browser, f"{address}/lab/tree/figure.ipynb?reset")
    run_all(page)
    wait_for_figures(page)
    figure = page.locator(".sa-fig")
    for name, key in (("temperature", "ArrowRight"), ("score of cat", "ArrowUp")):
        slider = figure.get_by_role("slider", name=name)
        before = slider.input_value()
        slider.focus()
        slider.press(key)
        assert slider.input_value() != before
    moved = state(figure)
    agrees(moved["scores"][1], 2.1)
    for _ in range(10 * PATIENCE):
        seen = folder / "kernel.json"
        kernel = json.loads(seen.read_text()) if seen.exists() else {}
        if kernel and kernel["scores"] == moved["scores"]:
            break
        page.wait_for_timeout(100)
    assert kernel["temperature"] == moved["temperature"]
    agrees(values(figure), kernel["numbers"])
    twin = SoftmaxTemperature(moved["scores"], temperature=moved["temperature"])
    agrees(values(figure), twin.numbers())
    assert "Usage: seqattn" in page.locator(".jp-OutputArea").last.inner_text()
    page.close()


def test_the_server_shows_learners_plain_notebooks_and_writes_nothing_beside_them(lab):
    address, folder = lab
    opens = "/lab/tree/chapters/index.ipynb?file-browser-path=/"
    assert ask(address, "")[0].rstrip("&").endswith(opens)
    for page in plain.Book().notebooks:
        model = json.loads(ask(address, f"api/contents/{page}.ipynb")[1])
        cells = model["content"]["cells"]
        assert cells[1]["source"].startswith("# On Colab"), "not the literal INSTALL"
        assert "jupytext" not in model["content"]["metadata"]
    listed = json.loads(ask(address, "api/contents/exercises")[1])["content"]
    names = {entry["name"] for entry in listed}
    assert names == {path.name for path in (plain.ROOT / "exercises").glob("*.ipynb")}
    before = sorted(folder.rglob("*"))
    ask(address, f"api/contents/{page}.ipynb", {"type": "notebook", "content": model["content"]})
    written = {path for path in folder.rglob("*") if ".ipynb_checkpoints" not in path.parts}
    assert written <= set(before)
    assert "Jupytext Server Extension" not in (folder.parent / "log").read_text()


def test_it_opens_beside_both_folders_and_says_that_a_figure_has_not_run_yet(browser, lab):
    address, _ = lab
    page = opened(browser, address)
    wait_for_figures(page)
    page.wait_for_selector(".jp-DirListing-item")
    names = page.locator(".jp-DirListing-itemText").all_inner_texts()
    assert {"chapters", "exercises"} <= set(names)
    said = page.evaluate(
        """["before", "after"].map(side =>
            getComputedStyle(document.querySelector(".sa-fig").parentElement, `::${side}`).content)
        """
    )
    assert said[0] == "none"  # no red chain
    assert "not connected to Python yet" in said[1]
    page.close()


def test_saving_before_anything_ran_keeps_the_figures(browser, lab):
    address, folder = lab

    def stored():
        metadata = json.loads((folder / "chapters" / "index.ipynb").read_text())["metadata"]
        return metadata["widgets"][make_lab.STATE]["state"]

    came = stored()
    for _ in range(2):  # and there they are on the next opening
        page = opened(browser, f"{address}/lab/tree/chapters/index.ipynb?reset")
        wait_for_figures(page)
        page.evaluate(
            """async () => {
                const { context } = window.jupyterapp.shell.currentWidget;
                await context.sessionContext.ready;
                await context.sessionContext.session.kernel.info;
                context.model.dirty = true;
                await context.save();
            }"""
        )
        page.close()
        assert came
        assert came.items() <= stored().items()


def test_a_terminal_stands_with_the_notebooks_and_knows_the_courses_command(lab):
    address, folder = lab
    with urlopen(Request(f"{address}/api/terminals", b"", method="POST"), timeout=PATIENCE) as made:
        name = json.loads(made.read())["name"]
    terminal = websocket.create_connection(
        f"{address.replace('http', 'ws', 1)}/terminals/websocket/{name}", timeout=PATIENCE
    )
    terminal.send(json.dumps(["stdin", 'pwd; seqattn --help; echo "that was" all\r']))
    shown = ""
    while "that was all" not in shown:
        kind, text = json.loads(terminal.recv())[:2]
        shown += text if kind == "stdout" else ""
    terminal.close()
    assert str(folder) in shown
    assert "Usage:" in shown  # in colours, so no more of the line in one piece
    assert "not found" not in shown


def test_a_chapter_is_alive_before_and_after_run_all(browser, lab):
    address, _ = lab
    page = opened(browser, f"{address}/lab/tree/chapters/01_bottleneck.ipynb?reset")
    wait_for_figures(page)  # trusted: stored figures live
    assert run_all(page) == []
    assert not page.locator(".jupyter-widgets-disconnected").count()
    figure = page.locator(".sa-fig[data-values]").first
    figure.wait_for(state="attached")
    have_shown(page)
    slider = figure.get_by_role("slider").first
    before = slider.input_value()
    slider.focus()
    slider.press("ArrowLeft")  # it stands at its right end
    assert slider.input_value() != before
    page.close()


def test_an_unanswered_exercise_runs_to_its_end_and_says_what_is_open(browser, lab):
    address, _ = lab
    page = opened(browser, f"{address}/lab/tree/exercises/03_additive.ipynb?reset")
    page.evaluate(
        """async () => {
            const { sessionContext } = window.jupyterapp.shell.currentWidget;
            await sessionContext.ready;
            await sessionContext.session.kernel.info;
        }"""
    )
    assert not page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert run_all(page) == []
    # Cells that are out of sight are in no page.
    model = "window.jupyterapp.shell.currentWidget.context.model.toJSON()"
    said = json.dumps(page.evaluate(model))
    assert "q1 is not answered yet" in said
    page.close()
