"""Experiments: the only place where the model and the published figures meet."""

from __future__ import annotations

from nicperf.errors import ScenarioError, closest
from nicperf.experiments.config_reader import FOLDER, available, read
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.sweep import sweep
from nicperf.experiments.threads import ledger, left_out, scores

__all__ = [
    "Experiment",
    "available",
    "experiment",
    "experiments",
    "ledger",
    "left_out",
    "scores",
    "sweep",
]


def experiments() -> list[str]:
    """Slugs of all threads whose figures are stored, whether or not a model answers for them yet."""
    from nicperf.published import slugs

    return slugs()


def experiment(slug: str) -> Experiment:
    """Open one experiment.

    Parameters
    ----------
    slug : str
        One of `experiments()`.

    Returns
    -------
    Experiment

    Raises
    ------
    ScenarioError
        No such slug (with close names), or one whose figures have no model yet.
    DataError
        A damaged file.

    Examples
    --------
    >>> experiment("velocity-2009").workloads["udp_stream"].elapsed_s
    20.0
    """
    from nicperf import simulation
    from nicperf.paths import data_dir
    from nicperf.published import claims, figures

    known = experiments()
    if slug not in known:
        raise ScenarioError("unknown experiment", field="slug", value=slug, cure=closest(slug, known))
    if slug not in available():
        raise ScenarioError(
            "this thread has figures and claims but no model yet",
            field="slug",
            value=slug,
            cure=f"with a model: {', '.join(available())}",
        )
    config = read(FOLDER / f"{slug}.toml")
    return Experiment(config, figures(slug), claims(slug), simulation, data_dir() / slug)
