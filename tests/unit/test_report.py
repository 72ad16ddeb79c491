"""The report on made-up notebooks: stored form, cache, page, replacement of an earlier report, errors."""

import io
import json
import math
import re
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner

import nicperf
from nicperf import published
from nicperf.charts.render import MIME, stable
from nicperf.charts.theme import INK
from nicperf.errors import DataError
from nicperf.experiments.scores import COLUMNS
from nicperf.report import execute as runs
from nicperf.report import (
    explanations,
    intervals,
    journeys,
    limits,
    origin,
    overview,
    paths,
    pools,
    prose,
    refresh,
    site,
    sweeps,
    switches,
    views,
)
from nicperf.report.__main__ import main
from nicperf.report.exporter import ReportExporter, vega
from nicperf.report.figure import figure_html
from nicperf.report.normalise import complaints, stored
from nicperf.report.table import Table

RX_US = "driver.rx_coalesce_us"
SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "title": {"text": "Is <one> more than two?", "subtitle": "A note."},
    "description": 'One is 1, two is "2".',
    "datasets": {"frame_1": "nic_x,value\n1,0.5\n2,1234.5678\n", "empty": [{}]},
    "usermeta": {"columns": {"nic_x": "nic.x"}},
    "config": {"background": "#ffffff", "axis": {"labelColor": INK}},
    "data": {"name": "frame_1", "format": {"type": "csv", "parse": {"nic_x": "number", "value": "number"}}},
    "mark": "point",
    "encoding": {
        "x": {"field": "nic_x", "type": "quantitative"},
        "y": {"field": "value", "type": "quantitative"},
    },
}


def notebook(*cells):
    """A notebook of text (starting with #) and code cells."""
    make = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
    return nbformat.v4.new_notebook(cells=[make[cell.startswith("#")](cell) for cell in cells])


def write(folder, name, *cells):
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook(*cells), path)
    return path


def page_of(*outputs, source="", resources=None):
    book = notebook("# A question?", "## First", source)
    book.cells[2].outputs = [nbformat.v4.new_output("display_data", data=data) for data in outputs]
    return ReportExporter().from_notebook_node(book, resources)[0]


# -- tables


def test_numbers_stand_right_with_four_digits_and_words_left():
    shown = Table(pd.DataFrame({"name": ["a<b"], "rate": [2673939.0]}), "Rates")._repr_html_()
    assert '<td>a&lt;b</td><td class="n">2,674,000</td>' in shown
    assert "<b>Rates</b>" in shown


def test_a_column_with_a_word_in_it_is_no_column_of_numbers():
    assert 'class="n"' not in Table(pd.DataFrame({"x": [1.0, "many"]}))._repr_html_()


def test_what_is_missing_is_a_dash_and_leaves_the_column_numeric():
    shown = Table(pd.DataFrame({"x": [1.5, None]}))._repr_html_()
    assert shown.count('class="n"') == 3
    assert ">–<" in shown


def test_verdicts_carry_a_mark_besides_their_colour():
    shown = Table(pd.DataFrame({"verdict": ["reproduced", "not reproduced"]}))._repr_html_()
    assert "✓ reproduced" in shown
    assert "✗ not reproduced" in shown


def test_long_names_may_break_and_prose_is_not_squeezed():
    name, prose = (
        "napi.udp_stream.local.throughput_mbit_s",
        "A sentence that is long enough to be called prose.",
    )
    shown = Table(pd.DataFrame({"id": [name], "why": [prose], "short": ["a.b"]}))._repr_html_()
    assert "<td>napi.<wbr>udp_<wbr>stream.<wbr>local.<wbr>" in shown
    assert f'<td class="p">{prose}</td><td>a.b</td>' in shown


def test_tables_hold_nothing_random():
    frame = pd.DataFrame({"x": [1, 2]})
    assert Table(frame)._repr_html_() == Table(frame)._repr_html_()


# -- stored form


def test_the_stored_form_forgets_what_changes_from_run_to_run():
    first, second = notebook("# A", "1 + 1"), notebook("# A", "1 + 1")
    first.cells[1].metadata = {"execution": {"iopub.execute_input": "2026-01-01"}, "tags": ["kept"]}
    second.cells[1].metadata = {"tags": ["kept"]}
    first.metadata.language_info = {"version": "3.99"}
    assert first.cells[1].id != second.cells[1].id
    assert stored(first) == stored(second)
    assert json.loads(stored(first))["cells"][1]["metadata"] == {"tags": ["kept"]}


