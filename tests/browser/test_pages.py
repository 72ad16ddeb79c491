"""A report page in a real browser without a network: drawn, quiet, movable, readable in words, printable."""

import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from nicperf import charts
from nicperf.charts.render import bundle
from nicperf.report.exporter import ReportExporter
from nicperf.report.table import Table

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore:Automatically deduplicated"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
SETTINGS = [8, 16, 32, 64]
DRAWN = "figure.chart[data-drawn] svg.marks"


def rate(workload, setting):
    return {"udp_stream": 760.0, "tcp_stream": 700.0}[workload] * setting / (setting + 8)


def shown(workload, setting):
    return f"{rate(workload, setting):.1f}"


def frame():
    rows = [
        {
            "workload": workload,
            "nic.dma_burst_dwords": setting,
            "driver.tx_ring": 16 * (1 + SETTINGS.index(setting)),
            "throughput_mbit_s": rate(workload, setting),
            "cpu_percent_local": 40.0,
            "interrupts_per_s_local": 6000.0,
        }
        for workload in ("udp_stream", "tcp_stream")
        for setting in SETTINGS
    ]
    return pd.DataFrame(rows)


def made_page():
    things = [
        charts.sweep(frame(), "nic.dma_burst_dwords", bound="workload", title="How long must a burst be?"),
        charts.sweep(frame(), "driver.tx_ring", bound="workload", title="How long must a ring be?"),
        charts.sensitivity(pd.DataFrame({"parameter": ["bus.clock_mhz"], "elasticity": [0.9]})),
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 99  Does $x$ work?\n\n## One")])
    cell = nbformat.v4.new_code_cell("x = 1")
    cell.outputs = [nbformat.v4.new_output("display_data", data=bundle(chart.to_dict())) for chart in things]
    wide = Table(
        pd.DataFrame({"why": ["A long sentence that says why, " * 4], "id": ["a.b_c.d_e.f_g.h_i.j_k"]})
    )
    long = Table(
        pd.DataFrame({"row": ["one x", "two y", "three x"], "error": [-20.0, 1000.0, 3.0]}), filtered=True
    )
    for table in (wide, long):
        cell.outputs.append(nbformat.v4.new_output("display_data", data={"text/html": table._repr_html_()}))
    book.cells.append(cell)
    return ReportExporter().from_notebook_node(
        book, {"nicperf": {"title": "99", "facts": {"commit": "abc"}}}
    )[0]


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(made_page(), encoding="utf-8")
    return path


# For this file only: while Playwright is up its event loop runs, and a notebook executed in the same process fails.
@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser, page_file):
    """Open the page offline; what it asked for and complained about comes with it."""
    contexts = []

    def opened(path: Path = page_file, drawn: bool = True, **context):
        contexts.append(browser.new_context(offline=True, **context))
        page = contexts[-1].new_page()
        page.requested, page.complaints = [], []
        page.on("request", lambda request: page.requested.append(request.url))
        page.on(
            "console", lambda m: page.complaints.append(m.text) if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(path.as_uri())
        if drawn:
            count = page.locator("figure.chart").count()
            page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length === {count}", timeout=60_000)
        return page

    yield opened
    for context in contexts:
        context.close()


def outside(page):
    return [url for url in page.requested if not url.startswith(("file:", "data:", "blob:"))]


def readout(page, chart=0):
    """Throughput beside the marker: the bold number of a sweep's first panel."""
    texts = page.locator("figure.chart").nth(chart).locator("svg.marks text[font-weight='600']")
    return texts.first.text_content()


def test_all_charts_are_drawn_without_a_request_or_a_complaint(open_page):
    page = open_page()
    assert page.locator(DRAWN).count() == 3
    assert outside(page) == []
    assert page.complaints == []


def test_a_request_would_be_seen(open_page, page_file, tmp_path):
    text = page_file.read_text(encoding="utf-8").replace(
        "<main>", '<main><img src="http://localhost:9/x.png">'
    )
    path = tmp_path / "asks.html"
    path.write_text(text, encoding="utf-8")
    page = open_page(path)
    assert outside(page) == ["http://localhost:9/x.png"]
    assert page.complaints != []


def test_a_chart_that_cannot_be_drawn_says_so(open_page, page_file, tmp_path):
    path = tmp_path / "broken.html"
    text = page_file.read_text(encoding="utf-8").replace('"type":"bar"', '"type":"no such mark"')
    path.write_text(text, encoding="utf-8")
    page = open_page(path, drawn=False)
    page.get_by_text("This chart could not be drawn").wait_for()
    assert page.complaints != []


def test_the_list_moves_the_marker(open_page):
    page = open_page()
    assert readout(page) == shown("udp_stream", 32)
    page.locator("figure.chart").first.locator("select").first.select_option("64")
    assert readout(page) == shown("udp_stream", 64)


def test_the_second_list_chooses_the_workload(open_page):
    page = open_page()
    page.locator("figure.chart").first.locator("select").nth(1).select_option("tcp_stream")
    assert readout(page) == shown("tcp_stream", 32)


def test_the_slider_moves_the_marker_by_keyboard(open_page):
    page = open_page()
    assert readout(page, 1) == shown("udp_stream", 32)
    page.locator("input[type=range]").press("ArrowRight")
    assert readout(page, 1) == shown("udp_stream", 64)


def test_the_pointer_moves_the_marker(open_page):
    page = open_page()
    panel = page.locator("figure.chart").first.locator("svg.marks").bounding_box()
    page.mouse.move(panel["x"] + 60, panel["y"] + 80)
    page.mouse.move(panel["x"] + 62, panel["y"] + 82)
    assert readout(page) == shown("udp_stream", 8)


def test_every_chart_has_words_and_a_table_of_its_data(open_page):
    page = open_page()
    for figure in page.locator("figure.chart").all():
        drawing = figure.locator("[role=graphics-document]")
        assert len(drawing.get_attribute("aria-label")) > 40
        assert not figure.locator("table").first.is_visible()
        figure.locator("summary").first.click()
        assert figure.locator("table").first.is_visible()
        assert figure.locator("table tbody tr").count() >= 1


def rows_shown(page):
    return [
        row.locator("td").first.text_content()
        for row in page.locator("table.filtered tbody tr:visible").all()
    ]


def test_a_table_is_filtered_by_words_and_sorted_by_a_column(open_page):
    page = open_page()
    assert rows_shown(page) == ["one x", "two y", "three x"]
    heading = page.locator("table.filtered th button", has_text="error")
    heading.click()
    assert rows_shown(page) == ["one x", "three x", "two y"]
    heading.click()
    assert rows_shown(page) == ["two y", "three x", "one x"]
    page.locator(".filter input").fill("X t")
    assert rows_shown(page) == ["three x"]
    assert page.locator(".filter output").text_content() == "1 of 3 rows"
    assert page.locator("table.filtered th[aria-sort=descending]").count() == 1


def test_data_and_picture_can_be_saved(open_page):
    page = open_page()
    figure = page.locator("figure.chart").first
    figure.locator("summary").first.click()
    with page.expect_download() as data:
        figure.get_by_role("button", name="save data as CSV").click()
    assert data.value.path().read_text().splitlines()[0].startswith("workload,nic_dma_burst_dwords")
    with page.expect_download() as picture:
        figure.get_by_role("button", name="save chart as PNG").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")


def test_text_is_light_on_dark_and_dark_on_light(open_page):
    ink = "getComputedStyle(document.querySelector('svg.marks text')).fill"
    for scheme, bright in (("light", False), ("dark", True)):
        page = open_page(color_scheme=scheme)
        level = sum(int(part) for part in page.evaluate(ink)[4:-1].split(","))
        assert (level > 380) is bright


def test_a_phone_shows_the_whole_width_of_each_chart(open_page):
    page = open_page(viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(chart.bounding_box()["width"] <= 390 for chart in page.locator(DRAWN).all())


def test_paper_has_charts_and_no_controls(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("figure.chart svg.marks").first.is_visible()
    assert not page.locator("select").first.is_visible()
    assert not page.locator("header.top").is_visible()
    assert page.locator("table.filtered th button").first.is_visible()
    assert not page.locator(".filter").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_code_unfolds_at_once(open_page):
    page = open_page()
    assert not page.locator("details.code pre").is_visible()
    page.locator("#all-code").check()
    assert page.locator("details.code pre").is_visible()


def test_the_page_is_small_enough_to_mail(page_file):
    assert page_file.stat().st_size < 4_000_000
