"""Which assumptions the headline figures hang on, over the whole prior ranges: elementary effects after Morris.

A derivative at the fit tells what one parameter does there. Here every parameter that has a prior range is moved through it,
from many places of all others, so that what acts only together with something else is seen too. The prior says where to look
and the published values say nothing: this is about the model and not about how well it fits.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nicperf.errors import ScenarioError
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.fingerprint import check_made_from, made_from, rounded, stale, text_hash, versions
from nicperf.experiments.leave_out import JUDGED
from nicperf.experiments.predict import Predictor, Row, Ticker, Vector, rows_of
from nicperf.experiments.space import Space
from nicperf.files import write_whole

FILE = "sensitivity.json"
COMMAND = "sensitivity"
# Walks through the cube of prior ranges, each moving every parameter once by two thirds of its range.
TRAJECTORIES = 8
LEVELS = 4
COLUMNS = [
    "id", "configuration", "workload", "side", "quantity", "predicted", "parameter", "unit", "low", "high",
    "mu_percent", "mu_star_percent", "mu_star_confidence_percent", "sigma_percent",
]  # fmt: skip


def headlines(predictor: Predictor, figures: pd.DataFrame) -> list[Row]:
    """One figure for each workload and quantity: of the last configuration that was held out, or else fitted.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment.
    figures : DataFrame
        All published rows; only their names are used.

    Returns
    -------
    list of Row
        In the order of `figures`; of two sides the one that stands first there.
    """
    rows = []
    for _, group in figures[figures["role"].isin(JUDGED)].groupby(["workload", "quantity"], sort=False):
        held_out = group[group["role"] == "held_out"]
        asked = held_out if len(held_out) else group
        rows.append(asked[asked["configuration"] == asked["configuration"].iloc[-1]].head(1))
    return [row for frame in rows for row in rows_of(frame) if predictor.can_predict(row)]


def sensitivity(
    predictor: Predictor, figures: pd.DataFrame, fitted: Vector, tick: Ticker | None = None
) -> pd.DataFrame:
    """Elementary effects of every parameter with a prior range on the headline figures.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment; `config.calibration.seed` draws the trajectories.
    figures : DataFrame
        All published rows; see `headlines`.
    fitted : mapping
        Values of the fit: percentages are of what they predict.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    DataFrame
        One line for each headline and parameter, of a headline the strongest first: id, configuration, workload, side,
        quantity; predicted (at the fit, in the figure's unit); parameter, unit, low, high (its prior range); and, in percent
        of `predicted` for the whole prior range, mu_percent (mean effect), mu_star_percent (mean of the effects' sizes),
        mu_star_confidence_percent (half of its 95 % interval, by resampling the trajectories) and sigma_percent (standard
        deviation of the effects: how much they depend on the place).

    Raises
    ------
    ScenarioError
        No parameter has a prior range.

    Notes
    -----
    Ranges of positive numbers are walked in logarithms, as in the fit. With few trajectories the order of the strongest
    is told, and what does nothing at all; not small differences.

    Source
    ------
    M. D. Morris, "Factorial Sampling Plans for Preliminary Computational Experiments" (1991); the mean of sizes after
    F. Campolongo et al., "An effective screening design for sensitivity analysis of large models" (2007).
    """
    from SALib.analyze import morris as analysis  # takes matplotlib along
    from SALib.sample import morris as design

    config = predictor.config
    space = Space((*config.free, *config.ranged))
    if not space.free:
        raise ScenarioError(
            "no parameter has a prior range", place=config.slug, field="parameters", cure="give one a range"
        )
    problem: dict[str, Any] = {
        "num_vars": len(space.free),
        "names": space.names,
        "bounds": [[0.0, 1.0]] * len(space.free),
    }
    seed = config.calibration.seed
    points = design.sample(problem, TRAJECTORIES, num_levels=LEVELS, seed=seed)
    rows = headlines(predictor, figures)
    vectors = [fitted, *(space.vector(point) for point in points)]
    at_fit, *moved = np.array(predictor.predict(rows, vectors, tick), dtype=float)
    frames = []
    for row, predicted, values in zip(rows, at_fit, np.transpose(moved), strict=True):
        shares = 100 * values / predicted
        found = analysis.analyze(problem, points, shares, num_levels=LEVELS, seed=seed)
        frame = pd.DataFrame(
            {
                **vars(row),
                "predicted": predicted,
                "parameter": space.names,
                "unit": [a.unit for a in space.free],
                "low": [a.low for a in space.free],
                "high": [a.high for a in space.free],
                "mu_percent": np.asarray(found["mu"]),
                "mu_star_percent": np.asarray(found["mu_star"]),
                "mu_star_confidence_percent": np.asarray(found["mu_star_conf"], dtype=float),
                "sigma_percent": np.asarray(found["sigma"]),
            }
        )
        frames.append(frame.sort_values("mu_star_percent", ascending=False, kind="stable"))
    return pd.DataFrame(rounded(pd.concat(frames).to_dict("records")), columns=COLUMNS)


def write_sensitivity(
    frame: pd.DataFrame, path: Path, config: ExperimentConfig, figures: pd.DataFrame, fit_hash: str
) -> None:
    """Store indices with the hashes of what they were made from; the file appears whole or not at all.

    Parameters
    ----------
    frame : DataFrame
        From `sensitivity`.
    path : Path
        The file.
    config : ExperimentConfig
        The experiment.
    figures : DataFrame
        All published rows.
    fit_hash : str
        Of the fit, whose predictions the percentages are of.
    """
    content = {
        "slug": config.slug,
        "made_from": made_from(config, _fitted(figures)) | _more(figures, fit_hash),
        "made_with": versions() | {"salib": metadata.version("salib")},
        "effects": frame.to_dict("records"),
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")


def read_sensitivity(
    path: Path, config: ExperimentConfig, figures: pd.DataFrame, fit_hash: str
) -> pd.DataFrame:
    """Read stored indices and check that they belong to this experiment as it stands.

    Raises
    ------
    DataError
        There are none, the file is damaged, or it was made from other assumptions, figures, roles or another fit.
    """
    place = f"{config.slug}/{FILE}"
    if not path.exists():
        raise stale(place, config.slug, "no indices are stored yet", command=COMMAND)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        recorded = content["made_from"]
        frame = pd.DataFrame(content["effects"])[COLUMNS]
        frame = frame.astype({name: float for name in COLUMNS if name.endswith("_percent")})
    except (ValueError, KeyError, TypeError) as error:
        problem = f"these are no stored indices: {error!r}"
        raise stale(place, config.slug, problem, command=COMMAND) from None
    more = _more(figures, fit_hash)
    check_made_from(place, recorded, config, _fitted(figures), command=COMMAND, **more)
    return frame


def _fitted(figures: pd.DataFrame) -> pd.DataFrame:
    return figures[figures["role"] == "fit"]


def _more(figures: pd.DataFrame, fit_hash: str) -> dict[str, str]:
    """What the indices depend on besides the fit's own: which figures are headlines follows from the roles."""
    roles = figures[["id", "role"]].to_csv(index=False)
    return {"fit": fit_hash, "roles": text_hash(roles)}
