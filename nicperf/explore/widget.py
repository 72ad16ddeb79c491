"""The panel as a widget of JupyterLab, and as a picture where no kernel runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import anywidget

from nicperf.charts.render import bundle
from nicperf.explore.panel import Panel
from nicperf.explore.setting import Setting
from nicperf.report.figure import on_page

HERE = Path(__file__).parent


class Explorer(anywidget.AnyWidget):
    """Controls and chart of a `Panel`.

    Parameters
    ----------
    panel : Panel

    Attributes
    ----------
    panel : Panel

    Notes
    -----
    Moves travel as messages of their own, not as synchronised traits: those wait until the kernel is idle again,
    and would come back to the view that sent them.
    """

    _esm = HERE / "panel.js"
    _css = HERE / "panel.css"

    def __init__(self, panel: Panel) -> None:
        super().__init__()
        self.panel = panel
        panel.answer = self._tell
        self.on_msg(self._hear)

    @property
    def setting(self) -> Setting:
        """The setting that is shown: its `code` and `command` make the same run."""
        return self.panel.shown.setting

    def _tell(self, answer: dict[str, Any]) -> None:
        if "spec" in answer:
            answer = {**answer, "spec": on_page(answer["spec"])}
        self.send(answer)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("kind") == "vega":
            self.send({"kind": "vega"}, [vega()])
        elif content.get("kind") == "open":
            for answer in (self.panel.state(), self.panel.outcome()):
                self._tell(answer)
            self.panel.look()
        else:
            self.panel.ask(content)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget for a front end that has a kernel, the chart and how to repeat it for all others."""
        own: Any = super()._repr_mimebundle_(**kwargs)
        live, metadata = own
        return {**live, **bundle(self.panel.specification())}, metadata


@cache
def vega() -> bytes:
    """Vega as a script, for a page that may not ask a network for it."""
    from nicperf.report.exporter import vega  # nbconvert takes its time to import

    return vega().encode()
