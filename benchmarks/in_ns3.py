"""TCP over a gigabit link in ns-3: the nearest thing it can do, as it knows no ring, interrupt, DMA or CPU."""

from __future__ import annotations

import time

SIMULATED_S = 1
SEGMENT_BYTES = 1448
BUFFER_BYTES = 4 << 20


def rate() -> float:
    """Data segments delivered per CPU-second of the run itself; loading ns-3 is not counted."""
    from ns import ns

    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(SEGMENT_BYTES))
    for side in ("SndBufSize", "RcvBufSize"):
        ns.Config.SetDefault(f"ns3::TcpSocket::{side}", ns.UintegerValue(BUFFER_BYTES))
    nodes = ns.NodeContainer()
    nodes.Create(2)
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue("1Gbps"))
    devices = link.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.1.1.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(devices)
    factory, port = "ns3::TcpSocketFactory", 9
    here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    there = ns.InetSocketAddress(interfaces.GetAddress(1), port).ConvertTo()
    sinks = ns.PacketSinkHelper(factory, here).Install(nodes.Get(1))
    ns.BulkSendHelper(factory, there).Install(nodes.Get(0))
    ns.Simulator.Stop(ns.Seconds(SIMULATED_S))
    start = time.process_time()
    ns.Simulator.Run()
    cpu_s = time.process_time() - start
    received_bytes = sinks.Get(0).GetObject[ns.PacketSink]().GetTotalRx()
    ns.Simulator.Destroy()
    return received_bytes / SEGMENT_BYTES / cpu_s
