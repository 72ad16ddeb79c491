"""The ledger over all threads, with a model or without, and what it adds up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from nicperf import published
from nicperf.experiments import verdicts
from nicperf.experiments.leave_out import COLUMNS as LEFT_OUT
from nicperf.experiments.ledger import COLUMNS, unanswered
from nicperf.experiments.scores import score
from nicperf.paths import data_dir


def ledger(slug: str | None = None, *, progress: bool = False) -> pd.DataFrame:
    """Every published figure and every claim, with prediction and verdict.

    Parameters
    ----------
    slug : str, optional
        One thread; all when not given.
    progress : bool
        Show a progress bar for each.

    Returns
    -------
    DataFrame
        `slug`, then the columns of `Experiment.ledger`. Rows of a thread without a model, or whose model has not
        been calibrated yet, are there, too, as *cannot tell*.

    Raises
    ------
    DataError
        No such thread, or a stored fit that does not belong to its experiment as it stands.
    """
    names = [slug] if slug else published.slugs()
    return _stacked(((name, _ledger(name, progress)) for name in names), COLUMNS)


def scores(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Errors of the held-out figures: the model's, and on the same rows those of four baselines.

    Parameters
    ----------
    frame : DataFrame, optional
        A ledger, of one experiment or of several; that of all threads when not given.

    Returns
    -------
    DataFrame
        See `nicperf.experiments.scores.score`.
    """
    return score(ledger() if frame is None else frame)


def left_out(slug: str | None = None) -> pd.DataFrame:
    """Errors where a configuration or a workload was left out of the fit, of each thread that has a model.

    Parameters
    ----------
    slug : str, optional
        One thread; all when not given.

    Returns
    -------
    DataFrame
        `slug`, then the columns of `nicperf.experiments.leave_out.errors`.

    Raises
    ------
    ScenarioError
        A thread without a model.
    DataError
        A thread's refits are not stored, or belong to another experiment.
    """
    from nicperf.experiments import experiment

    names = [slug] if slug else [name for name in published.slugs() if _answered(name)]
    return _stacked(((name, experiment(name).left_out) for name in names), LEFT_OUT)


def calibrated(ledger: pd.DataFrame) -> tuple[dict[str, int], pd.DataFrame]:
    """Number of free parameters of each thread of a ledger that has a model, and errors of what was left out."""
    from nicperf.experiments import experiment

    names = [slug for slug, _, _ in _with_model(ledger)]
    free = {name: len(experiment(name).config.free) for name in names}
    return free, _stacked(((name, experiment(name).left_out) for name in names), LEFT_OUT)


def changed_verdicts(ledger: pd.DataFrame) -> pd.DataFrame:
    """Verdicts that differ from the recorded ones.

    Parameters
    ----------
    ledger : DataFrame
        From `ledger`.

    Returns
    -------
    DataFrame
        slug, id, recorded, computed; empty when none does. Threads without a model have none recorded.

    Raises
    ------
    DataError
        No verdicts are recorded for a thread that has a model.
    """
    changed = {slug: verdicts.changed_verdicts(rows, path) for slug, rows, path in _with_model(ledger)}
    return _stacked(changed.items(), ["id", "recorded", "computed"])


def record_verdicts(ledger: pd.DataFrame) -> None:
    """Record the verdicts of a ledger, of each thread that has a model, as the ones that tests expect."""
    for _, rows, path in _with_model(ledger):
        verdicts.write_verdicts(rows, path)


def _with_model(ledger: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, Path]]:
    """Rows of each thread that a model answers for, and the file of its recorded verdicts."""
    for slug, rows in ledger.groupby("slug", sort=False):
        if _answered(str(slug)):
            yield str(slug), rows, data_dir() / str(slug) / "verdicts.csv"


def _answered(slug: str) -> bool:
    """Whether a thread has a model, and the model a fit."""
    from nicperf.experiments import available, experiment

    return slug in available() and experiment(slug).calibrated


def _ledger(slug: str, progress: bool) -> pd.DataFrame:
    from nicperf.experiments import experiment

    if _answered(slug):
        return experiment(slug).ledger(progress=progress)
    return unanswered(published.figures(slug), published.claims(slug))


def _stacked(frames: Iterable[tuple[str, pd.DataFrame]], columns: Sequence[str]) -> pd.DataFrame:
    """One frame below the other, `slug` in front; with these columns, even where there is no frame."""
    parts = dict(frames)
    if not parts:
        return pd.DataFrame(columns=["slug", *columns])
    return pd.concat(parts, names=["slug", None]).reset_index(level=0).reset_index(drop=True)
