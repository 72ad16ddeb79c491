"""dpkt as its documentation teaches it: headers are objects, and checksums come when they are turned into bytes."""

from __future__ import annotations

import dpkt


def segment(frame: bytes, mss: int) -> list[bytes]:
    ethernet = dpkt.ethernet.Ethernet(frame)
    ip, tcp = ethernet.data, ethernet.data.data
    payload, sequence, number, flags = tcp.data, tcp.seq, ip.id, tcp.flags
    frames = []
    for at in range(0, len(payload), mss):
        last = at + mss >= len(payload)
        tcp.data = payload[at : at + mss]
        tcp.seq = (sequence + at) & 0xFFFFFFFF
        tcp.flags = flags if last else flags & ~(dpkt.tcp.TH_FIN | dpkt.tcp.TH_PUSH)
        tcp.sum = ip.sum = 0  # means: make it
        ip.id = (number + at // mss) & 0xFFFF
        ip.len = len(ip)
        frames.append(bytes(ethernet))
    return frames
