"""Real frames: headers, checksums, payload, and the record of what passed the wire."""

from nicperf.packets._checksum import checksum

__all__ = ["checksum"]