def test_the_stored_form_keeps_outputs_and_counts():
    book = notebook("1 + 1")
    book.cells[0].execution_count = 1
    book.cells[0].outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=1)]
    kept = json.loads(stored(book))["cells"][0]
    assert kept["execution_count"] == 1
    assert kept["outputs"][0]["data"]["text/plain"] == ["2"]


def test_a_chart_is_stored_on_one_line_and_read_back_as_it_was():
    book = notebook("1 + 1")
    book.cells[0].outputs = [nbformat.v4.new_output("display_data", data={MIME: SPEC}) for _ in range(2)]
    text = stored(book)
    assert sum("vega-lite/v5.json" in line for line in text.splitlines()) == 2
    read = nbformat.reads(text, as_version=4)
    assert [o.data[MIME] for o in read.cells[0].outputs] == [SPEC, SPEC]
    assert stored(read) == text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda book: None, None),
        (lambda book: book.cells[0].update(execution_count=2), "top to bottom"),
        (lambda book: book.cells[0].update(execution_count=None), "top to bottom"),
        (lambda book: book.cells[0].outputs.append(nbformat.v4.new_output("error")), "failed cell"),
    ],
)
def test_complaints_name_what_is_wrong(tmp_path, change, reason):
    book = notebook("1 + 1")
    book.cells[0].execution_count = 1
    change(book)
    path = tmp_path / "a.ipynb"
    path.write_text(stored(book), encoding="utf-8")
    found = complaints(path)
    assert (found == []) if reason is None else any(reason in one for one in found)


def test_a_file_that_an_editor_saved_is_not_in_its_stored_form(tmp_path):
    write(tmp_path, "a", "# only text")
    with pytest.raises(DataError, match=r"a\.ipynb is not in its stored form.*update"):
        refresh.check(tmp_path)


# -- the page


def test_vega_comes_once_however_many_charts_there_are():
    page = page_of({MIME: SPEC}, {MIME: SPEC})
    assert page.count("<figure") == 2
    assert page.count(vega()) == 1


def test_a_page_without_charts_has_no_vega():
    assert vega() not in page_of({"text/plain": "2"})


def test_a_page_refers_to_nothing_outside():
    page = page_of({MIME: SPEC}, {"text/html": "<table></table>"}).replace(vega(), "")
    assert re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?(?:https?:)?//[^"\')\s]+', page) == []


def test_formulas_become_mathml():
    book = notebook("# A $x^2$ and\n\n$$\\frac{a}{b}$$\n\n\\begin{align} c &= d \\end{align}")
    page = ReportExporter().from_notebook_node(book)[0]
    assert page.count("<math") == 3
    assert "mfrac" in page


def test_a_formula_with_an_unknown_command_stops_the_export():
    with pytest.raises(Exception, match="nosuchcommand"):
        ReportExporter().from_notebook_node(notebook("# A $\\nosuchcommand$"))


def test_headings_are_listed_as_contents():
    assert re.search(r'<nav[^>]*contents[^>]*>.*<a href="#First">First', page_of({"text/plain": "2"}))


def test_a_figure_says_in_words_what_it_shows_and_gives_its_numbers():
    shown = figure_html(SPEC)
    assert 'aria-label="One is 1, two is &quot;2&quot;."' in shown
    assert "<strong>Is &lt;one&gt; more than two?</strong><span>A note.</span>" in shown
    assert "Data behind this chart (2 rows)" in shown
    assert ">nic.x</th>" in shown
    assert ">1,235</td>" in shown
    assert shown.count('class="data"') == 1


def test_a_figure_takes_the_colours_of_the_page():
    drawn = json.loads(re.search(r"json\">(.*?)</script>", figure_html(SPEC))[1])
    assert drawn["config"] == {"background": None, "axis": {"labelColor": "currentColor"}}


def test_data_cannot_close_the_script():
    spec = {**SPEC, "description": "</script><b>"}
    inside = re.search(r"json\">(.*)</script>", figure_html(spec), re.DOTALL)[1]
    assert "</script>" not in inside


def test_code_is_folded_and_text_outputs_are_shown():
    page = page_of({"text/plain": "a < b"}, source="x = 1")
    assert '<details class="code">' in page
    assert "a &lt; b" in page


def test_a_table_to_filter_says_so_and_is_complete_without_a_script():
    frame = pd.DataFrame({"name": ["a", "b"], "value": [1.0, 2.0]})
    shown = Table(frame, filtered=True)._repr_html_()
    assert '<table class="nicperf filtered">' in shown and shown.count("<tr>") == 3
    assert "filtered" not in Table(frame)._repr_html_()


# -- running and building


