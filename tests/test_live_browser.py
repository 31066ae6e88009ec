"""The stop button and a slider in a real JupyterLab, in a real Chromium driven by Playwright.

Skipped, with the reason, where Chromium, Playwright or JupyterLab is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MISSING = [name for name in ("playwright", "jupyterlab") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or bool(MISSING),
    reason=f"needs Chromium (apt-get install chromium) and {' and '.join(MISSING) or 'more'}",
)
TOKEN, SECONDS = "test-token", 40
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"},
}
CELLS = [
    """\
%load_ext logosnb
import numpy as np
x, w, t = np.ones((4, 3)), np.ones((3, 2)), [[1], [2], [1], [2]]
""",
    """\
%%logos net --grad loss --wrt w --quiet
Let x be a 4 by 3 tensor of Real.
Let w be a 3 by 2 tensor of Real.
Let t be a 4 by 1 tensor of Int.
Let z be x matmul w.
Let loss be cross entropy of z with targets t.
""",
    "net.explore(w={(1, 1): (-3, 3)})",
    "net.train('w', steps=10**7, rate=1e-6).ended",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab with a home of its own, and the notebook live.ipynb in it."""
    home = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = new_notebook(cells=[new_code_cell(text) for text in CELLS], metadata=kernel)
    nbformat.write(notebook, home / "live.ipynb")
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY_"))}
    environment = kept | {name: str(home / name.lower()) for name in folders}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    settings = home / "jupyter_config_dir" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={TOKEN}"]
    command += [f"--ServerApp.root_dir={home}", "--LabApp.expose_app_in_browser=True"]
    command += ["--LabApp.extension_manager=readonly"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield address(home / "jupyter_runtime_dir", server, home / "log")
    finally:
        server.send_signal(signal.SIGTERM)  # shuts its kernels down too
        server.wait(30)


def address(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            try:
                url = str(json.loads(file.read_text())["url"])
                with urllib.request.urlopen(f"{url}api", timeout=2):
                    return url
            except (ValueError, OSError):  # half written, or not listening yet
                pass
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page(lab: str) -> Iterator[Any]:
    """The notebook, opened, its kernel ready, all cells sent to run."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 1400})
        opened.set_default_timeout(1000 * SECONDS)
        opened.goto(f"{lab}doc/tree/live.ipynb?token={TOKEN}")
        opened.locator(".jp-Notebook .jp-Cell").first.wait_for()
        opened.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
                await panel.sessionContext.session.kernel.info;
                window.jupyterapp.commands.execute('notebook:run-all-cells');
            }"""
        )
        yield opened
        browser.close()


def cell(page: Any, text: str) -> Any:
    editor = page.locator(".jp-InputArea-editor", has_text=text)
    return page.locator(".jp-CodeCell", has=editor).locator(".jp-Cell-outputArea")


def pictured(page: Any, name: str) -> None:
    """A picture to look at, where one is asked for: LOGOSNB_PICTURES names the folder."""
    folder = os.environ.get("LOGOSNB_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_the_stop_button_stops_a_training_that_runs(page: Any) -> None:
    from playwright.sync_api import expect

    output = cell(page, "net.train")
    expect(output.locator("svg").first).to_be_visible()
    pictured(page, "training")
    page.locator(".logosnb-stop").click()
    expect(output).to_contain_text("stopped by the button after")
    expect(page.locator(".logosnb-stop")).to_have_count(0)  # the controls are gone, a line is there
    pictured(page, "stopped")


def test_value_and_gradient_follow_the_mouse(page: Any) -> None:
    from playwright.sync_api import expect

    output = cell(page, "net.explore")
    shown = output.locator(".logosnb-explorer")
    expect(shown).to_contain_text("0.6931")  # log 2: both classes equal
    track, handle = output.locator(".noUi-base"), output.locator(".noUi-handle")
    handle.scroll_into_view_if_needed()  # a mouse outside of the window moves nothing
    begin, box = handle.bounding_box(), track.bounding_box()
    across = begin["y"] + begin["height"] / 2
    page.mouse.move(begin["x"] + begin["width"] / 2, across)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], across, steps=20)
    page.mouse.up()
    # w[1, 1] = 3: logits 5 and 3, so the loss is log(1 + e²) − 1 = 1.127
    expect(shown).to_contain_text("1.127")
    expect(shown).to_have_count(1)
    pictured(page, "explored")
