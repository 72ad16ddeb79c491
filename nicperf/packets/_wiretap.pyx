"""Recording what passes the wire, in the order in which it arrives, up to a limit."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

STATS = ("frames", "software_sums", "bad_checksums", "bad_payloads")


cdef class Wiretap:
    """Contents of the frames in flight, and a copy of the first ones that passed.

    Parameters
    ----------
    limit : int
        Most frames to keep; the memory they need is taken as they come.
    corrupt_frame : int
        Number of the frame on the wire, from 0, whose last byte is changed; -1 for none.
    """

    def __cinit__(self, int64_t limit, int64_t corrupt_frame=-1):
        self.corrupt_frame = corrupt_frame
        shapes = ((np.int64, limit), (np.uint8, limit), (np.int32, limit), (np.uint8, (limit, FRAME_BYTES)))
        self.columns = tuple(np.empty(shape, dtype=kind) for kind, shape in shapes)
        self.time_ps, self.outbound, self.length_bytes, self.data = self.columns

    def __dealloc__(self):
        free(self.content)

    cdef int lay(self, int32_t pool) except -1:
        """Make room for the frames that may be in flight."""
        if self.content != NULL:
            raise ValueError("a wiretap serves one simulation")
        self.content = <uint8_t*>calloc(pool, FRAME_BYTES)
        if self.content == NULL:
            raise MemoryError
        return 0

    cdef uint8_t* frame(self, int32_t index) noexcept nogil:
        return self.content + <int64_t>index * FRAME_BYTES

    cdef void see(self, int64_t now_ps, bint outbound, uint8_t* frame, int32_t length_bytes) noexcept nogil:
        """A frame has passed; `outbound` as the local host sees it."""
        cdef int64_t n = self.passed
        if n == self.corrupt_frame:
            frame[length_bytes - 1] ^= 0x01
        self.passed += 1
        if n >= self.time_ps.shape[0]:
            return
        if length_bytes < SHORTEST_FRAME_BYTES:
            memset(frame + length_bytes, 0, SHORTEST_FRAME_BYTES - length_bytes)
            length_bytes = SHORTEST_FRAME_BYTES
        self.time_ps[n] = now_ps
        self.outbound[n] = outbound
        self.length_bytes[n] = length_bytes
        memcpy(&self.data[n, 0], frame, length_bytes)

    def record(self):
        """What was kept: times, directions, lengths and contents, one row for each frame; and how many passed."""
        kept = min(self.passed, self.time_ps.shape[0])
        return *(column[:kept].copy() for column in self.columns), self.passed

    def counters(self):
        """Counters of the receiving side of (local, remote), as named in `STATS`."""
        return [[s.frames, s.software_sums, s.bad_checksums, s.bad_payloads] for s in self.stats]