@pytest.fixture
def quick(monkeypatch):
    """Execute without a kernel: every code cell prints its number; `1 / 0` fails."""
    ran = []

    async def fake(path, book, say):
        ran.append(path.stem)
        for number, cell in enumerate(c for c in book.cells if c.cell_type == "code"):
            if cell.source == "1 / 0":
                raise runs.NotebookError(
                    "ZeroDivisionError: division by zero", place=f"{path.name}: cell {number}"
                )
            cell.execution_count = number + 1
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{number}\n")]

    monkeypatch.setattr(runs, "_run", fake)
    return ran


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    write(folder, "01_a", "# 01  A?", "1")
    write(folder, "02_b", "# 02  B?", "2")
    return folder


def build(tmp_path, **more):
    said = []
    index = site.build(
        tmp_path / "report",
        notebooks=tmp_path / "notebooks",
        cache=tmp_path / "cache",
        say=said.append,
        **more,
    )
    return index, said


def test_the_report_has_a_page_for_each_notebook_and_says_where_it_is(quick, books, tmp_path):
    index, said = build(tmp_path)
    assert sorted(p.name for p in index.parent.iterdir()) == ["02_b.html", "index.html"]
    assert said[-1] == f"report: {index}"
    page = index.read_text(encoding="utf-8")
    assert "<title>01  A?</title>" in page
    assert 'href="02_b.html"' in page


def test_links_between_notebooks_become_links_between_pages(quick, books, tmp_path):
    write(
        books, "02_b", "# 02  B?\n\nBack to [the front](01_a.ipynb#First), or [elsewhere](03_c.ipynb).", "2"
    )
    page = (build(tmp_path)[0].parent / "02_b.html").read_text(encoding="utf-8")
    assert 'href="index.html#First"' in page
    assert 'href="03_c.ipynb"' in page


def test_only_what_changed_is_executed_again(quick, books, tmp_path):
    build(tmp_path)
    build(tmp_path)
    assert quick == ["01_a", "02_b"]
    write(books, "02_b", "# 02  B?", "3")
    build(tmp_path)
    assert quick == ["01_a", "02_b", "02_b"]
    assert len(list((tmp_path / "cache").glob("*.ipynb"))) == 2


def test_a_change_of_the_package_executes_everything_again(quick, books, tmp_path, monkeypatch):
    build(tmp_path)
    monkeypatch.setattr(runs, "package_hash", lambda: "another")
    build(tmp_path)
    assert quick == ["01_a", "02_b"] * 2


def test_fresh_executes_everything_again(quick, books, tmp_path):
    build(tmp_path)
    build(tmp_path, fresh=True)
    assert quick == ["01_a", "02_b"] * 2


def test_a_failing_cell_leaves_the_earlier_report(quick, books, tmp_path):
    index, _ = build(tmp_path)
    before = index.read_text(encoding="utf-8")
    write(books, "02_b", "# 02  B?", "1 / 0")
    with pytest.raises(runs.NotebookError, match=r"02_b\.ipynb: cell 0: ZeroDivisionError"):
        build(tmp_path)
    assert index.read_text(encoding="utf-8") == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "notebooks", "report"]


def test_a_folder_that_is_no_report_is_not_replaced(quick, books, tmp_path):
    mine = tmp_path / "report"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="exists and is not a report"):
        build(tmp_path)
    assert (mine / "thesis.txt").exists()


def test_pages_of_removed_notebooks_go(quick, books, tmp_path):
    index, _ = build(tmp_path)
    (books / "02_b.ipynb").unlink()
    build(tmp_path)
    assert not (index.parent / "02_b.html").exists()


def test_update_writes_outputs_and_then_finds_nothing_to_do(quick, books, tmp_path):
    changed = refresh.update(books, cache=tmp_path / "cache", say=lambda line: None)
    assert [p.name for p in changed] == ["01_a.ipynb", "02_b.ipynb"]
    refresh.check(books)
    assert refresh.update(books, cache=tmp_path / "cache", say=lambda line: None) == []


def test_no_notebooks_is_an_error_with_a_cure(tmp_path):
    with pytest.raises(DataError, match=r"no notebooks here; run this in the project's root folder"):
        site.found(tmp_path)


def test_the_command_reports_an_error_in_one_line(tmp_path):
    result = CliRunner().invoke(main, ["build", "--notebooks", str(tmp_path)])
    assert result.exit_code == 1
    assert "no notebooks here" in result.output
    assert "Traceback" not in result.output


