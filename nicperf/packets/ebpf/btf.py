"""The part of BTF that says what the maps of an object are.

Source: Linux, Documentation/bpf/btf.rst, "BTF Type and String Encoding"; libbpf's __uint and __type hide numbers and
types in pointers: a number n is the length of the array pointed to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from nicperf.errors import DataError

INT, PTR, ARRAY, STRUCT, UNION, ENUM, _FWD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
_FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(12, 20)
# Bytes after the common header: fixed, and for each member.
_TRAILER = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8), FUNC_PROTO: (0, 8)}
_TRAILER |= {VAR: (4, 0), DATASEC: (0, 12), DECL_TAG: (4, 0), ENUM64: (0, 12)}
_ALIASES = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)


class Type(NamedTuple):
    """One type: its kind, its name, its size or the type it refers to, and what follows."""

    kind: int
    name: str
    size_or_type: int
    trailer: tuple[int, ...]


class Btf:
    """Types of one object.

    Parameters
    ----------
    section : bytes
        Content of ``.BTF``.
    place : str
        File, for errors.
    """

    def __init__(self, section: bytes, place: str) -> None:
        self.place = place
        try:
            header, type_at, type_bytes, name_at, name_bytes = struct.unpack_from("<IIIII", section, 4)
            self.names = section[header + name_at :][:name_bytes]
            self.types = [Type(0, "void", 0, ()), *self._types(section[header + type_at :][:type_bytes])]
        except (struct.error, ValueError):
            raise DataError(
                "the section .BTF is damaged", place=place, cure="compile the object again"
            ) from None

    def maps(self) -> dict[str, dict[str, int]]:
        """Attributes of each variable in the section ``.maps``: numbers, and for `key` and `value` their sizes in bytes."""
        found = {}
        for section in self.types:
            if section.kind == DATASEC and section.name == ".maps":
                for index in section.trailer[::3]:
                    variable = self.types[index]
                    found[variable.name] = self._attributes(variable)
        return found

    def _attributes(self, variable: Type) -> dict[str, int]:
        struct_type = self._resolve(variable.size_or_type)
        found = {}
        for name_at, index, _ in zip(*[iter(struct_type.trailer)] * 3, strict=True):
            name = self._name(name_at)
            pointer = self._resolve(index)
            if pointer.kind == ARRAY and name == "values":
                raise DataError(
                    "maps that the object fills are not modelled",
                    place=self.place,
                    field=f"{variable.name}.values",
                    cure="leave __array(values, ...) out and set the entries from Python",
                )
            if pointer.kind != PTR:
                raise DataError("is no __uint or __type", place=self.place, field=f"{variable.name}.{name}")
            target = self._resolve(pointer.size_or_type)
            if name in ("key", "value"):
                found[f"{name}_size"] = self.size(pointer.size_or_type)
            elif target.kind == ARRAY:
                found[name] = target.trailer[2]
        return found

    def _name(self, at: int) -> str:
        return self.names[at : self.names.index(b"\0", at)].decode()

    def _types(self, data: bytes) -> Iterator[Type]:
        at = 0
        while at < len(data):
            name_at, info, size_or_type = struct.unpack_from("<III", data, at)
            kind = info >> 24 & 0x1F
            fixed, each = _TRAILER.get(kind, (0, 0))
            n_bytes = fixed + each * (info & 0xFFFF)
            trailer = struct.unpack_from(f"<{n_bytes // 4}I", data, at + 12)
            yield Type(kind, self._name(name_at), size_or_type, trailer)
            at += 12 + n_bytes

    def _resolve(self, index: int) -> Type:
        found = self.types[index]
        while found.kind in _ALIASES:
            found = self.types[found.size_or_type]
        return found

    def size(self, index: int) -> int:
        """Bytes of a type."""
        found = self._resolve(index)
        if found.kind == PTR:
            return 8
        if found.kind == ARRAY:
            return self.size(found.trailer[0]) * found.trailer[2]
        return found.size_or_type
