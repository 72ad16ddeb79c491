"""One published experiment with its model: the face that notebooks, reports and the command line use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.claims import judge_claims, rows_in
from nicperf.experiments.config import Configuration, ExperimentConfig, Workload
from nicperf.experiments.ensemble import Ensemble, read_ensemble, write_ensemble
from nicperf.experiments.fit import Fit, read_fit, write_fit
from nicperf.experiments.ledger import ledger, with_claims
from nicperf.experiments.model import Model
from nicperf.experiments.predict import Predictor, Row, Vector, rows_of
from nicperf.experiments.scenario import check_config, check_setting, settings
from nicperf.experiments.settable import axis
from nicperf.experiments.validate import Validation, summarise
from nicperf.experiments.verdicts import changed_verdicts, write_verdicts
from nicperf.progress import bar


class Experiment:
    """A published experiment, its figures and claims, and the model that answers for it.

    Parameters
    ----------
    config : ExperimentConfig
        From `configs/<slug>.toml`.
    figures, claims : DataFrame
        What was published.
    model : Model
        The simulator.
    folder : Path
        Where the fit and the recorded verdicts of this experiment lie.

    Raises
    ------
    ScenarioError, DataError
        The experiment sets something that the model does not know or refuses.

    Attributes
    ----------
    slug, title : str
    config, model, folder
        As given.
    figures : DataFrame
        One row for each published figure.
    claims : DataFrame
        One row for each claim of the thread, in our words.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        figures: pd.DataFrame,
        claims: pd.DataFrame,
        model: Model,
        folder: Path,
    ) -> None:
        specs = model.parameters(config.driver)
        check_config(config, specs)
        for name, limits in config.settable.items():
            axis(name, limits, specs, f"{config.slug}.toml: [settable]")
        self.config = config
        self.slug = config.slug
        self.title = config.title
        self.figures = figures
        self.claims = claims
        self.model = model
        self.folder = folder
        self._predictor = Predictor(config, model)

    def __repr__(self) -> str:
        return f"<Experiment {self.slug}: {self.title}>"

    @property
    def configurations(self) -> Mapping[str, Configuration]:
        """Configurations that rows were published for, by name."""
        return self.config.configurations

    @property
    def workloads(self) -> Mapping[str, Workload]:
        """Workloads by name."""
        return self.config.workloads

    @property
    def parameters(self) -> pd.DataFrame:
        """Every assumption: name, value, unit, origin, source, low, high, note.

        For a fitted parameter `value` is the fitted one and `low`..`high` its profile interval; `prior_low`
        and `prior_high` are the range it was allowed.
        """
        intervals = self.fit.parameters.set_index("name") if self.config.free else pd.DataFrame()
        rows = []
        for a in self.config.assumptions:
            known = a.name in intervals.index
            found = intervals.loc[a.name] if known else {"value": a.value, "low": None, "high": None}
            rows.append(
                {
                    "name": a.name,
                    "value": found["value"],
                    "unit": a.unit,
                    "origin": a.origin,
                    "source": a.source,
                    "low": found["low"],
                    "high": found["high"],
                    "prior_low": a.low,
                    "prior_high": a.high,
                    "note": a.note,
                }
            )
        return pd.DataFrame(rows)

    @property
    def calibrated(self) -> bool:
        """Whether a fit is stored, or nothing needs one."""
        return not self.config.free or (self.folder / "fit.json").exists()

    @cached_property
    def fit(self) -> Fit:
        """The stored calibration.

        Raises
        ------
        DataError
            There is none, or it was made from other assumptions or figures.
        """
        path = self.folder / "fit.json"
        if not path.exists():
            raise DataError(
                "this experiment has not been calibrated",
                place=self.slug,
                field="fit.json",
                cure=f"run `nicperf calibrate {self.slug} --write`",
            )
        return read_fit(path, self.config, self._fit_rows)

    @cached_property
    def ensemble(self) -> Ensemble:
        """Parameter vectors that fit equally well, with what each predicts.

        Raises
        ------
        DataError
            There is none, or it was made from other assumptions, figures or another fit.
        """
        if not self.config.free:
            return Ensemble(self.slug, [], pd.DataFrame(index=[0]), [{}])
        return read_ensemble(self.folder / "ensemble.json", self.config, self._fit_rows, self.fit)

    def scenario(self, configuration: str, workload: str, **overrides: Any) -> dict[str, Any]:
        """What is handed to the model for one run.

        Parameters
        ----------
        configuration : str
            A configuration of the experiment; ``baseline+napi`` adds a patch to the sending host.
        workload : str
            A workload of the experiment.
        **overrides
            Parameters by dotted name; a plain name sets both hosts, ``local.`` or ``remote.`` before it one.

        Returns
        -------
        dict
            driver, workload, params, duration_s, warmup_s: the arguments of `nicperf.simulation.simulate`.

        Raises
        ------
        ScenarioError
            An unknown name, with close ones, or a value out of range.
        """
        specs = self.model.parameters(self.config.driver)
        chosen = self.config.workload(workload)
        place = f"{self.slug} {configuration} {workload}"
        changed = {name: check_setting(name, value, specs, place=place) for name, value in overrides.items()}
        patched = self.config.configuration(configuration)
        return {
            "driver": self.config.driver,
            "workload": chosen.workload,
            "params": settings(self.config, patched, chosen, self._fitted, changed),
            "duration_s": self.config.duration_s,
            "warmup_s": self.config.warmup_s,
        }

    def simulate(
        self,
        configuration: str,
        workload: str,
        seed: int = 0,
        *,
        fidelity: str = "timing",
        **overrides: Any,
    ) -> Any:
        """Run the model once with the fitted values.

        Parameters
        ----------
        configuration, workload : str
            See `scenario`.
        seed : int
            Same scenario and same seed give the same run.
        fidelity : {"timing", "bytes"}
            ``bytes`` carries real frames: the same figures, slower, and `to_pcapng` has something to write.
        **overrides
            Any parameter by dotted name, as ``**{"nic.dma_burst_dwords": 64}``.

        Returns
        -------
        nicperf.simulation.Run
            With `summary`, `counters`, `costs`, `bus`, `timeline`, `percentiles`, `binding`, `elasticities`, and
            what it can be written as: `to_pcapng`, `to_folded`, `to_speedscope`, `to_netperf`, `to_iperf`.

        Raises
        ------
        ScenarioError
            An unknown name, with close ones, a value out of range, or bytes in a system without them.
        """
        scenario = self.scenario(configuration, workload, **overrides)
        return self.model.simulate(seed=seed, fidelity=fidelity, **scenario)

    def calibrate(self, *, write: bool = False, progress: bool = False) -> Fit:
        """Fit the free parameters to the rows of role ``fit`` and draw the vectors that fit equally well.

        Parameters
        ----------
        write : bool
            Store both as those of this experiment.
        progress : bool
            Show a progress bar.

        Returns
        -------
        Fit
            Also what this object uses from now on.
        """
        from nicperf.experiments.calibrate import calibrate  # scipy takes a second to import
        from nicperf.experiments.draw import draw
        from nicperf.experiments.walk import LowerPoint

        further: list[Any] = []
        while True:
            fit = calibrate(self._predictor, self._fit_rows, further=further, progress=progress)
            try:
                with bar("ensemble", progress) as tick:
                    ensemble = draw(self._predictor, self._fit_rows, fit, self._asked, tick)
                break
            except LowerPoint as lower:  # all earlier searches are remembered: only this one is new
                further.append(lower.point)
        if write:
            write_fit(fit, self.folder / "fit.json", self.config, self._fit_rows)
            write_ensemble(ensemble, self.folder / "ensemble.json", self.config, self._fit_rows, fit)
        self.fit, self.ensemble = fit, ensemble
        return fit

    def ledger(self, *, progress: bool = False) -> pd.DataFrame:
        """Each published figure and each claim with its verdict.

        Returns
        -------
        DataFrame
            kind, id, configuration, workload, side, quantity, unit, role, published, spread, predicted, low, high,
            error_percent, tolerance_percent, verdict, why. Claims follow the figures with role ``claim``
            and no numbers. `low` and `high` span the parameter vectors that fit equally well. no_change,
            wire_ceiling, regression and nearest_row are what the baselines predict of held-out rows.

        Raises
        ------
        DataError
            The model predicts these rows otherwise than when the equally good vectors were drawn.
        """
        with bar("ledger", progress) as tick:
            ensemble = self.ensemble.completed(self._predictor, self._asked, tick)
            figures = ledger(self.figures, self._predictor, ensemble, tick)
        self.ensemble.check_model(dict(zip(figures["id"], figures["predicted"], strict=True)))
        return with_claims(figures, judge_claims(self.claims, self.figures, self.config, ensemble))

    def validate(self, *, progress: bool = False) -> Validation:
        """Errors by quantity and role, against the goals; counts of verdicts."""
        return summarise(self.ledger(progress=progress), self.config.goals, len(self.config.free))

    @cached_property
    def left_out(self) -> pd.DataFrame:
        """Errors of each configuration and each workload when it is left out of the fit, from stored refits.

        Raises
        ------
        DataError
            There are none, or they were made from other assumptions or figures.
        """
        from nicperf.experiments.leave_out import FILE, errors, read_refits

        refits = read_refits(self.folder / FILE, self.config, self._fit_rows)
        return errors(self._predictor, self.figures, self._fitted, refits)

    def leave_out(self, *, write: bool = False, progress: bool = False) -> pd.DataFrame:
        """Fit again without each configuration and each workload, and predict what was left out.

        Parameters
        ----------
        write : bool
            Store the refits as this experiment's.
        progress : bool
            Show a progress bar.

        Returns
        -------
        DataFrame
            See `nicperf.experiments.leave_out.errors`. Also what `left_out` is from now on.
        """
        from nicperf.experiments.leave_out import FILE, errors, refit, write_refits

        with bar("leave out", progress) as tick:
            refits = refit(self._predictor, self.figures, tick)
        if write:
            write_refits(refits, self.folder / FILE, self.config, self._fit_rows)
        self.left_out = errors(self._predictor, self.figures, self._fitted, refits)
        return self.left_out

    @cached_property
    def sensitivity(self) -> pd.DataFrame:
        """What the headline figures hang on, over the prior ranges: stored indices after Morris.

        See `nicperf.experiments.sensitivity.sensitivity` for the columns.

        Raises
        ------
        DataError
            There are none, or they were made from other assumptions, figures or another fit.
        """
        from nicperf.experiments.sensitivity import FILE, read_sensitivity

        return read_sensitivity(self.folder / FILE, self.config, self.figures, self._fit_hash)

    def screen(self, *, write: bool = False, progress: bool = False) -> pd.DataFrame:
        """Move every parameter that has a prior range through it, and see what that does to the headline figures.

        Parameters
        ----------
        write : bool
            Store the indices as this experiment's.
        progress : bool
            Show a progress bar.

        Returns
        -------
        DataFrame
            See `nicperf.experiments.sensitivity.sensitivity`. Also what `sensitivity` is from now on.

        Raises
        ------
        ScenarioError
            No parameter has a prior range.
        """
        from nicperf.experiments.sensitivity import FILE, sensitivity, write_sensitivity

        with bar("sensitivity", progress) as tick:
            found = sensitivity(self._predictor, self.figures, self._fitted, tick)
        if write:
            write_sensitivity(found, self.folder / FILE, self.config, self.figures, self._fit_hash)
        self.sensitivity = found
        return found

    def ablation(self, *, progress: bool = False) -> pd.DataFrame:
        """What each patch does alone and in order; see `nicperf.experiments.ablation.ablation`."""
        from nicperf.experiments.ablation import ablation

        with bar("ablation", progress) as tick:
            return ablation(self._predictor, self._vectors, tick)

    def record_verdicts(self) -> Path:
        """Store the verdicts of the ledger as the ones that tests expect; returns the file."""
        return write_verdicts(self.ledger(), self.folder / "verdicts.csv")

    def changed_verdicts(self) -> pd.DataFrame:
        """Verdicts that differ from the recorded ones: id, recorded, computed; empty when none does."""
        return changed_verdicts(self.ledger(), self.folder / "verdicts.csv")

    @property
    def _fit_rows(self) -> pd.DataFrame:
        return self.figures[self.figures["role"] == "fit"]

    @property
    def _asked(self) -> list[Row]:
        return [*rows_of(self.figures), *rows_in(self.claims, self.slug)]

    @property
    def _fitted(self) -> Vector:
        return self.fit.values if self.config.free else {}

    @property
    def _fit_hash(self) -> str:
        return self.fit.hash if self.config.free else ""

    @property
    def _vectors(self) -> Sequence[Vector]:
        return self.fit.equally_good if self.config.free else [{}]
