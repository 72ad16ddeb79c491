"""Whatever can hold a frame may be full."""

from nicperf.simulation import simulate


def test_the_largest_fifo_holds_the_smallest_frames() -> None:
    # Nothing takes frames from the receive ring; without PAUSE a FIFO of 1 MiB then fills with 24,385 of 43 bytes.
    settings = {
        "workload.message_bytes": 1,
        "remote.nic.rx_fifo_bytes": 1 << 20,
        "remote.nic.pause": False,
        "remote.driver.rx_suppress_frames": 255,
        "remote.driver.rx_timer_us": 0,
        "local.cpu.frequency_mhz": 10000,
    }
    run = simulate("velocity", "udp_stream", settings, duration_s=0.5, warmup_s=0)
    drops = run.counters.query("side == 'remote' and counter == 'rx_fifo_drops'").value.item()
    assert drops > 0
