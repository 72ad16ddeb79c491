"""The live panel: move any parameter of an experiment's model and see at once what becomes of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nicperf.experiments import Experiment
    from nicperf.explore.widget import Explorer

__all__ = ["explore"]


def explore(
    exp: Experiment | str | None = None,
    configuration: str | None = None,
    workload: str | None = None,
    parameters: Sequence[str] | None = None,
) -> Explorer:
    """Panel of an experiment: choose configuration and workload, move parameters, compare.

    In JupyterLab each move is simulated anew while the kernel runs. Elsewhere, in a report or a preview, the
    panel shows a chart of the setting that it was made with.

    Parameters
    ----------
    exp : Experiment or str, optional
        Where to start; the first experiment that has a model when not given.
    configuration, workload : str, optional
        As for `Experiment.simulate`; the experiment's first when not given.
    parameters : sequence of str, optional
        Dotted names that the list of parameters begins with; all others follow.

    Returns
    -------
    Explorer
        A widget.

    Raises
    ------
    ScenarioError
        An unknown experiment, configuration, workload or parameter, with close names.
    DataError
        The experiment has not been calibrated.

    Examples
    --------
    >>> panel = explore("velocity-2009", "napi", "tcp_stream", ["local.nic.dma_burst_dwords"])
    >>> panel.setting.command
    'nicperf simulate velocity-2009 napi tcp_stream'
    """
    from nicperf.explore.panel import Panel
    from nicperf.explore.setting import Setting
    from nicperf.explore.widget import Explorer

    return Explorer(Panel(Setting.start(exp, configuration, workload), tuple(parameters or ())))
