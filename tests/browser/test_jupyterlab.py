"""The same cell in JupyterLab: the keyboard moves the figure, and the kernel reads it back."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import nbformat
import pytest

from seqattn.widgets import SoftmaxTemperature
from tests.browser.conftest import PATIENCE
from tests.browser.test_live_figures import state, values
from tests.widgets.figures import agrees

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
    """Start JupyterLab in a folder with one notebook; give its address and the folder."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL.strip())])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "figure.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.open_browser=False",
        "--ServerApp.allow_root=True",
        "--IdentityProvider.token=",
        f"--MappingKernelManager.kernel_info_timeout={PATIENCE}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=",
        "--LabApp.extension_manager=readonly",
    ]
    places = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "RUNTIME")}
    root = Path(__file__).resolve().parents[2]
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env=os.environ | places | {"PYTHONPATH": str(root)},
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(f"{address}/api", server, folder / "log")
            yield address, folder
        finally:
            server.terminate()
            server.wait(PATIENCE)


def wait_for(url, server, log):
    for _ in range(2 * PATIENCE):
        try:
            urlopen(url, timeout=PATIENCE).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not answer:\n{log.read_text()}")


def test_a_figure_in_jupyterlab_moves_by_keyboard_and_reports_to_the_kernel(browser, lab):
    address, folder = lab
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/lab/tree/figure.ipynb?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.evaluate(
        """async () => {
            const { shell, commands } = window.jupyterapp;
            await shell.currentWidget.context.ready;
            await shell.currentWidget.sessionContext.ready;
            await shell.currentWidget.sessionContext.session.kernel.info;
            await commands.execute("notebook:run-all-cells");
        }"""
    )
    page.wait_for_selector(".sa-fig[data-values]")
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
    page.close()
