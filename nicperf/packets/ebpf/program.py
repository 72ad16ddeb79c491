"""Programs that run: the Python face of the interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nicperf.errors import DataError, ScenarioError, closest
from nicperf.packets.ebpf import _xdp, elf
from nicperf.packets.ebpf.decode import decode
from nicperf.packets.ebpf.elf import Function, Linked, MapSpec, Object
from nicperf.packets.ebpf.instruction import disassemble, split
from nicperf.tables import xdp
from nicperf.tables.xdp import MapType, Verdict

BUDGET = 1_000_000
PROGRAMS = Path(__file__).parents[1] / "programs"

# By the number of a fault, in the order of _machine.pxd.
_FAULTS = (
    "none",
    "reads {n} bytes at {where}",
    "writes {n} bytes at {where}",
    "has used up its budget of instructions",
    "calls helper {n}, which is not modelled",
    "calls deeper than {n} functions",
    "names {where} as a map",
    "passes a map of the wrong kind, {map}",
    "makes a tail call from a subprogram",
    "broadcasts to {map}, which is not modelled",
)


class Fault(NamedTuple):
    """Why a run ended early; a driver counts it as XDP_ABORTED."""

    problem: str
    program: str
    section: str
    pc: int
    """Instruction within its section, as llvm-objdump numbers them."""
    instruction: str
    address: int

    def __str__(self) -> str:
        """One line: place, instruction, problem."""
        return f"{self.program} (section {self.section}), instruction {self.pc}: {self.instruction}: {self.problem}"


class Result(NamedTuple):
    """What a run left.

    Attributes
    ----------
    value : int
        What the program returned; 0 after a fault.
    frame, metadata : bytes
        From data to data_end, and from data_meta to data.
    instructions : int
    helper_calls, map_calls : int
        All calls of helpers, and those among them that go to a map.
    redirect_ifindex : int
        Target that the program named, 0 for none.
    fault : Fault or None
    """

    value: int
    frame: bytes
    metadata: bytes
    instructions: int
    helper_calls: int
    map_calls: int
    redirect_ifindex: int
    fault: Fault | None

    @property
    def verdict(self) -> Verdict:
        """What a driver does: a value that is no verdict counts as XDP_ABORTED."""
        return xdp.action(self.value)


class Map:
    """A map of one program, as a mapping from keys to values.

    A key or value is bytes of the map's size, or an integer that is stored little-endian. The value of a per-CPU map is a
    sequence of one for each CPU.
    """

    def __init__(
        self, core: _xdp.XdpProgram, position: int, spec: MapSpec, cpus: int, programs: Sequence[str]
    ) -> None:
        self.spec = spec
        self._core, self._position, self._cpus, self._programs = core, position, cpus, programs

    def __len__(self) -> int:
        """How many keys it has."""
        return len(self.keys())

    def __iter__(self) -> Iterator[bytes]:
        """Keys, in the order of the map's memory."""
        return iter(self.keys())

    def keys(self) -> list[bytes]:
        """All keys: of an array, every index."""
        if self.spec.type == MapType.HASH:
            return self._core.keys(self._position)
        return [n.to_bytes(4, "little") for n in range(self.spec.max_entries)]

    def __getitem__(self, key: int | bytes) -> bytes | tuple[bytes, ...]:
        """The value; KeyError without one."""
        values = self._core.read(self._position, self._bytes(key, "key"))
        if values is None:
            raise KeyError(key)
        return tuple(values) if self.spec.type == MapType.PERCPU_ARRAY else values[0]

    def __setitem__(self, key: int | bytes, value: int | bytes | str | Iterable[int | bytes]) -> None:
        """Store a value; that of a map of programs is a program's name."""
        if isinstance(value, str):
            if value not in self._programs:
                raise ScenarioError(
                    "no such program", field=self.spec.name, value=value, cure=closest(value, self._programs)
                )
            value = 1 + self._programs.index(value)
        several = [value] if isinstance(value, int | bytes) else list(value)
        values = [self._bytes(v, "value") for v in several]
        wanted = self._cpus if self.spec.type == MapType.PERCPU_ARRAY else 1
        if len(values) not in (1, wanted):
            raise ScenarioError(f"takes {wanted} values", field=self.spec.name, value=len(values))
        values *= wanted // len(values)
        status = self._core.write(self._position, self._bytes(key, "key"), values)
        if status:
            raise ScenarioError(f"cannot store ({os.strerror(-status)})", field=f"{self.spec.name}[{key!r}]")

    def __delitem__(self, key: int | bytes) -> None:
        """Delete from a hash map; KeyError without such a key."""
        if self._core.delete(self._position, self._bytes(key, "key")):
            raise KeyError(key)

    def number(self, key: int | bytes) -> int:
        """The value as a little-endian number; the sum over the CPUs for a per-CPU map."""
        value = self[key]
        return sum(int.from_bytes(v, "little") for v in ([value] if isinstance(value, bytes) else value))

    def _bytes(self, item: int | bytes, what: str) -> bytes:
        n_bytes = self.spec.key_bytes if what == "key" else self.spec.value_bytes
        if isinstance(item, int):
            if not 0 <= item < 1 << 8 * n_bytes:
                raise ScenarioError(
                    f"does not fit {n_bytes} bytes", field=f"{self.spec.name} {what}", value=item
                )
            return item.to_bytes(n_bytes, "little")
        if len(item) != n_bytes:
            raise ScenarioError(f"must have {n_bytes} bytes", field=f"{self.spec.name} {what}", value=item)
        return item


