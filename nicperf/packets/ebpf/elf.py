"""ELF objects of `clang -target bpf`: programs, maps, and the relocations that tie them together.

Not modelled: CO-RE relocations and kernel symbols (they need a running kernel's BTF), callbacks, maps in maps, maps that the
object fills, the section ``maps`` of libbpf before 1.0.

Source: Linux, Documentation/bpf/llvm_reloc.rst; libbpf for the names of sections.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from nicperf.errors import DataError
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.btf import Btf
from nicperf.packets.ebpf.instruction import Instruction, split
from nicperf.tables.xdp import MapType

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

EM_BPF = 247
EXECUTABLE = 4  # SHF_EXECINSTR
R_BPF_64_64 = 1
LARGEST_BYTES = 1 << 30
DATA = (".rodata", ".data", ".bss")


class MapSpec(NamedTuple):
    """A map before it has memory. `content` is that of a section of global data, which is a map of one value."""

    name: str
    type: MapType
    key_bytes: int
    value_bytes: int
    max_entries: int
    writable: bool = True
    content: bytes = b""


def checked(spec: MapSpec, place: str) -> MapSpec:
    """The map if its sizes can be had, as the kernel checks them.

    Raises
    ------
    DataError
        Names the field and what it may be.
    """

    def refuse(problem: str, name: str, value: int) -> None:
        raise DataError(problem, place=place, field=f"{spec.name}.{name}", value=value)

    if spec.max_entries < 1:
        refuse("must be at least 1", "max_entries", spec.max_entries)
    if spec.value_bytes < 1:
        refuse("must be at least 1", "value_size", spec.value_bytes)
    if spec.key_bytes < 1 or (spec.type != MapType.HASH and spec.key_bytes != 4):
        refuse("must be at least 1, and 4 for an array", "key_size", spec.key_bytes)
    targets = spec.type not in (MapType.HASH, MapType.ARRAY, MapType.PERCPU_ARRAY)
    if targets and spec.value_bytes not in (4, 8):
        refuse("must be 4 or 8 for a map of targets", "value_size", spec.value_bytes)
    if spec.max_entries * (2 * spec.value_bytes + 8) > LARGEST_BYTES:
        refuse("more than a gigabyte of values", "max_entries", spec.max_entries)
    return spec


class Function(NamedTuple):
    """Where a function of a linked program stood in the object."""

    name: str
    section: str
    slot: int  # of the linked program
    section_slot: int  # of its section, as llvm-objdump numbers them


class Linked(NamedTuple):
    """One program followed by the subprograms it reaches; maps are named by their position."""

    slots: list[Instruction]
    functions: list[Function]

    def function(self, slot: int) -> Function:
        """The function that a slot belongs to."""
        return max((f for f in self.functions if f.slot <= slot), key=lambda f: f.slot)


@dataclass(frozen=True, eq=False)
class Object:
    """What a file holds.

    Attributes
    ----------
    place : str
        File name, for errors.
    programs : dict of str to Linked
    maps : tuple of MapSpec
        In the order in which the programs' instructions name them.
    license : str
    """

    place: str
    programs: dict[str, Linked]
    maps: tuple[MapSpec, ...]
    license: str = ""


def read(content: bytes, place: str) -> Object:
    """Read an ELF object.

    Parameters
    ----------
    content : bytes
    place : str
        File name, for errors.

    Returns
    -------
    Object

    Raises
    ------
    DataError
        Not an ELF object for eBPF, or something in it that is not modelled.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(BytesIO(content))
        if elf["e_machine"] not in ("EM_BPF", EM_BPF) or not elf.little_endian or elf.elfclass != 64:
            raise DataError(
                "is not compiled for little-endian eBPF", place=place, cure="clang -O2 -g -target bpfel -c"
            )
        return _Reader(elf, place).object()
    except (ELFError, struct.error) as error:
        raise DataError(
            f"is no ELF object ({error})", place=place, cure="clang -O2 -g -target bpf -c"
        ) from None


