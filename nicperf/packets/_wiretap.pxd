"""The wire between two hosts that exchange bytes, and a tap on it."""
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    FRAME_BYTES = 1536                  # room for the content of one frame
    SHORTEST_FRAME_BYTES = 60           # without FCS: shorter ones are padded with zeros

cdef struct bytes_stats_t:              # of one receiving host, from the start of the simulation
    int64_t frames                      # that reached the protocol
    int64_t software_sums               # packets or datagrams that the stack had to sum
    int64_t bad_checksums               # packets or datagrams found damaged
    int64_t bad_payloads                # damaged and not found


cdef class Wiretap:
    cdef uint8_t* content               # of the frames between memory and memory, by index
    cdef int64_t passed, corrupt_frame
    cdef tuple columns                  # the four arrays below
    cdef int64_t[::1] time_ps
    cdef uint8_t[::1] outbound
    cdef int32_t[::1] length_bytes
    cdef uint8_t[:, ::1] data
    cdef bytes_stats_t stats[2]         # of local and remote

    cdef int lay(self, int32_t pool) except -1
    cdef uint8_t* frame(self, int32_t index) noexcept nogil
    cdef void see(self, int64_t now_ps, bint outbound, uint8_t* frame, int32_t length_bytes) noexcept nogil
