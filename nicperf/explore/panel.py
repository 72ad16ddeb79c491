"""What a panel does with the reader's moves: check, simulate the newest, compare, and say what limits.

Nothing here knows of widgets. A request is a mapping that any front end can make, an answer a mapping that it
can draw; requests may come faster than they can be simulated, and only the newest is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nicperf.charts import labels
from nicperf.errors import NicperfError
from nicperf.explore import chart
from nicperf.explore.controls import controls
from nicperf.explore.outcome import Outcome, as_csv
from nicperf.explore.setting import Setting, threads
from nicperf.explore.worker import Newest

#: A run that takes longer begins with a short one, so that the reader sees something.
PATIENCE_S = 0.15
#: What limits a setting takes a run for each resource: only once the reader pauses.
PAUSE_S = 0.2
SHORTEST_PART = 0.02

Answer = dict[str, Any]


class Panel:
    """State of one panel, and its answers.

    Parameters
    ----------
    setting : Setting
        Where it starts.
    first : tuple of str
        Dotted names that the list of parameters begins with.

    Attributes
    ----------
    answer : callable
        Takes each answer, on threads of the panel's own; a front end sets it.
    start, shown, before : Outcome
        The configuration without changes, what is shown, and what that is compared with: the setting before the
        reader took hold of a control; None at first.
    controls : list of dict
        See `nicperf.explore.controls.controls`.
    """

    def __init__(self, setting: Setting, first: tuple[str, ...] = ()) -> None:
        self.answer: Callable[[Answer], None] = lambda answer: None
        self.controls = controls(setting, first)
        self.start = self.shown = Outcome.of(setting)
        self.before: Outcome | None = None
        self._first = first
        self._runs, self._limits = Newest(), Newest()
        self._newest = 0
        self._gesture: object = None

    def ask(self, request: Mapping[str, Any]) -> None:
        """Answer a request, unless a newer one comes first; returns at once.

        Parameters
        ----------
        request : mapping
            `thread`, `configuration`, `workload` and `changed` (dotted name -> value or text) of the setting;
            `gesture`, which changes whenever the reader takes hold of a control; and `number`, which rises with
            each request and comes back with its answers.
        """
        self._newest = max(self._newest, request["number"])
        self._runs.put(lambda: self._guarded(request))

    def look(self) -> None:
        """Answer, later, what limits the setting that is shown."""
        shown, number = self.shown, self._newest
        self._limits.put(lambda: self._limit(shown, number))

    def settle(self) -> None:
        """Wait until everything asked for is answered."""
        self._runs.join()
        self._limits.join()

    def state(self) -> Answer:
        """All that a new view needs."""
        at = self.shown.setting
        return {
            "kind": "state",
            "threads": threads(),
            "configurations": {name: c.title for name, c in at.exp.configurations.items()},
            "workloads": {name: w.title for name, w in at.exp.workloads.items()},
            **at.place,
            "changed": dict(at.changed),
            "controls": self.controls,
            "spec": self.specification(live=True),
        }

    def outcome(self, number: int = 0) -> Answer:
        """What is shown, for drawing and for keeping."""
        shown, rows = self.shown, chart.tables(self.shown, self.before, self.start)
        preview = shown.duration_s < shown.setting.exp.config.duration_s
        return {
            "kind": "outcome",
            "number": number,
            "final": not preview,
            "figures": rows["figures"],
            "costs": rows["costs"],
            "code": shown.setting.code,
            "command": shown.setting.command,
            "csv": as_csv(shown, self.before),
            "took": f"{shown.duration_s:.3g} s of traffic simulated in {1000 * shown.wall_s:.0f} ms"
            + (", the full run follows" if preview else ""),
            "spoken": spoken(shown),
        }

    def specification(self, live: bool = False) -> dict[str, Any]:
        """Vega-Lite specification of what is shown; a live one has room for what limits it."""
        at = self.shown.setting
        heading = f"{at.exp.slug}, {at.configuration}, {at.workload}"
        rows = chart.tables(self.shown, self.before, self.start)
        return chart.specification(self.start, rows, heading, f"{heading}: {spoken(self.shown)}", live)

    def _guarded(self, request: Mapping[str, Any]) -> None:
        """A fault of the model is told like the reader's own: a thread that dies would freeze the panel."""
        try:
            self._move(request)
        except NicperfError as error:
            self._complain(request["number"], {}, str(error))
        except Exception as error:
            self._complain(request["number"], {}, f"the model failed: {type(error).__name__}: {error}")

    def _move(self, request: Mapping[str, Any]) -> None:
        old = self.start.setting
        base = Setting.start(old.exp if request["thread"] == old.exp.slug else request["thread"])
        same_thread = base.exp.slug == old.exp.slug
        if same_thread:
            base = Setting.start(base.exp, request["configuration"], request["workload"])
        setting, wrong = base.checked(request["changed"] if same_thread else {})
        before = self.before if request["gesture"] == self._gesture else self.shown
        if base.place != old.place:
            start = Outcome.of(base)
            self.controls = controls(base, self._first if same_thread else ())
            self.start = self.shown = start
            self.before = before if same_thread else None
            self.answer(self.state())
            self.answer(self.outcome(request["number"]))
        if wrong:
            self._complain(request["number"], wrong, "")
            return
        for part in self._parts():
            outcome = Outcome.of(setting, part)
            self.shown, self.before = outcome, before if same_thread else None
            self._gesture = request["gesture"]
            self.answer(self.outcome(request["number"]))
            if request["number"] < self._newest:
                return  # the reader has moved on
        self.look()

    def _parts(self) -> list[float]:
        """Shares of the full duration to simulate: a short run first where the last full one was slow."""
        last = self.shown
        if last.run.exchanges is not None:
            return [1.0]  # a closed loop ends when its instances do, whatever duration is asked for
        full_s = last.wall_s * last.setting.exp.config.duration_s / last.duration_s
        return [1.0] if full_s <= PATIENCE_S else [max(SHORTEST_PART, PATIENCE_S / 2 / full_s), 1.0]

    def _limit(self, shown: Outcome, number: int) -> None:
        time.sleep(PAUSE_S)
        if number == self._newest:
            found = shown.limits
            if number == self._newest:
                self.answer(
                    {
                        "kind": "limits",
                        "number": number,
                        "limits": chart.limit_rows(found),
                        "spoken": spoken_limit(found),
                    }
                )

    def _complain(self, number: int, wrong: Mapping[str, str], general: str) -> None:
        self.answer({"kind": "wrong", "number": number, "wrong": wrong, "general": general})


def spoken(outcome: Outcome) -> str:
    """The figures in words."""
    parts = [f"{labels.title(name)} {labels.number(value)}" for name, value in outcome.figures.items()]
    return "; ".join(parts) + "."


def spoken_limit(limits: Mapping[str, float]) -> str:
    """What limits, in words."""
    if not limits:
        return "Nothing came through, so nothing can be said to limit it."
    name = max(limits, key=lambda resource: limits[resource])
    if limits[name] < 0.05:
        return "No single resource limits it: the throughput stays, whichever gets faster."
    return f"Limited by the {name}: faster by 1 %, it gives {limits[name]:.2f} % more throughput."
