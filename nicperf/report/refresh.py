"""Brings the stored notebooks up to date, or says what keeps them from being so."""

from __future__ import annotations

import os
from pathlib import Path

from nicperf.errors import DataError
from nicperf.files import write_whole
from nicperf.report.execute import Say, execute
from nicperf.report.normalise import complaints, stored
from nicperf.report.site import found


def update(
    notebooks: str | Path = "notebooks",
    *,
    cache: str | Path = "build/report",
    fresh: bool = False,
    say: Say = print,
) -> list[Path]:
    """Execute all notebooks and write them back in their stored form.

    Parameters
    ----------
    notebooks, cache, fresh, say
        As for `nicperf.report.build`.

    Returns
    -------
    list of Path
        The files that changed.

    Raises
    ------
    NotebookError
        A cell failed; no file is touched.
    """
    changed = []
    for done in execute(found(notebooks), Path(cache), fresh=fresh, say=say):
        text = stored(done.notebook)
        if done.path.read_text(encoding="utf-8") != text:
            write_whole(done.path, text)
            changed.append(done.path)
            say(f"{done.path.stem}: updated")
    return changed


def check(notebooks: str | Path = "notebooks") -> None:
    """Refuse notebooks that `update` would write differently, without executing them.

    Raises
    ------
    DataError
        Naming each file and what is wrong with it.
    """
    wrong = [f"{path.name} {reason}" for path in found(notebooks) for reason in complaints(path)]
    if wrong:
        raise DataError("; ".join(wrong), place=str(notebooks), cure="run `python -m nicperf.report update`")


def picture(slug: str, path: str | Path) -> Path:
    """Write the chart of an experiment's published and predicted figures as a PNG.

    Parameters
    ----------
    slug : str
        An experiment that has a model.
    path : path
        File to write.

    Returns
    -------
    Path
        The file.
    """
    from nicperf import charts, experiment
    from nicperf.charts.render import png, stable

    ledger = experiment(slug).ledger()
    chart = charts.figures(ledger[ledger["role"].isin(["fit", "held_out"])])
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(png(stable(chart.to_dict()), scale=1.5))
    os.replace(beside, path)
    return path