def test_a_failing_cell_is_named_with_its_notebook_and_first_line(tmp_path):
    path = write(tmp_path, "03_c", "# 03  C?", "x = 0\n1 / x")
    with pytest.raises(
        runs.NotebookError, match=r"03_c\.ipynb: cell 1 \(x = 0\): ZeroDivisionError: division by zero"
    ):
        runs.execute([path], tmp_path / "cache", say=lambda line: None)


def test_a_real_kernel_fills_in_the_outputs(tmp_path):
    path = write(tmp_path, "04_d", "# 04  D?", "6 * 7")
    (done,) = runs.execute([path], tmp_path / "cache", say=lambda line: None)
    assert done.notebook.cells[1].outputs[0].data["text/plain"] == "42"
    assert not done.cached
    (again,) = runs.execute([path], tmp_path / "cache", say=lambda line: None)
    assert again.cached
    assert again.run_s == pytest.approx(done.run_s, abs=0.1)


# -- the front page


@pytest.fixture
def small_ledger():
    """Two rows each of a thread whose figures somebody predicted, and of one that nobody did."""
    columns = ["slug", "kind", "id", "role", "quantity", "published", "predicted", "error_percent", "verdict"]
    rows = [
        ["fec-2022", "figure", "a.b.local.cpu_percent", "held_out", "cpu_percent", 10.0, 11.0, 10.0, "reproduced"],
        ["fec-2022", "figure", "c.b.local.cpu_percent", "held_out", "cpu_percent", 10.0, 5.0, -50.0, "not reproduced"],
        ["fec-2022", "figure", "d.b.local.cpu_percent", "held_out", "cpu_percent", 10.0, 19.0, 90.0, "direction only"],
        ["fec-2022", "claim", "recycling-helps", "claim", None, math.nan, math.nan, math.nan, "reproduced"],
        ["mvneta-2014", "figure", "x.y.local.cpu_percent", "fit", "cpu_percent", 1.0, math.nan, math.nan, "cannot tell"],
        ["mvneta-2014", "figure", "x.y.local.mss_bytes", "context", "mss_bytes", 1.0, math.nan, math.nan, "cannot tell"],
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns).assign(why="Because.", unit="%", spread=math.nan)
    frame[["low", "high"]] = frame[["predicted", "predicted"]].to_numpy() * [0.9, 1.1]
    return frame


def test_the_map_counts_what_is_reproduced(small_ledger):
    said = overview.answer(small_ledger).text
    assert "Of 3 held-out figures 1 are reproduced, of 1 claims 1." in said
    assert "`fec-2022`: 1 of 3 held-out figures; 1 of 1 claims" in said
    table = overview.standing(small_ledger).frame.set_index(["slug", "role"])
    assert table.loc[("fec-2022", "held_out")].tolist() == [1, 1, 1, 0]
    small_ledger.loc[1, "predicted"] = math.nan
    assert "1 of 3 held-out figures, 1 not answered by a model" in overview.answer(small_ledger).text


def test_the_map_lists_what_a_model_answers_and_counts_the_rest(small_ledger):
    table = overview.rows(small_ledger)
    assert list(table.frame["id"]) == [*small_ledger["id"][:3], "x.y.local.cpu_percent"]
    assert "4 figures; 1 settings" in table.caption
    assert table.frame["range"].fillna("none").tolist()[::3] == ["9.9 to 12.1", "none"]
    assert list(overview.misses(small_ledger).frame["id"]) == [
        "d.b.local.cpu_percent",
        "c.b.local.cpu_percent",
    ]
    (claim,) = overview.claims(small_ledger).frame.to_dict("records")
    assert claim["claim"].startswith("A page pool") and claim["why"] == "Because."


def test_the_map_names_each_baseline_that_is_closer():
    rows = [
        ["velocity-2009", "cpu_percent", "model", 3, 5.0, 9.0, 5.0, 9.0, "", ""],
        ["velocity-2009", "cpu_percent", "no_change", 3, 2.0, 99.0, 5.0, 9.0, "baseline", "model"],
        ["velocity-2009", "cpu_percent", "nearest_row", 2, 7.0, 8.0, 6.0, 9.0, "model", "baseline"],
    ]
    said = overview.compared(pd.DataFrame(rows, columns=COLUMNS)).text
    assert "In the median error the model is closer in 1 of 2 comparisons." in said
    assert "no change has a median error of 2 %, the model on these 3 rows 5 %" in said
    assert "nearest row has a worst error of 8 %, the model on these 2 rows 9 %" in said
    assert said.count("A baseline is closer") == 2


# -- what notebooks call


