"""XDP: verdicts, the room around a frame, and what the helpers return. Source: Linux, include/uapi/linux/bpf.h and net/xdp.h."""

from __future__ import annotations

from enum import IntEnum


class Verdict(IntEnum):
    """What an XDP program asks the driver to do with the frame (enum xdp_action)."""

    XDP_ABORTED = 0
    """An error in the program: drop, and fire the trace point xdp_exception."""
    XDP_DROP = 1
    """Drop; the page goes back to the driver at once."""
    XDP_PASS = 2
    """Build an skb and hand it to the stack."""
    XDP_TX = 3
    """Send it out of the interface it came from."""
    XDP_REDIRECT = 4
    """Send it where bpf_redirect or bpf_redirect_map said."""


HEADROOM_BYTES = 256  # XDP_PACKET_HEADROOM: free bytes before the frame
TAILROOM_BYTES = (
    320  # struct skb_shared_info, aligned, with 64-byte cache lines: kept free at the end of the buffer
)
BUFFER_BYTES = 4096  # one page for each frame
FRAME_STRUCT_BYTES = 40  # struct xdp_frame lies at the start of the headroom: adjust_head leaves it alone
LARGEST_METADATA_BYTES = 252  # in steps of 4, before the frame; 32 until Linux 6.6
SMALLEST_FRAME_BYTES = 14  # ETH_HLEN: adjust_head and adjust_tail leave an Ethernet header


class MapType(IntEnum):
    """Kinds of eBPF map (enum bpf_map_type) that an XDP program here may use."""

    HASH = 1
    ARRAY = 2
    PROG_ARRAY = 3
    PERCPU_ARRAY = 6
    DEVMAP = 14
    CPUMAP = 16
    XSKMAP = 17


def action(value: int) -> Verdict:
    """The verdict a driver acts on: it warns about a value that is none and takes XDP_ABORTED.

    Parameters
    ----------
    value : int
        What the program returned.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> action(2).name, action(42).name
    ('XDP_PASS', 'XDP_ABORTED')
    """
    return Verdict(value) if value in list(Verdict) else Verdict.XDP_ABORTED
