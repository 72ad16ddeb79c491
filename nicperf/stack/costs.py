"""What the protocol stack costs and how its sockets are set."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch


@dataclass(frozen=True)
class Stack:
    """Cycles per execution of the stack's operations on the path of the experiments."""

    skb_alloc_cycles: float = parameter(500.0, "cycles", 0.0, 50000.0, "Allocate an sk_buff and its head.")
    skb_free_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "Free an sk_buff and its head.")
    page_cycles: float = parameter(
        250.0, "cycles", 0.0, 50000.0, "Take or give back a page or a reference to one."
    )
    sendpage_cycles: float = parameter(
        1400.0,
        "cycles",
        0.0,
        50000.0,
        "Pass one page from the page cache to the socket (sendfile), besides copies.",
    )
    tcp_output_cycles: float = parameter(
        2500.0, "cycles", 0.0, 50000.0, "Send one TCP segment, super-packet or ACK, besides its sk_buff."
    )
    tcp_input_cycles: float = parameter(2500.0, "cycles", 0.0, 50000.0, "Receive one TCP segment or ACK.")
    udp_cycles: float = parameter(
        800.0, "cycles", 0.0, 50000.0, "Send or receive one UDP datagram, besides its fragments."
    )
    ip_output_cycles: float = parameter(
        400.0, "cycles", 0.0, 50000.0, "Route, header and neighbour, per packet."
    )
    ip_input_cycles: float = parameter(500.0, "cycles", 0.0, 50000.0, "IP receive, per packet.")
    ip_fragment_cycles: float = parameter(
        200.0, "cycles", 0.0, 50000.0, "Build one more fragment of a datagram."
    )
    ip_reassemble_cycles: float = parameter(
        400.0, "cycles", 0.0, 50000.0, "Queue one fragment for reassembly."
    )
    gso_segment_cycles: float = parameter(
        500.0, "cycles", 0.0, 50000.0, "Cut one segment off a super-packet, besides its sk_buff."
    )
    qdisc_cycles: float = parameter(
        250.0, "cycles", 0.0, 50000.0, "Enqueue and dequeue at the device queue, per packet."
    )
    gro_cycles: float = parameter(
        400.0, "cycles", 0.0, 50000.0, "GRO, per received TCP segment, where the driver passes frames to it."
    )
    netif_rx_cycles: float = parameter(
        200.0, "cycles", 0.0, 50000.0, "Pass a frame to the backlog of this CPU and take it out."
    )
    fragment_bytes: int = parameter(
        4096, "bytes", 128, 65536, "Size of a page fragment that holds payload (scatter-gather)."
    )
    gro_segments: int = parameter(
        0,
        "segments",
        0,
        64,
        "Segments that GRO merges into one packet, if the driver passes them to it; 0 = none.",
    )
    backlog_packets: int = parameter(1000, "packets", 1, 4096, "netdev_max_backlog.")
    qdisc_packets: int = parameter(1000, "packets", 1, 4096, "txqueuelen.")


@dataclass(frozen=True)
class Sockets:
    """Socket buffers and protocol settings.

    Notes
    -----
    TCP buffers are given in payload bytes as they are in force during the measurement (the kernel tunes
    them): the overhead of sk_buffs (truesize) is inside. UDP buffers are the kernel's figures and are charged
    with truesize per packet.
    """

    tcp_send_buffer_bytes: int = parameter(
        393216, "bytes", 4096, 1 << 24, "Payload that a TCP sender may have queued and unacknowledged."
    )
    tcp_window_bytes: int = parameter(
        262144, "bytes", 4096, 1 << 24, "Payload that a TCP receiver offers to hold."
    )
    tcp_timestamps: bool = switch(True, "TCP timestamp option: 12 bytes in every segment.")
    udp_send_buffer_bytes: int = parameter(107520, "bytes", 2304, 1 << 24, "SO_SNDBUF of the UDP sender.")
    udp_receive_buffer_bytes: int = parameter(
        108544, "bytes", 2304, 1 << 24, "SO_RCVBUF of the UDP receiver."
    )
    tx_truesize_bytes: int = parameter(
        1768, "bytes", 256, 65536, "Memory charged to the socket per full fragment sent."
    )
    rx_truesize_bytes: int = parameter(
        1896, "bytes", 256, 65536, "Memory charged to the socket per frame received."
    )
    super_packet_bytes: int = parameter(
        65160, "bytes", 1448, 65536, "Most payload that GSO puts into one packet."
    )
    rto_us: float = parameter(200000.0, "us", 1000.0, 1e7, "Retransmission timeout.")
    delayed_ack_us: float = parameter(
        40000.0, "us", 100.0, 1e6, "How long a single segment may wait for its ACK."
    )