class MadeUp:
    """An experiment reduced to what the sentences and tables ask of it."""

    slug = "made-up"
    configurations = ("plain", "patched")
    workloads = ("udp_stream", "tcp_stream")

    def __init__(self, median, goal, binding):
        self.median, self.goal, self.binding = median, goal, binding

    def ledger(self):
        rows = [
            ("a", "held_out", 1.0, "reproduced"),
            ("b", "held_out", 2.0, "not reproduced"),
            ("c", "fit", 1.0, "reproduced"),
        ]
        return pd.DataFrame(rows, columns=["id", "role", "predicted", "verdict"])

    def simulate(self, configuration, workload):
        return SimpleNamespace(binding=self.binding[configuration, workload])

    def validate(self):
        row = {
            "role": "held_out",
            "quantity": "cpu_percent",
            "rows": 11,
            "median_error_percent": self.median,
            "worst_error_percent": 9.0,
            "goal_percent": self.goal,
            "goal_met": self.median <= self.goal,
        }
        counts = pd.DataFrame(
            {"reproduced": [1], "not reproduced": [1], "cannot tell": [0]}, index=["held_out"]
        )
        return SimpleNamespace(
            errors=pd.DataFrame([row]), verdicts=counts, fitted_rows=12, free_parameters=10
        )


BINDING = {
    ("plain", "udp_stream"): "sender bus",
    ("plain", "tcp_stream"): "sender bus",
    ("patched", "udp_stream"): "wire",
    ("patched", "tcp_stream"): "sender CPU",
}


@pytest.mark.parametrize(("median", "word"), [(3.9, "met"), (4.1, "missed")])
def test_the_verdict_says_whether_the_goal_is_met(median, word):
    text = prose.verdict(MadeUp(median, 4.0, BINDING)).text
    assert f"median error **{median} %**, goal 4 %: {word}; worst 9 %." in text
    assert "**1 reproduced, 1 not reproduced**" in text
    assert "12 figures were fitted with 10 free parameters, 1.2 figures for each." in text


def test_the_answer_counts_and_names_what_limits():
    text = prose.answer(MadeUp(1.0, 4.0, BINDING)).text
    assert "reproduces 1 of the 2 held-out figures" in text
    assert (
        "`plain` by the sender bus; `patched` by the wire (udp_stream) and the sender CPU (tcp_stream)."
        in text
    )


def test_what_cannot_be_told_apart_is_a_list_or_said_to_be_nothing():
    assert prose.separable(["a and b.", "c."]).text == "- a and b.\n- c."
    assert "pin down every" in prose.separable([]).text


@pytest.mark.parametrize("slug", ["velocity-2009", "nocache-2014", "mvneta-2014", "fec-2022"])
def test_evidence_of_every_thread_can_be_shown(slug):
    shown, known = views.figures(slug), published.figures(slug)
    intervals = known["quantity"].str.startswith("interval_").sum()
    assert len(shown[0].frame) + len(shown[1].frame) + intervals == len(known)
    assert (f"{intervals} more of single intervals" in shown[1].caption) == (intervals > 0)
    assert len(views.claims(slug).frame) == len(published.claims(slug))
    tables, checks = views.consistency(slug), published.consistency(slug)
    left_out = checks["subject"].str.contains(".interval_", regex=False) & (checks["verdict"] == "consistent")
    assert sum(len(table.frame) for table in tables[1:]) + left_out.sum() == len(checks)
    assert tables[0].frame["checks"].sum() == len(checks)


def test_figures_are_shown_as_they_were_printed():
    shown = views.figures("velocity-2009")[0].frame
    assert "505.25" in set(shown["printed"])


def test_steps_come_in_the_order_of_the_path_and_changes_are_found():
    def run(copy_ns):
        costs = [("local", "soft_irq", "tx_reap", 200.0), ("local", "process", "copy", copy_ns)]
        return SimpleNamespace(
            costs=pd.DataFrame(costs, columns=["side", "context", "operation", "ns_per_frame"]),
            bus=pd.DataFrame([("local", "tx_data_read", 900.0)], columns=["side", "use", "ns_per_frame"]),
        )

    assert list(paths.steps_of(run(500.0))["operation"]) == ["copy", "tx_data_read", "tx_reap"]
    rows = pd.read_csv(
        io.StringIO(stable(paths.path(run(500.0), run(400.0)).to_dict())["datasets"]["frame_1"])
    )
    assert dict(zip(rows["label"], rows["changed"], strict=True)) == {
        "1  copy": True,
        "2  TX data read": False,
        "3  TX reap": False,
    }


