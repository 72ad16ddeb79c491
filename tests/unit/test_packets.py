"""The Internet checksum against sums by hand."""

import array
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nicperf as nic


def checksum(data: bytes) -> int:
    """RFC 1071 as it reads: 16-bit words, carries added back at the end."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def test_checksum_of_the_rfc() -> None:
    assert nic.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2


@pytest.mark.parametrize(("data", "sum_of_it"), [(b"", 0xFFFF), (b"\x01", 0xFEFF), (b"\xff" * 65536, 0)])
def test_checksum_at_the_edges(data: bytes, sum_of_it: int) -> None:
    assert nic.checksum(data) == sum_of_it


@given(st.binary(max_size=200), st.integers(0, 9))
def test_checksum_of_any_bytes_at_any_address(data: bytes, start: int) -> None:
    assert nic.checksum(memoryview(data)[start:]) == checksum(data[start:])


@given(st.integers(65530, 65560), st.integers(0, 255))
def test_checksum_of_large_buffers(size: int, value: int) -> None:
    data = bytes([value]) * (size // 2) + bytes(range(256)) * (size // 512) + b"\x01"
    assert nic.checksum(data) == checksum(data)


def test_data_with_their_own_checksum_give_zero() -> None:
    data = bytearray(range(20))
    data[10:12] = bytes(2)
    data[10:12] = struct.pack(">H", nic.checksum(data))
    assert nic.checksum(data) == 0


def test_checksum_takes_what_has_a_buffer_and_nothing_else() -> None:
    assert nic.checksum(array.array("H", [1, 2])) == nic.checksum(array.array("H", [1, 2]).tobytes())
    with pytest.raises(TypeError, match="bytes-like"):
        nic.checksum("text")
    with pytest.raises(BufferError):
        nic.checksum(memoryview(bytes(8))[::2])
