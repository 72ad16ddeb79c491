"""The scenarios of nicperf that are timed: fixed by value, so that no calibration moves them."""

from __future__ import annotations

from nicperf.simulation.scenario import Scenario, scenario

SUPPRESSION = {"driver.tx_suppress_frames": 31, "driver.rx_suppress_frames": 31}
NAPI = {**SUPPRESSION, "driver.napi": True, "nic.dma_burst_dwords": 0}
ALL = {**NAPI, "driver.tx_scatter_gather": True}
#: The sending host of velocity-2009's three kernels; the receiving one has all patches, as there.
SENDERS = {"baseline": {"nic.dma_burst_dwords": 8}, "napi": NAPI, "all": ALL}

#: A bus and a CPU that leave the limit to the wire: a full gigabit per second.
FAST = {"bus.width_bytes": 8, "bus.clock_mhz": 66.0, "cpu.frequency_mhz": 3000.0, "nic.frame_gap_ns": 100.0}


def velocity(kernel: str, duration_s: float, **params: object) -> Scenario:
    """TCP_STREAM from one of the kernels of velocity-2009, seed 1, without warm-up: every frame counts."""
    both = {f"local.{name}": value for name, value in SENDERS[kernel].items()}
    both |= {f"remote.{name}": value for name, value in ALL.items()}
    return scenario(
        "velocity", "tcp_stream", {**both, **params}, seed=1, duration_s=duration_s, warmup_s=0.0, slices=1
    )