def test_ceilings_follow_the_burst_length():
    exp = nicperf.experiment("velocity-2009")
    frame = limits.ceilings(exp).set_index(["configuration", "workload", "resource"])["ceiling"]
    assert frame["baseline", "tcp_stream", "wire"] == pytest.approx(941.48, abs=0.01)
    # 32 bits at 33.3 MHz; bursts of 8 words and of a 64-byte line, each 8 clocks dear; 1448 of 1514 bytes.
    assert frame["baseline", "tcp_stream", "bus"] == pytest.approx(
        8 * 133.333 * 8 / 16 * 1448 / 1514, rel=1e-4
    )
    assert frame["napi", "tcp_stream", "bus"] == pytest.approx(8 * 133.333 * 16 / 24 * 1448 / 1514, rel=1e-4)


def test_a_setting_is_found_where_the_configuration_has_it():
    exp = nicperf.experiment("velocity-2009")
    assert sweeps.setting(exp, "baseline", "tcp_stream", "local.driver.napi") is False
    assert sweeps.setting(exp, "napi", "tcp_stream", "driver.napi") is True
    assert sweeps.setting(exp, "baseline", "tcp_stream", "remote.driver.napi") is True
    assert sweeps.setting(exp, "baseline", "tcp_stream", "local.driver.tx_ring") == 64


def test_published_points_stand_at_the_setting_and_carry_the_figures():
    points = sweeps.published_points(nicperf.experiment("velocity-2009"), "napi", "local.driver.napi")
    row = points.set_index("workload").loc["tcp_stream"]
    assert bool(row["local.driver.napi"]) is True
    assert (row["throughput_mbit_s"], row["cpu_percent_local"]) == (641.77, 41.62)


def test_the_workload_that_moves_most_is_shown_first():
    rows = [("flat", 500.0, 10.0), ("flat", 501.0, 10.0), ("steep", 90.0, 10.0), ("steep", 100.0, 10.0)]
    frame = pd.DataFrame(rows, columns=["workload", "throughput_mbit_s", "cpu_percent_local"])
    ordered = sweeps._most_moved_first(frame, ["throughput_mbit_s", "cpu_percent_local"])
    assert list(ordered["workload"]) == ["steep", "steep", "flat", "flat"]
    assert list(ordered["throughput_mbit_s"]) == [90.0, 100.0, 500.0, 501.0]


def test_switches_and_choices_become_words():
    assert [sweeps._word(v) for v in (True, False, 0, 64)] == ["on", "off", "no limit", "64"]


# -- the thread on fec: several paths, writes, packets


@pytest.fixture(scope="module")
def fec():
    return nicperf.experiment("fec-2022")


def test_steps_of_several_configurations_add_up(fec):
    frame = paths.steps(fec, "iperf", ["release", "recycle"]).frame.set_index("operation")
    for name in ("release", "recycle"):
        costs = fec.simulate(name, "iperf").costs.query("side == 'remote'")
        assert frame.loc["sum", name] == pytest.approx(costs["ns_per_frame"].sum())
        assert frame[name].drop("sum").sum() == pytest.approx(frame.loc["sum", name])
    assert list(frame.index)[-2:] == ["the rest", "sum"]


def test_a_packet_per_write_has_ceilings_of_its_own_and_no_bus(fec):
    frame = limits.ceilings(fec).set_index(["configuration", "resource"])["ceiling"]
    assert frame["any", "wire, a packet per write"] == pytest.approx(1000 * 64 / (64 + 52 + 38))
    fastest = fec.figures.query("quantity == 'packets_per_s'")["value"].max()
    assert frame["any", "receiver, a packet per write"] == pytest.approx(64 * 8e-6 * fastest)
    assert {name for _, name in frame.index if "packet" not in name} == {"wire"}


def test_packets_are_published_points_and_times_but_not_those_withdrawn(fec):
    (row,) = sweeps.published_points(
        fec, "recycle", "driver.rx_sync_bytes", "driver.rx_ring", ["xdp2_skb"]
    ).to_dict("records")
    assert row["rx_frames_per_s_remote"] == 122473
    assert (row["driver.rx_sync_bytes"], row["driver.rx_ring"]) == (3520, 256)
    assert paths._packet_times(fec, [("bar", "recycle", "xdp2_skb")]) == {"bar": 1e9 / 122473}


@pytest.mark.parametrize(
    ("asked", "more", "names"),
    [
        (["release", "recycle"], {}, {"release", "recycle"}),
        ("recycle", {"by": ("driver.rx_coalesce_frames", [8, 200])}, {"8", "200"}),
        ("recycle", {}, set()),
    ],
)
def test_lines_of_a_sweep_are_configurations_or_settings(fec, asked, more, names):
    chart = sweeps.sweep(
        fec, asked, "driver.rx_ring", [64, 256], "?", ("throughput_mbit_s",), workloads=["iperf"], **more
    )
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    lines = [c for c in data.columns if c in ("configuration", "driver_rx_coalesce_frames")]
    assert {str(name) for column in lines for name in data[column]} == names
    assert len(data[~data["published"]]) == 2 * max(len(names), 1)


