"""One setting of the panel: which experiment, configuration and workload, and what differs from them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from nicperf.experiments import available, experiment
from nicperf.experiments.scenario import check_setting

if TYPE_CHECKING:
    from nicperf.experiments import Experiment


@dataclass(frozen=True)
class Setting:
    """What one run is made from.

    Attributes
    ----------
    exp : Experiment
    configuration, workload : str
        Of the experiment.
    changed : mapping
        Dotted name -> value, checked: what the reader has moved.
    """

    exp: Experiment
    configuration: str
    workload: str
    changed: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def start(
        cls, exp: Experiment | str | None, configuration: str | None = None, workload: str | None = None
    ) -> Setting:
        """Setting without changes; what is not given is the experiment's first.

        Raises
        ------
        ScenarioError
            An unknown name, with close ones.
        """
        opened = opened_experiment(exp or threads()[0]) if exp is None or isinstance(exp, str) else exp
        pair = configuration or next(iter(opened.configurations)), workload or next(iter(opened.workloads))
        opened.config.configuration(pair[0]), opened.config.workload(pair[1])
        return cls(opened, *pair)

    def checked(self, asked: Mapping[str, Any]) -> tuple[Setting, dict[str, str]]:
        """The same with other changes, as far as they make sense, and for each that does not the reason.

        Parameters
        ----------
        asked : mapping
            Dotted name -> value or text of a value.

        Returns
        -------
        Setting, dict of str to str
        """
        specs = self.exp.model.parameters(self.exp.config.driver)
        good, wrong = {}, {}
        for name, value in asked.items():
            try:
                good[name] = check_setting(name, value, specs, place=self.exp.slug)
            except ValueError as error:
                wrong[name] = str(error)
        return Setting(self.exp, self.configuration, self.workload, good), wrong

    @property
    def place(self) -> dict[str, str]:
        """Names of experiment, configuration and workload."""
        return {
            "thread": self.exp.slug,
            "configuration": self.configuration,
            "workload": self.workload,
        }

    @property
    def code(self) -> str:
        """Python that makes this run."""
        lines = [f'    "{name}": {value!r},' for name, value in self.changed.items()]
        words = [f'"{self.configuration}"', f'"{self.workload}"']
        if lines:
            words.append("**changed")
        call = f"run = exp.simulate({', '.join(words)})"
        head = ["import nicperf as nic", "", f'exp = nic.experiment("{self.exp.slug}")']
        changes = ["changed = {", *lines, "}"] if lines else []
        return "\n".join([*head, *changes, call, "run.summary"])

    @property
    def command(self) -> str:
        """Command line that makes this run."""
        changes = [f"--set={name}={_word(value)}" for name, value in self.changed.items()]
        return shlex.join(["nicperf", "simulate", self.exp.slug, self.configuration, self.workload, *changes])


@cache
def opened_experiment(slug: str) -> Experiment:
    """Each experiment is read once: a reader goes back and forth between them."""
    return experiment(slug)


def threads() -> list[str]:
    """Experiments whose model has what it needs to answer."""
    return [slug for slug in available() if opened_experiment(slug).calibrated]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
