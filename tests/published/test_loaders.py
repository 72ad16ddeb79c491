"""Damaged evidence: each bad cell is one error with file and line, field, value and cure."""

import contextlib
import shutil

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nicperf.errors import DataError, RoleError
from nicperf.paths import data_dir
from nicperf.published import claims, consistency, figures, require_fit, slugs, source

SLUG = "mvneta-2014"
ROW = (
    "tso_on.iperf.local.cpu_percent,tso_on,iperf,local,cpu_percent,15,,%,~15%,vmstat.txt,1,held_out,measured"
)


@pytest.fixture
def root(tmp_path):
    shutil.copytree(data_dir() / SLUG, tmp_path / SLUG)
    return tmp_path


def edit(root, name, old, new):
    path = root / SLUG / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_undamaged_copy_loads(root):
    assert slugs(root=root) == [SLUG]
    pd.testing.assert_frame_equal(figures(SLUG, root=root), figures(SLUG))
    assert len(claims(SLUG, root=root)) == len(claims(SLUG))
    assert source(SLUG, root=root) == source(SLUG)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "problem"),
    [
        (",spread,", ",spred,", 1, "column", "unknown column"),
        (",spread,unit", ",unit,spread", 1, None, "another order"),
        (",measured", "", 2, None, "12 cells instead of 13"),
        (",15,,%", ",fifteen,,%", 2, "value", "not a number"),
        (",15,,%", ",nan,,%", 2, "value", "not a finite number"),
        (",15,,%", ",-15,,%", 2, "value", "not a finite number"),
        (",15,,%", ",16,,%", 2, "value", "is not what '~15%' says"),
        (",15,,%", ",15,1,%", 2, "spread", "is not what '~15%' says"),
        (",15,,%", ",15,x,%", 2, "spread", "not a number"),
        (",15,,%,", ",15,,percent,", 2, "unit", "no such unit"),
        (",15,,%,", ",15,,1,", 2, "unit", "ends in another"),
        ("held_out,", "heldout,", 2, "role", "no such word"),
        (",measured", ",mesured", 2, "kind", "no such word"),
        ("iperf,local", "iperf,lokal", 2, "side", "no such word"),
        ("~15%,", "~16%,", 2, "value_text", "does not stand on line 1"),
        ("~15%,", "5%,", 2, "value_text", "does not stand on line 1"),
        ("~15%,", "vs.,", 2, "value_text", "not a printed number"),
        ("~15%,", ",", 2, "value_text", "does not stand on line 1"),
        ("vmstat.txt,1,", "vmstat.txt,2,", 2, "raw_line", "no such line"),
        ("vmstat.txt,1,", "vmstat.txt,one,", 2, "raw_line", "no such line"),
        ("vmstat.txt,1,", "vmstats.txt,1,", 2, "raw_file", "no such file"),
        ("vmstat.txt,1,", "../figures.csv,1,", 2, "raw_file", "no such file"),
        ("tso_on.iperf.local", "tso_on.iperf.remote", 2, "id", "does not name the row"),
        (ROW, f"{ROW}\n{ROW}", 3, "id", "occurs twice"),
        ("~15%", '"~15%', 3, None, "is not CSV"),
    ],
)
def test_damaged_figure_is_named(root, old, new, line, field, problem):
    edit(root, "figures.csv", old, new)
    with pytest.raises(DataError, match=rf"figures\.csv:{line}: ") as caught:
        figures(SLUG, root=root)
    assert problem in caught.value.problem
    assert caught.value.field == field
    assert caught.value.cure