class Program:
    """One XDP program with maps of its own.

    Two programs share nothing, so each may run in a thread of its own, one at a time. The simulator calls `core` without the GIL.

    Parameters
    ----------
    source : Object
        From `load` or `assemble`.
    name : str
        Which of its programs.
    cpus : int
        How many values a per-CPU map has for each key.
    seed : int
        Of what bpf_get_prandom_u32 returns.
    budget : int
        Instructions after which a run ends in a fault.
    """

    def __init__(
        self, source: Object, name: str, *, cpus: int = 1, seed: int = 0, budget: int = BUDGET
    ) -> None:
        if name not in source.programs:
            raise ScenarioError(
                "no such program", place=source.place, value=name, cure=closest(name, source.programs)
            )
        if sys.byteorder != "little":
            raise ScenarioError(
                "programs run on little-endian machines only", field="machine", value=sys.byteorder
            )
        if cpus < 1 or budget < 1:
            raise ScenarioError("must be at least 1", field="cpus and budget", value=(cpus, budget))
        self.source, self.name, self.cpus = source, name, cpus
        # Only a tail call can reach another program of the object.
        others = any(spec.type == MapType.PROG_ARRAY for spec in source.maps)
        self._names = [name, *(n for n in source.programs if n != name and others)]
        parts = [
            decode(source.programs[n].slots, len(source.maps), f"{source.place}: {n}") for n in self._names
        ]
        self._slots = [slots for _, slots in parts]
        self._entries = np.cumsum([0, *map(len, self._slots)]).tolist()
        shapes = tuple((s.type, s.key_bytes, s.value_bytes, s.max_entries, s.writable) for s in source.maps)
        code = np.concatenate([code for code, _ in parts])
        self._adopt(_xdp.XdpProgram(code, self._entries[:-1], shapes, cpus, seed, budget))
        for spec in source.maps:
            if spec.content:
                self.maps[spec.name][0] = spec.content

    def _adopt(self, core: _xdp.XdpProgram) -> None:
        self.core = core
        self.maps = {
            spec.name: Map(core, n, spec, self.cpus, self._names) for n, spec in enumerate(self.source.maps)
        }

    @property
    def linked(self) -> Linked:
        """Its instructions, relocated."""
        return self.source.programs[self.name]

    def copy(self) -> Program:
        """A program with the same content in maps of its own; the random numbers start again."""
        other = object.__new__(Program)
        other.__dict__.update(self.__dict__)
        other._adopt(self.core.copy())
        return other

    def run(
        self,
        frame: bytes,
        *,
        now_ns: int = 0,
        cpu: int = 0,
        ingress_ifindex: int = 1,
        rx_queue_index: int = 0,
        headroom_bytes: int = xdp.HEADROOM_BYTES,
        buffer_bytes: int = xdp.BUFFER_BYTES,
        repeat: int = 1,
    ) -> Result:
        """Run over a copy of a frame.

        Parameters
        ----------
        frame : bytes
            From the Ethernet header on.
        now_ns : int
            What bpf_ktime_get_ns returns.
        cpu : int
            Below `cpus`.
        ingress_ifindex, rx_queue_index : int
            What the context says.
        headroom_bytes, buffer_bytes : int
            Room before the frame, and size of the buffer; its last 320 bytes are not for frames.
        repeat : int
            Run so often over the same buffer, data and data_end where they were at first; the counts are sums.

        Returns
        -------
        Result
            The kernel's answer to the same program and frame, but for what is not modelled: fragments, hints about
            the frame, the limit of 512 bytes over all frames of the stack.

        Raises
        ------
        ScenarioError
            A frame that the buffer has no room for, or a CPU that the program was not made for.

        Examples
        --------
        >>> sample("drop").run(bytes(64)).verdict.name
        'XDP_DROP'
        """
        room = buffer_bytes - headroom_bytes - xdp.TAILROOM_BYTES
        if headroom_bytes < 0 or not xdp.SMALLEST_FRAME_BYTES <= len(frame) <= room:
            problem = f"must have {xdp.SMALLEST_FRAME_BYTES} to {room} bytes"
            raise ScenarioError(
                problem, field="frame", value=f"{len(frame)} bytes", cure="raise buffer_bytes or pad it"
            )
        if not 0 <= cpu < self.cpus:
            raise ScenarioError(
                f"must be below {self.cpus}", field="cpu", value=cpu, cure="make the program with cpus="
            )
        self.core.set(now_ns, cpu)
        value, data, metadata, instructions, helper_calls, map_calls = self.core.execute(
            frame, headroom_bytes, buffer_bytes, ingress_ifindex, rx_queue_index, repeat
        )
        counts = instructions, helper_calls, map_calls, self.core.redirect_ifindex
        return Result(value, data, metadata, *counts, self.fault())

    def fault(self) -> Fault | None:
        """Why the last run ended early."""
        kind, pc, address, n = self.core.failed()
        if not kind:
            return None
        which = sum(pc >= end for end in self._entries[1:-1])
        linked = self.source.programs[self._names[which]]
        slot = self._slots[which][pc - self._entries[which]]
        function = linked.function(slot)
        text = disassemble(*linked.slots[slot : slot + 2])
        name = self.source.maps[n].name if n in range(len(self.source.maps)) else ""
        problem = _FAULTS[kind].format(n=n, where=self._where(address), map=name)
        return Fault(
            problem,
            function.name,
            function.section,
            function.section_slot + slot - function.slot,
            text,
            address,
        )

    def _where(self, address: int) -> str:
        """An address in words."""
        region, place = address >> 32, address & 0xFFFFFFFF
        maps = self.source.maps
        if region == _xdp.PACKET_REGION and place >= _xdp.PACKET_ADDRESS // 2:
            return f"buffer {place - _xdp.PACKET_ADDRESS:+d}"
        if region == _xdp.CONTEXT_REGION:
            return f"context {place:+d}"
        if _xdp.STACK_REGION <= region < _xdp.FIRST_MAP_REGION:
            return f"stack {place - _xdp.STACK_ADDRESS:+d}"
        if region - _xdp.FIRST_MAP_REGION in range(len(maps)):
            return f"map {maps[region - _xdp.FIRST_MAP_REGION].name} {place:+d}"
        return f"{address:#x}"