class _Reader:
    def __init__(self, elf: ELFFile, place: str) -> None:
        self.place = place
        self.sections: list[Any] = list(elf.iter_sections())
        self.index = {section.name: n for n, section in enumerate(self.sections)}
        table: Any = elf.get_section_by_name(".symtab")
        if table is None:
            raise DataError("has no symbols", place=place, cure="do not strip the object (strip -g is fine)")
        self.symbols = list(table.iter_symbols())
        self.relocations = {
            section["sh_info"]: {r["r_offset"]: r for r in section.iter_relocations()}
            for section in self.sections
            if section["sh_type"] == "SHT_REL"
        }
        self.code = {
            n: split(s.data())
            for n, s in enumerate(self.sections)
            if s["sh_flags"] & EXECUTABLE and s["sh_size"]
        }
        self.functions = {
            (symbol["st_shndx"], symbol["st_value"] // 8): (symbol.name, symbol["st_size"] // 8)
            for symbol in self.symbols
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] in self.code
        }
        self.maps: list[MapSpec] = []
        # From section and offset to a map's position; the offset is -1 for global data.
        self.map_at: dict[tuple[int, int], int] = {}
        self._find_maps()
        if ".BTF.ext" in self.index:
            header = struct.unpack_from("<8I", self.sections[self.index[".BTF.ext"]].data())
            if (
                header[1] >= 32 and header[7]
            ):  # a header of 32 bytes ends with the length of CO-RE relocations
                raise DataError(
                    "needs CO-RE relocations",
                    place=place,
                    field="section .BTF.ext",
                    cure="leave out BPF_CORE_READ and the like",
                )

    def object(self) -> Object:
        xdp = {
            name: start
            for start, (name, _) in self.functions.items()
            if self.sections[start[0]].name.startswith("xdp")
        }
        if not xdp:
            found = sorted({self.sections[n].name for n in self.code})
            raise DataError(
                f"has no XDP program, only the sections {', '.join(found) or 'without code'}",
                place=self.place,
                cure='put SEC("xdp") before the program',
            )
        licenses = [s.data().rstrip(b"\0").decode() for s in self.sections if s.name == "license"]
        return Object(
            self.place,
            {name: self._link(*start) for name, start in xdp.items()},
            tuple(self.maps),
            "".join(licenses),
        )

    # Maps ------------------------------------------------------------------------------------------

    def _find_maps(self) -> None:
        if "maps" in self.index:
            raise DataError(
                "old map definitions", place=self.place, field="section maps", cure="use a BTF map in .maps"
            )
        if ".maps" in self.index:
            self._find_declared(self.index[".maps"])
        for n, section in enumerate(self.sections):
            if section.name.startswith(DATA) and section["sh_size"]:
                if n in self.relocations:
                    raise DataError(
                        "addresses in global data are not modelled",
                        place=self.place,
                        field=f"section {section.name}",
                        cure="initialise pointers in the program",
                    )
                blank = section["sh_type"] == "SHT_NOBITS"
                content = bytes(section["sh_size"]) if blank else section.data()
                self.map_at[n, -1] = len(self.maps)
                writable = not section.name.startswith(".rodata")
                self.maps.append(MapSpec(section.name, MapType.ARRAY, 4, len(content), 1, writable, content))

    def _find_declared(self, where: int) -> None:
        if ".BTF" not in self.index:
            raise DataError(
                "has maps but no types", place=self.place, field="section .BTF", cure="compile with -g"
            )
        declared = Btf(self.sections[self.index[".BTF"]].data(), self.place).maps()
        for symbol in sorted(self.symbols, key=lambda s: s["st_value"]):
            if symbol["st_shndx"] == where and symbol.name in declared:
                self.map_at[where, symbol["st_value"]] = len(self.maps)
                self.maps.append(self._declared(symbol.name, declared[symbol.name]))

    def _declared(self, name: str, attributes: dict[str, int]) -> MapSpec:
        kind = attributes.get("type")
        if kind not in list(MapType):
            raise DataError(
                "is a kind of map that is not modelled",
                place=self.place,
                field=f"{name}.type",
                value=kind,
                cure=f"use one of {', '.join(t.name for t in MapType)}",
            )
        key, value, entries = (attributes.get(size, 0) for size in ("key_size", "value_size", "max_entries"))
        return checked(MapSpec(name, MapType(kind), key, value, entries), self.place)

    # Programs --------------------------------------------------------------------------------------

    def _link(self, section: int, slot: int) -> Linked:
        """A function and all that it calls, calls and maps resolved."""
        start = {(section, slot): 0}
        queue = [(section, slot)]
        slots: list[Instruction] = []
        calls: list[tuple[int, tuple[int, int]]] = []
        functions: list[Function] = []
        for section, slot in queue:
            if (section, slot) not in self.functions:
                self._refuse(section, slot, "calls what is no function of the object")
            name, length = self.functions[section, slot]
            start[section, slot] = len(slots)
            functions.append(Function(name, self.sections[section].name, len(slots), slot))
            at = slot
            while at < slot + length:
                i = self.code[section][at]
                relocation = self.relocations.get(section, {}).get(8 * at)
                if i.opcode == isa.CALL and i.src == isa.SUBPROGRAM:
                    target = self._called(section, at, i, relocation)
                    calls.append((len(slots), target))
                    if target not in queue:
                        queue.append(target)
                    replaced = [i]
                else:
                    replaced = [i] if relocation is None else self._constant(section, at, i, relocation)
                slots += replaced
                at += len(replaced)
        for at, target in calls:
            slots[at] = slots[at]._replace(imm=start[target] - at - 1)
        return Linked(slots, functions)

    def _called(self, section: int, at: int, i: Instruction, relocation: Any) -> tuple[int, int]:
        if relocation is None:
            return section, at + 1 + i.imm
        symbol = self._symbol(section, at, relocation)
        return symbol["st_shndx"], symbol["st_value"] // 8 + i.imm + 1

    def _constant(self, section: int, at: int, i: Instruction, relocation: Any) -> list[Instruction]:
        symbol = self._symbol(section, at, relocation)
        where, offset = symbol["st_shndx"], symbol["st_value"] + i.imm
        if relocation["r_info_type"] != R_BPF_64_64 or i.opcode != isa.LOAD_64:
            self._refuse(section, at, f"relocation {relocation['r_info_type']} is not modelled")
        if (where, -1) in self.map_at:
            position = self.map_at[where, -1]
            return [i._replace(src=isa.MAP_VALUE, imm=position), Instruction(0, imm=offset)]
        if (where, offset) not in self.map_at:
            self._refuse(
                section, at, f"names {symbol.name or self.sections[where].name}, neither a map nor data"
            )
        return [i._replace(src=isa.MAP, imm=self.map_at[where, offset]), Instruction(0)]

    def _symbol(self, section: int, at: int, relocation: Any) -> Any:
        symbol = self.symbols[relocation["r_info_sym"]]
        if symbol["st_shndx"] == "SHN_UNDEF":
            self._refuse(section, at, f"needs {symbol.name}, which the object does not define")
        return symbol

    def _refuse(self, section: int, at: int, problem: str) -> None:
        raise DataError(
            problem,
            place=f"{self.place}: section {self.sections[section].name}, instruction {at}",
            cure="compile all of the program into one object, without kernel symbols",
        )
