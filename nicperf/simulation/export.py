"""What a run can be written as, for the tools that people already use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, AnyStr

from nicperf.engine.ledger import CONTEXTS, OPERATIONS
from nicperf.errors import ScenarioError
from nicperf.files import write_whole
from nicperf.packets.pcapng import pcapng
from nicperf.simulation.printed import iperf, netperf
from nicperf.simulation.profile import Charge, folded, speedscope
from nicperf.simulation.systems import SIDES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from nicperf.packets.capture import Capture
    from nicperf.simulation.scenario import Scenario

Destination = str | PathLike[str] | None


class Exports:
    """The `to_...` methods of a `Run`. Files are written whole: beside their place, then renamed."""

    if TYPE_CHECKING:
        scenario: Scenario
        capture: Capture | None
        _block: Callable[[str, int], np.ndarray]
        _host: Callable[[int, str], int]

        @property
        def measured_s(self) -> float: ...
        @property
        def summary(self) -> dict[str, float]: ...
        @property
        def timeline(self) -> pd.DataFrame: ...

    def to_pcapng(self, path: Destination = None) -> bytes | None:
        """Write the capture of a run with bytes as pcapng, for Wireshark and its kin.

        Both directions are in it, with nanosecond time stamps and the direction as the local host sees it.
        Simulated time zero stands at one second; the handshake that the model leaves out stands before it.

        Parameters
        ----------
        path : path-like, optional
            Without one, the content is returned.

        Returns
        -------
        bytes or None

        Raises
        ------
        ScenarioError
            The run carried no bytes.
        OSError
            The file cannot be written.

        Notes
        -----
        Not modelled: PAUSE is a signal here and no frame, so it is not in the capture. FCS is left out, as
        captures do. A receiver's window is rounded up to the unit of its scale.
        """
        if self.capture is None:
            raise ScenarioError(
                "the run carried sizes only",
                place="scenario",
                field="fidelity",
                value="timing",
                cure='use simulate(..., fidelity="bytes")',
            )
        return _deliver(pcapng(self.capture, self.scenario.host("local")["wire"].rate_mbit_s), path)

    def to_folded(self, path: Destination = None) -> str | None:
        """Write the CPU time as folded stacks, for flame graphs: ``side;context;operation nanoseconds``.

        Parameters
        ----------
        path : path-like, optional
            Without one, the text is returned.

        Returns
        -------
        str or None
            Idle time is left out; the variation of job lengths is spread over the operations of its context.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        return _deliver(folded(self._charges()), path)

    def to_speedscope(self, path: Destination = None) -> str | None:
        """Write the CPU time as a speedscope profile: one for each side, stacks as in `to_folded`.

        Parameters
        ----------
        path : path-like, optional
            Without one, the text is returned.

        Returns
        -------
        str or None

        Raises
        ------
        OSError
            The file cannot be written.
        """
        sc = self.scenario
        return _deliver(speedscope(self._charges(), f"{sc.driver} {sc.workload}"), path)

    def to_netperf(self) -> str:
        """Return what netperf 2.4 would have printed with ``-c -C``.

        Returns
        -------
        str
            Rates and CPU are those of `summary`, the time is the measured one, and socket sizes are the
            scenario's: for TCP the payload that may be in them, where netperf prints what it asked for.
        """
        local, remote = (self._host(side, "messages") for side in range(2))
        return netperf(self.scenario, self.summary, self.measured_s, local, remote)

    def to_iperf(self) -> str:
        """Return what an iperf 2.1 server would have printed, one interval for each slice of the timeline.

        Returns
        -------
        str

        Raises
        ------
        ScenarioError
            The workload is UDP, whose report needs a jitter that the model does not measure.
        """
        return iperf(self.scenario, self.timeline)

    def _charges(self) -> Iterator[Charge]:
        for i, side in enumerate(SIDES):
            ps = self._block("ledger_ps", i).reshape(len(CONTEXTS), -1)
            for context, row in zip(CONTEXTS, ps.tolist(), strict=True):
                charged = dict(zip(OPERATIONS, row, strict=True))
                variation = charged.pop("variation")
                share = 1 + variation / max(sum(charged.values()), 1)
                for operation, operation_ps in charged.items():
                    if operation_ps:
                        yield side, context, operation, round(operation_ps * share / 1000)


def _deliver(content: AnyStr, path: Destination) -> AnyStr | None:
    if path is None:
        return content
    write_whole(path, content)
    return None