@pytest.mark.parametrize("part", ["466", "553", "6,553"])
def test_part_of_a_number_in_groups_is_no_number(tmp_path, part):
    shutil.copytree(data_dir() / "fec-2022", tmp_path / "fec-2022")
    table = tmp_path / "fec-2022" / "figures.csv"
    row = '466553,,1/s,"466,553"'
    assert row in table.read_text(encoding="utf-8")
    number = part.replace(",", "")
    table.write_text(
        table.read_text(encoding="utf-8").replace(row, f'{number},,1/s,"{part}"'), encoding="utf-8"
    )
    with pytest.raises(DataError, match="does not stand on line 8"):
        figures("fec-2022", root=tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "field", "problem"),
    [
        ("source.toml", "cpus = 2", 'cpus = "2"', 24, "cpus", "wrong type"),
        ("source.toml", "cpus = 2", "cpus = 0", 24, "cpus", "is not positive"),
        ("source.toml", "cpus = 2", "cores = 2", 24, "cores", "unknown key"),
        ("source.toml", "rate_mbit_s = 1000\n", "", 17, "rate_mbit_s", "is missing"),
        ("source.toml", "date = 2014-04-10", 'date = "2014-04-10"', 4, "date", "wrong type"),
        ("source.toml", 'slug = "mvneta-2014"', 'slug = "mvneta"', 1, "slug", "differs from the folder"),
        ("source.toml", "mtu_bytes = 1500", "mtu_bytes = ", 19, None, "is not TOML"),
        ("source.toml", "tool_output = []", "tool_output = [1]", 7, "tool_output", "wrong type"),
        ("claims.toml", 'id = "throughput-rises"', 'id = "cpu-falls"', 13, "id", "occurs twice"),
        ("claims.toml", '"tso_on.iperf.local.cpu_percent"', '"tso_on.iperf"', 8, "figures", "no such figure"),
        ("claims.toml", 'id = "throughput-rises"\n', "", 12, "id", "is missing"),
        ("claims.toml", "[[claim]]", "[[claims]]", 1, "claim", "something else than claims"),
    ],
)
def test_damaged_toml_is_named(root, name, old, new, line, field, problem):
    edit(root, name, old, new)
    with pytest.raises(DataError, match=rf"{name}:{line}: ") as caught:
        (source if name == "source.toml" else claims)(SLUG, root=root)
    assert problem in caught.value.problem
    assert caught.value.field == field
    assert caught.value.cure


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("[workloads.iperf]", "[workloads.iperf3]", "workload", "iperf"),
        ("tso_off = ", "tso_of = ", "configuration", "tso_off"),
        ("[hosts.local]", "[hosts.lokal]", "side", "local"),
    ],
)
def test_figures_of_something_not_described(root, old, new, field, value):
    edit(root, "source.toml", old, new)
    with pytest.raises(DataError, match=r"source\.toml: .* not described under \[.*did you mean") as caught:
        consistency(SLUG, root=root)
    assert (caught.value.field, caught.value.value) == (field, value)


@pytest.mark.parametrize("name", ["figures.csv", "claims.toml"])
def test_missing_and_undecodable_files(root, name):
    path = root / SLUG / name
    path.write_bytes(b"\xff\xfe")
    load = figures if name == "figures.csv" else claims
    with pytest.raises(DataError, match="not UTF-8"):
        load(SLUG, root=root)
    path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load(SLUG, root=root)


def test_undecodable_raw_text(root):
    (root / SLUG / "raw" / "vmstat.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        figures(SLUG, root=root)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_any_altered_character_loads_or_is_a_data_error(root, data):
    name = data.draw(st.sampled_from(["figures.csv", "claims.toml", "source.toml"]))
    text = (data_dir() / SLUG / name).read_text(encoding="utf-8")
    at = data.draw(st.integers(0, len(text) - 1))
    altered = text[:at] + data.draw(st.characters(codec="utf-8")) + text[at + 1 :]
    (root / SLUG / name).write_text(altered, encoding="utf-8")
    with contextlib.suppress(DataError):
        claims(SLUG, root=root)
        source(SLUG, root=root)
    shutil.copy(data_dir() / SLUG / name, root / SLUG / name)


def test_unknown_slug_and_role_suggest_close_names():
    with pytest.raises(DataError, match="did you mean 'velocity-2009'"):
        figures("velocity-2008")
    with pytest.raises(DataError, match="did you mean 'held_out'"):
        figures("velocity-2009", "heldout")


def test_held_out_rows_are_refused():
    with pytest.raises(RoleError, match="90 of 102 rows must not be fitted") as caught:
        require_fit(figures("velocity-2009"))
    assert "fit_rows" in caught.value.cure
