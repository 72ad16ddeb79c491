"""JupyterLab as a reader uses it: open the notebook of questions, run all cells, move, compare, take away."""

import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from urllib.error import URLError

import pytest

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
NOTEBOOK = "05_what_if.ipynb"
PATIENCE_MS = 90_000
MOVES = 12

# A click on "Run All Cells" would be lost where the kernel is not connected yet.
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  const notebook = app.shell.currentWidget;
  await notebook.context.ready;
  await notebook.sessionContext.ready;
  await notebook.sessionContext.session.kernel.info;
  await app.commands.execute("notebook:run-all-cells");
}"""
# Of the notebook's model: what is out of sight is not in the page.
COMPLAINTS = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
  .flatMap((cell) => (cell.type === "code" ? cell.outputs.toJSON() : []))
  .filter((output) => output.output_type === "error" || output.name === "stderr")"""
# From the event of an input to the first frame after the drawing has changed, seen from outside of the panel.
WATCH = """() => {
  window.redraws = [];
  let moved;
  document.addEventListener("input", () => { moved = performance.now(); }, true);
  new MutationObserver(() => {
    if (moved === undefined) return;
    const since = moved;
    moved = undefined;
    requestAnimationFrame(() => window.redraws.push(performance.now() - since));
  }).observe(document.querySelector(".nicperf-explore .place"), { subtree: true, childList: true, attributes: true });
}"""


@pytest.fixture
def shots(root):
    folder = root / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def lab(root, tmp_path):
    """Address of a server on a copy of the notebook: Lab saves what it runs."""
    folder, config = tmp_path / "notebooks", tmp_path / "config"
    (config / "labconfig").mkdir(parents=True)
    folder.mkdir()
    shutil.copy(root / "notebooks" / NOTEBOOK, folder)
    # The question whether to fetch news would cover the notebook.
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "labconfig" / "page_config.json").write_text(json.dumps(quiet))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    names = ["JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"]
    surroundings = {name: str(tmp_path / name.lower()) for name in names}
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--IdentityProvider.token=",
    ]
    options += ["--ServerApp.password=", "--LabApp.expose_app_in_browser=True"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    log = tmp_path / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", str(folder), *options],
            env={**os.environ, **surroundings, "JUPYTER_CONFIG_DIR": str(config)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(PATIENCE_MS // 250):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5)
                break
            except (URLError, OSError):
                assert server.poll() is None, log.read_text()
                time.sleep(0.25)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


@pytest.fixture
def page(lab):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        context = browser.new_context(viewport={"width": 1400, "height": 1200}, accept_downloads=True)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.outside, page.errors = [], []
        page.on("request", lambda r: None if _ours(r.url, lab) else page.outside.append(r.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
        page.goto(f"{lab}/lab/tree/{NOTEBOOK}?reset")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        yield page
        browser.close()


def _ours(url, lab):
    return url.startswith((lab, "data:", "blob:", "about:"))


def throughput(page):
    """What the chart says to those who cannot see it."""
    spoken = page.locator(".nicperf-explore .place").get_attribute("aria-label")
    return float(re.search(r"Throughput \(Mbit/s\) ([\d,.]+)", spoken)[1].rstrip(".").replace(",", ""))


def idle(page):
    page.wait_for_function("!document.querySelector('.nicperf-explore').dataset.busy", timeout=PATIENCE_MS)


def test_a_reader_asks_what_if(page, shots):
    page.evaluate(RUN_ALL)
    panel = page.locator(".nicperf-explore")
    page.locator(".nicperf-explore .place svg.marks").wait_for()
    assert page.evaluate(COMPLAINTS) == []
    panel.scroll_into_view_if_needed()
    idle(page)
    page.screenshot(path=shots / "lab_start.png")
    start = throughput(page)

    # Arrow keys move the slider, and each move redraws.
    row = panel.locator("li[data-name='bus.clock_mhz']")
    slider = row.locator("input[type=range]")
    page.evaluate(WATCH)
    simulated = []
    for move in range(1, MOVES + 1):
        slider.press("ArrowLeft")
        page.wait_for_function(f"window.redraws.length >= {move}", timeout=PATIENCE_MS)
        idle(page)
        simulated.append(float(re.search(r"in (\d+) ms", panel.locator(".took").inner_text())[1]))
    redraws = page.evaluate("window.redraws")
    assert len(redraws) == MOVES
    measured = {
        "moves": MOVES,
        "input_to_redraw_ms_median": round(statistics.median(redraws)),
        "input_to_redraw_ms_worst": round(max(redraws)),
        "simulation_ms_median": round(statistics.median(simulated)),
    }
    (shots / "lab.json").write_text(json.dumps(measured, indent=2) + "\n")
    print(measured)
    assert (
        measured["input_to_redraw_ms_median"] < 1000
    )  # 150 is the aim; a loaded machine is no reason to fail
    moved = throughput(page)
    assert moved < 0.95 * start
    page.locator(".nicperf-explore .binding:not(.stale)").wait_for()
    assert "Limited by the" in panel.locator(".binding").inner_text()
    page.screenshot(path=shots / "lab_moved.png")

    # What is copied makes the same run.
    panel.locator(".keep summary").click()
    shown_code, shown_command = panel.locator(".keep pre").all_inner_texts()
    for name, text in (("code", shown_code), ("command", shown_command)):
        panel.locator(f".copy-{name}").click()
        page.wait_for_function("navigator.clipboard.readText().then((text) => text.length > 0)")
        assert page.evaluate("navigator.clipboard.readText()") == text
    names = {}
    exec(shown_code, names)
    assert names["run"].summary["throughput_mbit_s"] == pytest.approx(moved, rel=1e-3)
    with page.expect_download() as download:
        panel.locator(".csv").click()
    header, first, *_ = download.value.path().read_text().splitlines()
    assert header == "quantity,unit,now,before,published"
    assert float(first.split(",")[2]) == names["run"].summary["throughput_mbit_s"]

    # What makes no sense is explained beside its control; the chart stays.
    box = row.locator("input.value")
    box.select_text()
    page.keyboard.type("fast")
    page.keyboard.press("Enter")
    row.locator(".wrong").wait_for(timeout=10_000)
    assert "not a number" in row.locator(".wrong").inner_text()
    assert throughput(page) == moved
    page.screenshot(path=shots / "lab_nonsense.png")

    # Search by words, then back to the start.
    panel.locator(".search").fill("timer us")
    assert 0 < panel.locator(".list li:visible").count() < 20
    panel.locator(".search").fill("")
    panel.locator(".reset").click()
    idle(page)
    page.wait_for_function("!document.querySelector('.nicperf-explore li .wrong:not([hidden])')")
    assert throughput(page) == start
    assert not row.locator(".wrong").is_visible()

    # Another thread has other controls.
    panel.locator("select[name=thread]").select_option("fec-2022")
    panel.locator("li[data-name='driver.rx_copybreak_bytes']").wait_for()
    idle(page)
    page.screenshot(path=shots / "lab_other_thread.png")
    assert page.outside == []
    assert page.errors == []
