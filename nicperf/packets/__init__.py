"""Real frames: headers, checksums, segmentation, payload, and the record of what passed the wire."""

from nicperf.packets._checksum import checksum
from nicperf.packets._segment import Descriptor, Segments, segment

__all__ = ["Descriptor", "Segments", "checksum", "segment"]
