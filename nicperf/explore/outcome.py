"""What one setting comes to: the figures, the cost of a frame and what limits it, and all of it as a file."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from nicperf.charts import labels
from nicperf.explore.setting import Setting
from nicperf.report.sweeps import published_figures, quantity
from nicperf.simulation.systems import SIDES, SYSTEMS

if TYPE_CHECKING:
    from nicperf.simulation import Run

#: Of the latency.
PERCENTILES = ("p50", "p99")


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run of a setting.

    Attributes
    ----------
    setting : Setting
    run : Run
    wall_s : float
        What the simulation took.
    duration_s : float
        Simulated seconds measured; a preview has fewer than the experiment asks for.
    """

    setting: Setting
    run: Run
    wall_s: float
    duration_s: float

    @classmethod
    def of(cls, setting: Setting, part: float = 1.0) -> Outcome:
        """Simulate.

        Parameters
        ----------
        setting : Setting
        part : float
            Share of the experiment's own duration and warm-up: less than 1 for a preview.

        Raises
        ------
        ScenarioError
            Settings that are allowed one by one but not together.
        """
        exp, pair = setting.exp, (setting.configuration, setting.workload)
        start = time.perf_counter()
        if part == 1.0:
            run = exp.simulate(*pair, **setting.changed)
        else:
            asked = exp.scenario(*pair, **setting.changed)
            asked |= {name: part * asked[name] for name in ("duration_s", "warmup_s")}
            run = exp.model.simulate(seed=0, **asked)
        return cls(setting, run, time.perf_counter() - start, part * exp.config.duration_s)

    @cached_property
    def figures(self) -> dict[str, float]:
        """Rate, CPU and interrupts as the experiment's figures have them, and latency; by name with unit."""
        exp, run = self.setting.exp, self.run
        workload = exp.workloads[self.setting.workload].workload
        names = [SYSTEMS[exp.config.driver].rate(workload)]
        names += [f"{name}_{side}" for name in ("cpu_percent", "interrupts_per_s") for side in SIDES]
        found = {name: float(quantity(exp, run, name)) for name in names}
        if f"latency_{PERCENTILES[0]}_us" in run.summary:  # of a closed loop's transactions
            return found | {f"latency_{p}_us": run.summary[f"latency_{p}_us"] for p in PERCENTILES}
        frames: Any = run.percentiles.set_index("quantity").loc["frame_latency_us"]
        return found | {f"frame_latency_{p}_us": float(frames[p]) for p in PERCENTILES}

    @cached_property
    def costs(self) -> dict[tuple[str, str], float]:
        """CPU time of a data frame in ns by side and operation, the dearest first."""
        table = self.run.costs
        sums: dict[tuple[str, str], float] = {}
        for side, operation, ns in zip(table["side"], table["operation"], table["ns_per_frame"], strict=True):
            sums[side, operation] = sums.get((side, operation), 0.0) + float(ns)
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    @cached_property
    def limits(self) -> dict[str, float]:
        """Percent of throughput per percent that each resource gets faster; takes a run for each resource."""
        table = self.run.elasticities.dropna()
        return dict(zip(table["resource"], map(float, table["elasticity"]), strict=True))

    @property
    def published(self) -> Mapping[str, float]:
        """Published figures of this configuration and workload, by the names of `figures`."""
        return _published(self.setting.exp, self.setting.configuration, self.setting.workload)


#: A query of the table takes as long as a run.
_published = cache(published_figures)


def as_csv(now: Outcome, before: Outcome | None) -> str:
    """Everything that the panel shows, as one table: quantity, unit, now, before, published."""
    published = now.published
    rows: list[tuple[Any, ...]] = [("quantity", "unit", "now", "before", "published")]
    for name, value in now.figures.items():
        old = before.figures.get(name, "") if before else ""
        rows.append((name, labels.unit(name), value, old, published.get(name, "")))
    for side, operation in dict.fromkeys([*now.costs, *(before.costs if before else ())]):
        old = before.costs.get((side, operation), 0.0) if before else ""
        name = f"cost.{side}.{operation}"
        rows.append((name, "ns per frame", now.costs.get((side, operation), 0.0), old, ""))
    for name in dict.fromkeys([*now.setting.changed, *(before.setting.changed if before else ())]):
        old = before.setting.changed.get(name, "") if before else ""
        rows.append((f"changed.{name}", "", now.setting.changed.get(name, ""), old, ""))
    for name in ("configuration", "workload"):
        rows.append(
            (name, "", getattr(now.setting, name), getattr(before.setting, name) if before else "", "")
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