@dataclass(frozen=True)
class IperfSockets(Sockets):
    """The sending socket of an iperf2 client, on the TCP of Linux 6.0.

    Notes
    -----
    The rules stand in `nicperf/stack/_iperf.pyx`.

    Source
    ------
    Linux v6.0: tcp_autocorking is on by default; tcp_small_queue_check lets 1 ms of the pacing rate be below
    TCP, which in congestion avoidance is 120 % of window over round trip: 138 KB at the rate of a full gigabit.
    An empty sk_buff of TCP accounts for 1280 bytes of memory (sk_buff 256, head 704, skb_shared_info 320).
    """

    nodelay: bool = switch(False, "TCP_NODELAY (iperf -N): no Nagle.")
    autocorking: bool = switch(
        True, "net.ipv4.tcp_autocorking: a small packet grows while an earlier one awaits its completion."
    )
    tsq_bytes: int = parameter(
        138000, "bytes", 0, 1 << 24, "Memory in device queue and driver above which TCP waits; 0 = no limit."
    )
    tx_overhead_bytes: int = parameter(
        1280, "bytes", 0, 65536, "Memory that an sk_buff accounts for beside its payload, below TCP."
    )


@dataclass(frozen=True)
class ExchangeSockets(IperfSockets):
    """As the sockets of a stream, with the timers that a closed loop meets.

    Notes
    -----
    The rules stand in `nicperf/stack/_exchange.pyx`.

    Source
    ------
    Linux 3.12: the first SYN goes out again after 1 s (TCP_TIMEOUT_INIT); a tail loss probe comes two round trips after the last
    segment, no earlier than 10 ms, and only where SACK is on, the retransmission timeout follows it.
    """

    tail_probe_us: float = parameter(
        0.0, "us", 0.0, 1e6, "When the last segment is sent once more (tail loss probe); 0 = never."
    )
    syn_timeout_us: float = parameter(1e6, "us", 1000.0, 1e7, "When a SYN is sent again, at first.")


@dataclass(frozen=True)
class Workload:
    """What the two netperf processes ask of their sockets."""

    message_bytes: int = parameter(
        16384, "bytes", 1, 1 << 20, "Bytes per send call (UDP: per datagram, at most 65507)."
    )
    send_buffers: int = parameter(2, "buffers", 1, 4096, "Distinct send buffers that netperf cycles through.")
    receive_bytes: int = parameter(87380, "bytes", 1, 1 << 24, "Bytes asked for per receive call.")


@dataclass(frozen=True)
class ExchangeWorkload(Workload):
    """Many netperf instances at once that send a request and wait for the response, besides the streams.

    Notes
    -----
    Each instance counts over its own window; their rates are added up, as the usual scripts do. Percentiles are
    netperf's, of whole microseconds; `percentiles` says how those of many instances become one.
    """

    instances: int = parameter(200, "processes", 1, 2000, "netperf instances.")
    request_bytes: int = parameter(1, "bytes", 1, 1 << 20, "A request.")
    response_bytes: int = parameter(1, "bytes", 1, 1 << 20, "A response.")
    window_s: float = parameter(10.0, "s", 0.001, 600.0, "How long each instance counts (netperf -l).")
    start_skew_s: float = parameter(
        0.3, "s", 0.0, 60.0, "From the start of the first instance to that of the last."
    )
    percentiles: str = choice(
        "mean_of_instances",
        ("mean_of_instances", "pooled"),
        "Percentiles of each instance averaged, or those of all transactions together.",
    )
