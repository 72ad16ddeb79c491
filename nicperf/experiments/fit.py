"""The result of a calibration, and the file that keeps it: `data/<slug>/fit.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.files import write_whole
from nicperf.experiments.fingerprint import config_hash, figures_hash, versions

# A model whose fitted rows moved by more than this share since the fit is another model.
SAME_MODEL = 1e-3


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
        Parameter vectors within delta of the best, the best first.
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

    def check_model(self, predicted: Mapping[str, float]) -> None:
        """Refuse a model that no longer predicts the fitted rows as it did when it was fitted.

        Raises
        ------
        DataError
            Naming the row that moved most, and the command that renews the fit.
        """
        then = dict(zip(self.residuals["id"], self.residuals["predicted"], strict=True))
        moved = {row: abs(predicted[row] / value - 1) for row, value in then.items()}
        worst = max(moved, key=lambda row: moved[row])
        if moved[worst] > SAME_MODEL:
            raise _stale(
                self.slug,
                f"the model has changed since the fit: {worst} was {then[worst]:.6g}",
                f"fit of {worst}",
                predicted[worst],
            )


def write_fit(fit: Fit, path: Path, config: ExperimentConfig, figures: pd.DataFrame) -> None:
    """Store a fit with the hashes of what it was made from; the file appears whole or not at all."""
    names = list(fit.values)
    content = {
        "slug": fit.slug,
        "made_from": {"config": config_hash(config), "figures": figures_hash(figures)},
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
    write_whole(path, json.dumps(_rounded(content), indent=1) + "\n")


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
        made_from = content["made_from"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"this is not a stored fit: {error!r}", place=path.name, cure=_again(config.slug)
        ) from None
    for what, now in (("config", config_hash(config)), ("figures", figures_hash(figures))):
        if made_from.get(what) != now:
            raise _stale(
                config.slug, f"the {what} changed since this fit was made", f"made_from.{what}", None
            )
    return fit


def _stale(slug: str, problem: str, field: str, value: object) -> DataError:
    return DataError(problem, place=f"{slug}/fit.json", field=field, value=value, cure=_again(slug))


def _again(slug: str) -> str:
    return f"run `nicperf calibrate {slug} --write`"


def _rounded(value: Any) -> Any:
    """Six significant digits everywhere, so that a re-made file differs only where the fit does."""
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
