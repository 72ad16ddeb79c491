"""The running kernel's own eBPF, through the bpf system call and nothing else."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Sequence
from contextlib import suppress

from nicperf.packets.ebpf import MapSpec
from nicperf.packets.ebpf import instruction as isa
from nicperf.tables.xdp import MapType

CALL_NUMBER = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, MAP_DELETE, PROG_LOAD, TEST_RUN = 0, 1, 2, 3, 5, 10
PROG_TYPE_XDP = 6
CPUS = os.cpu_count() or 1

_libc = ctypes.CDLL(None, use_errno=True)


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Result and the attributes as the kernel leaves them; OSError on failure."""
    block = ctypes.create_string_buffer(attributes, len(attributes))
    result = _libc.syscall(CALL_NUMBER, command, block, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, block.raw


def address(block: ctypes.Array) -> int:
    return ctypes.addressof(block)


def why_not() -> str | None:
    """Why the kernel cannot be asked, None if it can."""
    if CALL_NUMBER is None:
        return f"the number of the bpf system call on {platform.machine()} is not known here"
    end = [isa.Instruction(0xB7, imm=2), isa.Instruction(isa.EXIT)]
    newest = isa.Instruction(isa.STX | isa.ATOMIC | 0x18, 0, 10, -8, isa.LOAD_ACQUIRE)
    for slots, cause in (
        (end, "the kernel loads no eBPF program (it takes root)"),
        (
            [isa.Instruction(0x7A, 10, 0, -8), newest, *end],
            "the kernel knows no load-acquire (it takes Linux 6.15)",
        ),
    ):
        try:
            os.close(Program(slots).fd)
        except OSError as error:
            return f"{cause}: {error.strerror}"
    return None


class Map:
    """A map in the kernel."""

    def __init__(self, spec: MapSpec) -> None:
        self.spec = spec
        sizes = spec.type, spec.key_bytes, spec.value_bytes, spec.max_entries
        self.fd, _ = bpf(MAP_CREATE, struct.pack("<IIII", *sizes).ljust(72, b"\0"))
        if spec.content:
            self[0] = spec.content

    def _call(self, command: int, key: int | bytes, value: ctypes.Array | None = None) -> None:
        if isinstance(key, int):
            key = key.to_bytes(self.spec.key_bytes, "little")
        name = ctypes.create_string_buffer(key, len(key))
        place = address(value) if value else 0
        bpf(command, struct.pack("<IIQQQ", self.fd, 0, address(name), place, 0))

    def __getitem__(self, key: int | bytes) -> bytes:
        """One value after the other, for every CPU."""
        stride = -self.spec.value_bytes % 8 + self.spec.value_bytes
        value = ctypes.create_string_buffer(stride * CPUS)
        self._call(MAP_LOOKUP, key, value)
        per_cpu = self.spec.type == MapType.PERCPU_ARRAY
        return value.raw if per_cpu else value.raw[: self.spec.value_bytes]

    def __setitem__(self, key: int | bytes, value: bytes) -> None:
        self._call(MAP_UPDATE, key, ctypes.create_string_buffer(value, len(value)))

    def pop(self, key: int | bytes) -> None:
        with suppress(FileNotFoundError):
            self._call(MAP_DELETE, key)

    def close(self) -> None:
        os.close(self.fd)


class Program:
    """A program in the kernel; OSError with the verifier's last words if it is refused."""

    def __init__(
        self,
        slots: Sequence[isa.Instruction],
        maps: Sequence[Map] = (),
        log_bytes: int = 0,
        license: str = "BSD",
    ) -> None:
        placed = [
            i._replace(imm=maps[i.imm].fd)
            if i.opcode == isa.LOAD_64 and i.src in (isa.MAP, isa.MAP_VALUE)
            else i
            for i in slots
        ]
        code = b"".join(i.pack() for i in placed)
        block = ctypes.create_string_buffer(code, len(code))
        license_name = ctypes.create_string_buffer(license.encode())
        log = ctypes.create_string_buffer(max(log_bytes, 1))
        head = PROG_TYPE_XDP, len(slots), address(block), address(license_name)
        tail = (1, log_bytes, address(log)) if log_bytes else (0, 0, 0)
        try:
            self.fd, _ = bpf(PROG_LOAD, struct.pack("<IIQQIIQ", *head, *tail).ljust(128, b"\0"))
        except OSError as error:
            words = log.value.decode()[-800:]
            raise OSError(error.errno, f"{error.strerror}: {words}" if words else error.strerror) from None

    def run(self, frame: bytes) -> tuple[int, bytes]:
        """Returned value, and the bytes from data_meta to data_end."""
        data = ctypes.create_string_buffer(frame, len(frame))
        out = ctypes.create_string_buffer(4096)
        attributes = struct.pack("<IIIIQQII", self.fd, 0, len(frame), 4096, address(data), address(out), 1, 0)
        _, after = bpf(TEST_RUN, attributes.ljust(80, b"\0"))
        value, _, n_bytes = struct.unpack_from("<iII", after, 4)
        return value, out.raw[:n_bytes]

    def close(self) -> None:
        os.close(self.fd)