def load(source: str | os.PathLike[str] | bytes, *, place: str = "object") -> Object:
    """Read an ELF object of `clang -O2 -g -target bpf -c`.

    Parameters
    ----------
    source : path or bytes
        The file or its content.
    place : str
        Name of such content in errors.

    Returns
    -------
    Object
        Its ``programs`` and ``maps``; `Program` makes one of them run.

    Raises
    ------
    DataError
        Names file, section and instruction.
    """
    if isinstance(source, bytes):
        return elf.read(source, place)
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", place=str(path)) from None
    return elf.read(content, path.name)


def assemble(code: bytes, maps: Iterable[MapSpec] = (), *, name: str = "program") -> Object:
    """An object out of bare instructions.

    Parameters
    ----------
    code : bytes
        Slots of eight bytes; a 64-bit constant names a map by its position in `maps`.
    maps : iterable of MapSpec
    name : str

    Returns
    -------
    Object
    """
    if not code or len(code) % 8:
        raise DataError("must be slots of eight bytes", place=name, field="code", value=f"{len(code)} bytes")
    specs = tuple(elf.checked(spec, name) for spec in maps)
    linked = Linked(split(code), [Function(name, "bytes", 0, 0)])
    return Object(name, {name: linked}, specs)


def samples() -> list[str]:
    """Names of the sample programs; their C stands beside their objects in ``nicperf/packets/programs``."""
    return sorted(path.stem for path in PROGRAMS.glob("*.o"))


def sample(name: str, **options: int) -> Program:
    """A sample program, ready to run.

    Parameters
    ----------
    name : str
        One of `samples`.
    **options
        `cpus`, `seed` and `budget` of `Program`.

    Returns
    -------
    Program

    Raises
    ------
    ScenarioError
        There is no such sample.
    """
    if name not in samples():
        raise ScenarioError("no such sample program", value=name, cure=closest(name, samples()))
    source = load(PROGRAMS / f"{name}.o")
    return Program(source, next(iter(source.programs)), **options)