def test_a_map_outlines_the_own_cell_of_the_patched_host(fec):
    chart = sweeps.grid(fec, "original", "iperf", ("driver.rx_ring", [256, 512]), (RX_US, [500, 1000]), "?")
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    own = data[data["configured"]]
    assert own[["driver_rx_ring", "driver_rx_coalesce_us"]].to_numpy().tolist() == [[512, 1000]]


def test_writes_are_not_packets(fec):
    (row,) = views.writes(fec, ["iperf_64"], ["original"]).frame.to_dict("records")
    assert row["writes per s"] > 9 * row["packets per s"]
    assert row["payload bytes per packet"] * row["packets per s"] == pytest.approx(64 * row["writes per s"])


def test_a_recycling_pool_allocates_once_and_a_releasing_one_for_ever(fec):
    lines = {"release": ("release", {}), "recycle": ("recycle", {})}
    chart = pools.pool(fec, lines, ["drop_skb"], "?")
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    late = data[data["t_ms"] > 10].groupby("line")["pp_alloc_slow_per_ms"].sum()
    assert late["release"] > 0
    assert late["recycle"] == 0


def test_explanations_are_solved_for_their_figures_and_held_out_rows_decide(fec):
    pinned, traded = "release.drop_skb.remote.packets_per_s", "original.iperf.local.throughput_mbit_s"
    at, cost = "driver.turnover_at", "driver.turnover_cycles"
    found = explanations.alternatives(
        fec,
        {"unmap": ({at: "mapping"}, cost), "pool": ({at: "release"}, cost), "none": ({at: "never"}, None)},
        pinned,
        ("remote.stack.gro_cycles", traded),
        ["original", "release"],
    )
    rows = found.rows.set_index(["explanation", "id"])
    assert found.equal == ["unmap", "pool"]
    for name in found.equal:
        assert abs(rows.loc[(name, pinned), "error_percent"]) < 0.2
        assert abs(rows.loc[(name, traded), "error_percent"]) < 0.2
    solved = found.values.set_index("explanation")["cycles"]
    assert solved["unmap"] == pytest.approx(fec.fit.values[cost], rel=0.01)
    text = found.spoken().text
    assert "Misses the fitted rows, whatever its value: none." in text
    assert re.search(r"release\.iperf.*published 858: \*\*speaks for\*\* unmap .*\*\*against\*\* pool", text)


@pytest.fixture(scope="module")
def mvneta():
    return nicperf.experiment("mvneta-2014")


FACTOR = ("local.cpu.cycles_factor", "tso_off.iperf.local.cpu_percent")


def test_a_parameter_is_solved_for_a_load_that_rises_with_it(mvneta):
    found = explanations.alternatives(
        mvneta, {"as assumed": ({}, None)}, FACTOR[1], FACTOR, ["tso_off", "tso_on"]
    )
    assert found.values[FACTOR[0]].iloc[0] == pytest.approx(mvneta.fit.values[FACTOR[0]], rel=0.002)
    predicted = found.rows.set_index("id")["predicted"]
    assert predicted[FACTOR[1]] == pytest.approx(25, rel=0.001)
    assert "its cost" not in found.table().frame


def test_sweeps_show_the_load_as_a_share_of_all_cores(mvneta):
    run = mvneta.simulate("tso_off", "iperf")
    assert sweeps.quantity(mvneta, run, "cpu_percent_local") == pytest.approx(25, rel=0.01)
    assert sweeps.quantity(mvneta, run, "cpu_percent_remote") == run.summary["cpu_percent_remote"]
    in_ns = sweeps.quantity(mvneta, run, sweeps.PER_FRAME_SENT)
    assert in_ns == pytest.approx(run.costs.query("side == 'local'")["ns_per_frame"].sum(), rel=1e-3)
    middle, late = (sweeps.quantity(mvneta, run, name) for name in list(sweeps.LATENCY)[::3])
    assert 0 < middle < late


def test_an_interval_spans_what_the_fitted_figures_allow(mvneta):
    (row,) = mvneta.ledger().query("role == 'held_out'").to_dict("records")
    values = [explanations.predicted(mvneta, row, vector) for vector in mvneta.fit.equally_good]
    stored = pytest.approx((row["low"], row["high"]), rel=1e-5)  # six digits are kept
    assert (min(values), max(values)) == stored
    inside = sum(13.5 <= value <= 16.5 for value in values)
    said = intervals.interval(mvneta).text
    assert "published 15 %" in said and f"{len(values)} sets" in said and f"{inside} of them inside" in said


