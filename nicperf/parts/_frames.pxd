"""Frames in flight: a pool that both hosts share. A frame stands for its bytes; who holds its index holds the data."""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    FRAME_BUFFERS = 7                   # most buffers that one frame may come from
    FRAME_POOL = 32768                  # more than rings, backlogs and FIFOs hold: 1 MiB of the smallest frames is 24,385

cdef enum:                              # what a frame carries
    TCP_DATA, TCP_ACK, UDP_FRAGMENT, TCP_SYN

cdef struct frame_t:
    int64_t sequence                    # first payload byte (TCP); datagram number (UDP)
    int64_t ack                         # next byte expected by the sender of an ACK
    int64_t window_edge                 # ack + window offered
    int64_t born_ps                     # when the driver posted it
    int32_t kind
    int32_t length_bytes                # header 14 + IP packet; no FCS
    int32_t payload_bytes               # application bytes inside
    int32_t index                       # fragment number (UDP), connection (closed loops)
    int32_t last                        # last fragment (UDP)
    int32_t segments                    # frames on the wire that it stands for, where a driver sends bursts

cdef struct frames_t:
    frame_t frame[FRAME_POOL]
    int32_t free[FRAME_POOL]            # frames given back, last in first out
    int32_t n_free
    int32_t n_fresh                     # frames taken at least once; the memory of the others is never touched
    int64_t allocated                   # statistics
    int64_t freed
    bint exhausted


cdef inline void frames_init(frames_t* f) noexcept nogil:
    f.n_free = 0
    f.n_fresh = 0
    f.allocated = 0
    f.freed = 0
    f.exhausted = False


cdef inline int32_t frames_take(frames_t* f) noexcept nogil:
    """Index of a fresh frame, or -1 when the pool is exhausted."""
    cdef int32_t i
    if f.n_free:
        f.n_free -= 1
        i = f.free[f.n_free]
    elif f.n_fresh < FRAME_POOL:
        i = f.n_fresh
        f.n_fresh += 1
    else:
        f.exhausted = True
        return -1
    f.allocated += 1
    return i


cdef inline void frames_give(frames_t* f, int32_t i) noexcept nogil:
    f.free[f.n_free] = i
    f.n_free += 1
    f.freed += 1
