"""Settings of a swept parameter: their axis, and the control that moves a marker through them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from nicperf.charts import labels

Setting = float | int | bool | str


def ordered(values: Iterable) -> list[Setting]:
    """Distinct settings as plain Python values, numbers ascending, words in order of appearance."""
    plain = list(dict.fromkeys(v.item() if hasattr(v, "item") else v for v in values))
    return sorted(plain) if numeric(plain) else plain


def numeric(settings: Iterable[Setting]) -> bool:
    """Whether the settings are numbers; switches are not."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in settings)


def nearest(settings: list[Setting], wanted: Setting) -> Setting:
    """The setting next to `wanted`: itself where the settings are words or switches."""
    if not numeric(settings):
        return wanted
    return min(settings, key=lambda v: abs(v - wanted))  # type: ignore[operator]


def even_step(settings: list[Setting]) -> float | None:
    """Distance between neighbours where it is the same for all of them."""
    if len(settings) < 2 or not numeric(settings):
        return None
    steps = np.diff(np.asarray(settings, dtype=float))
    return float(steps[0]) if np.allclose(steps, steps[0]) else None


def axis(settings: list[Setting], parameter: str, unit: str | None = None) -> alt.X:
    """Horizontal axis: logarithmic where numbers span a factor of 8, categories where they are no numbers."""
    title = (
        labels.title(parameter) if unit is None else f"{labels.title(parameter, with_unit=False)} ({unit})"
    )
    look: dict[str, Any] = {"title": title}
    if not numeric(settings):
        return alt.X(f"{labels.field(parameter)}:O", sort=None, axis=alt.Axis(labelAngle=0, **look))
    log = settings[0] > 0 and settings[-1] / settings[0] >= 8  # type: ignore[operator]
    scale = (
        alt.Scale(type="log", base=2, nice=False, padding=10)
        if log
        else alt.Scale(zero=False, nice=False, padding=10)
    )
    if len(settings) <= 12:
        look["values"] = settings
    return alt.X(f"{labels.field(parameter)}:Q", scale=scale, axis=alt.Axis(format=",.6~r", **look))


def control(settings: list[Setting], parameter: str) -> alt.Binding:
    """Slider where its even steps hit every setting, otherwise a list of the settings."""
    step = even_step(settings)
    if step is None:
        return alt.binding_select(options=settings, name=f"{parameter} ")
    first, last = float(settings[0]), float(settings[-1])
    return alt.binding_range(min=first, max=last, step=step, name=f"{parameter} ")