def test_cycles_of_a_segment_at_the_rate_of_the_wire(mvneta):
    table = limits.cycles(mvneta).frame.set_index("configuration")
    # 1538 bytes on the wire for each segment.
    assert table["segments per s"].iloc[0] == pytest.approx(1e9 / 8 / 1538)
    assert table.loc["tso_off", "cycles per segment"] == pytest.approx(0.25 * 2 * 1333e6 * 1538 * 8 / 1e9)


def test_a_super_packet_takes_105_descriptors_in_one_call_or_45(mvneta):
    chart = journeys.ring(mvneta, {"TSO": "tso_on", "GSO": "tso_off"}, "?")
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    by_way = data.groupby("way")
    assert by_way.size().to_dict() == {"TSO": 105, "GSO": 105}
    assert by_way["last_of_call"].sum().to_dict() == {"TSO": 1, "GSO": 45}
    assert by_way["segment"].max().to_dict() == {"TSO": 45, "GSO": 45}
    heads = data[data["kind"] != "payload"]
    assert set(heads["length_bytes"]) == {66}
    assert data["length_bytes"].sum() == 2 * 45 * 1514
    assert dict(zip(heads["way"], heads["kind"], strict=True)) == {
        "TSO": "header memory",
        "GSO": "mapped header",
    }


def test_counts_are_those_of_one_super_packet(mvneta):
    table = journeys.counts(mvneta, "iperf", ["tso_on", "tso_off"]).frame.set_index("for 45 segments")
    assert table.loc["doorbells"].to_list() == pytest.approx([1, 45], rel=0.01)
    assert table.loc["passes through the device queue"].to_list() == pytest.approx([1, 1], rel=0.01)
    assert table.loc["CPU time, µs", "tso_off"] == pytest.approx(45 * 6.152, rel=0.01)


def test_segments_differ_in_the_flag_alone_and_sum_up():
    table = journeys.segments("?").frame
    assert table["checksums right"].all()
    assert table["IP id"].to_list() == ["65534", "65535", "0", "1"]
    assert table["bytes that differ"].iloc[0] == 0 and table["bytes that differ"].max() <= 3
    packet = journeys.super_frame(bytes(3000))
    broken = packet[:60] + b"\x01" + packet[61:]
    assert not journeys._sums_are_right(broken)


def test_tso_is_off_where_it_was_switched_off(mvneta):
    chart = switches.switched(mvneta, "iperf", 0.2, 0.3, "?")
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    off = data["t_s"].between(0.215, 0.301)
    assert (
        data.loc[off, "header_copies_per_ms"].max()
        == 0
        < data.loc[data["t_s"] < 0.2, "header_copies_per_ms"].min()
    )
    assert data.loc[off, "cpu_percent_local"].min() > data.loc[data["t_s"] < 0.2, "cpu_percent_local"].max()


def test_a_sender_with_less_room_than_the_threshold_stands_still(mvneta):
    chart = switches.stall(mvneta, "tso_off", [0, 16], [4608, 107520], "?")
    data = pd.read_csv(io.StringIO(stable(chart.to_dict())["datasets"]["frame_1"]))
    rates = data.set_index(["local_socket_udp_send_buffer_bytes", "driver_tx_coalesce_count"])["frames_per_s"]
    assert rates[4608, 16] == 0 < rates.drop((4608, 16)).min()


def test_a_figure_that_no_explanation_meets_speaks_for_none():
    group = pd.DataFrame(
        {"explanation": ["a", "b"], "error_percent": [20.0, -16.0], "verdict": ["not reproduced"] * 2}
    )
    assert explanations._decision(group) == "**speaks for none** of a (+20 %), b (-16 %); nearest is b"


def test_provenance_changes_with_the_data_and_with_nothing_else(tmp_path, monkeypatch):
    for name in ("source.toml", "figures.csv", "claims.toml"):
        (tmp_path / "x").mkdir(exist_ok=True)
        (tmp_path / "x" / name).write_text(name)
    (tmp_path / "x" / "raw").mkdir()
    raw = tmp_path / "x" / "raw" / "a.txt"
    raw.write_text("1")
    monkeypatch.setattr(origin, "data_dir", lambda: tmp_path)
    first = origin.data_hash("x")
    (tmp_path / "x" / "fit.json").write_text("{}")
    assert origin.data_hash("x") == first
    raw.write_text("2")
    assert origin.data_hash("x") != first
