"""The result of a calibration, and the file that keeps it: `data/<slug>/fit.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.fingerprint import check_made_from, made_from, rounded, stale, text_hash, versions
from nicperf.files import write_whole


@dataclass(frozen=True)
class Fit:
    """Fitted values with everything needed to trust or refuse them.

    Attributes
    ----------
    slug : str
        The experiment.
    values : mapping
        Free parameter to fitted value, in the parameter's unit.
    cost, delta : float
        Sum of squared misses in units of the tolerance, and how far it may rise for an equally good vector.
    residuals : DataFrame
        id, published, predicted, error_percent, misses_of_tolerance: one row for each fitted figure.
    parameters : DataFrame
        name, unit, value, low, high (profile interval), jacobian_low, jacobian_high, prior_low, prior_high,
        width.
    correlation : DataFrame
        Between the parameters.
    inseparable : sequence of str
        What these rows cannot tell apart, in sentences.
    equally_good : sequence of mapping
        Parameter vectors within delta of the best, the best first, then those met on the way to the ends of the
        profile intervals. `ensemble.Ensemble` adds many more.
    start_costs : sequence of float
        Cost reached from each starting point, lowest first.
    """

    slug: str
    values: Mapping[str, float]
    cost: float
    delta: float
    residuals: pd.DataFrame
    parameters: pd.DataFrame
    correlation: pd.DataFrame
    inseparable: Sequence[str] = ()
    equally_good: Sequence[Mapping[str, float]] = ()
    start_costs: Sequence[float] = ()

    @property
    def figures_per_parameter(self) -> float:
        """Fitted figures for each free parameter; above 1, or there was nothing to learn."""
        return len(self.residuals) / len(self.values)

    @property
    def hash(self) -> str:
        """Short hash of the fitted vectors."""
        return text_hash(json.dumps([dict(vector) for vector in (self.values, *self.equally_good)]))


def write_fit(fit: Fit, path: Path, config: ExperimentConfig, figures: pd.DataFrame) -> None:
    """Store a fit with the hashes of what it was made from; the file appears whole or not at all."""
    names = list(fit.values)
    content = {
        "slug": fit.slug,
        "made_from": made_from(config, figures),
        "made_with": versions(),
        "cost": fit.cost,
        "delta": fit.delta,
        "start_costs": list(fit.start_costs),
        "parameters": fit.parameters.to_dict("records"),
        "residuals": fit.residuals.to_dict("records"),
        "inseparable": list(fit.inseparable),
        "correlation": fit.correlation.to_numpy().tolist(),
        "equally_good": {"names": names, "vectors": [[v[n] for n in names] for v in fit.equally_good]},
    }
    write_whole(path, json.dumps(rounded(content), indent=1) + "\n")


def read_fit(path: Path, config: ExperimentConfig, figures: pd.DataFrame) -> Fit:
    """Read a stored fit and check that it belongs to this experiment as it stands.

    Parameters
    ----------
    path : Path
        The file.
    config : ExperimentConfig
        The experiment.
    figures : DataFrame
        The rows of role ``fit``.

    Raises
    ------
    DataError
        The file is damaged, or it was made from other assumptions or figures.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = content["equally_good"]["names"]
        parameters = pd.DataFrame(content["parameters"])
        fit = Fit(
            slug=content["slug"],
            values=dict(zip(parameters["name"], parameters["value"], strict=True)),
            cost=content["cost"],
            delta=content["delta"],
            residuals=pd.DataFrame(content["residuals"]),
            parameters=parameters,
            correlation=pd.DataFrame(content["correlation"], index=names, columns=names),
            inseparable=tuple(content["inseparable"]),
            equally_good=tuple(dict(zip(names, v, strict=True)) for v in content["equally_good"]["vectors"]),
            start_costs=tuple(content["start_costs"]),
        )
        recorded = content["made_from"]
    except (ValueError, KeyError, TypeError) as error:
        raise stale(path.name, config.slug, f"this is not a stored fit: {error!r}") from None
    check_made_from(path.name, recorded, config, figures)
    return fit
