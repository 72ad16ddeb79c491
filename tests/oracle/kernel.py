"""The running kernel as a segmenter: what is written to a tap device as one super-frame is read from it as wire frames."""

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
from collections.abc import Iterator

# linux/if_tun.h, linux/virtio_net.h, linux/if_packet.h, linux/sockios.h, linux/sched.h
TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_TSO_ECN, TUN_F_USO4, TUN_F_USO6 = 0x01, 0x02, 0x04, 0x08, 0x20, 0x40
NEEDS_CSUM = 1
GSO_NONE, GSO_TCPV4, GSO_UDP, GSO_TCPV6, GSO_UDP_L4, GSO_ECN = 0, 1, 3, 4, 5, 0x80
VNET = struct.Struct("<BBHHHH")  # flags, gso_type, hdr_len, gso_size, csum_start, csum_offset
SOL_PACKET, PACKET_VNET_HDR = 263, 15
SIOCSIFMTU, SIOCSIFTXQLEN, SIOCSIFFLAGS, IFF_UP = 0x8922, 0x8943, 0x8914, 1
CLONE_NEWNET = 0x4000_0000
LONGEST = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _must(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """A network namespace of its own for what is opened inside; the thread comes back."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _must(_libc.unshare(CLONE_NEWNET))
        try:
            yield
        finally:
            _must(_libc.setns(home, CLONE_NEWNET))
    finally:
        os.close(home)


class Tap:
    """A device that takes from the kernel what `offload` (bits of TUN_F) lets it take, as in `ethtool -k`."""

    def __init__(self, offload: int = 0) -> None:
        name = b"segments"
        with elsewhere():
            self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(
                self.device, TUNSETIFF, struct.pack("16sH22x", name, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
            )
            fcntl.ioctl(self.device, TUNSETOFFLOAD, offload)
            fcntl.ioctl(self.device, TUNSETVNETHDRSZ, struct.pack("i", VNET.size))
            with (
                contextlib.suppress(FileNotFoundError),
                open("/proc/sys/net/ipv6/conf/segments/disable_ipv6", "w") as off,
            ):
                off.write("1")  # no neighbour discovery between our frames
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                for request, value in ((SIOCSIFMTU, 65521), (SIOCSIFTXQLEN, 70000), (SIOCSIFFLAGS, IFF_UP)):
                    fcntl.ioctl(control, request, struct.pack("16si12x", name, value))
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 23)
            self.socket.bind((name.decode(), 0))

    def close(self) -> None:
        self.socket.close()
        os.close(self.device)

    def send(
        self,
        frame: bytes,
        gso_type: int,
        header_bytes: int,
        mss: int,
        csum_start: int,
        csum_offset: int,
        expected: int,
    ) -> list[tuple[bytes, bytes]]:
        """Hand over one super-frame; what comes out, each with the header for virtio before it."""
        self.socket.send(VNET.pack(NEEDS_CSUM, gso_type, header_bytes, mss, csum_start, csum_offset) + frame)
        seen: list[tuple[bytes, bytes]] = []
        while True:
            try:
                content = os.read(self.device, LONGEST)
                seen.append((content[: VNET.size], content[VNET.size :]))
            except BlockingIOError:
                # Usually all are there when send() returns; a softirq on the other CPU may be late.
                if len(seen) >= expected or not select.select([self.device], [], [], 0.2)[0]:
                    return seen
