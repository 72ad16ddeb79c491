"""Byte queue limits: how many bytes may be in a driver's ring, found by watching it.

The limit grows when the ring ran dry although more was offered, and shrinks by what was never needed for a second. After
Documentation/networking and lib/dynamic_queue_limits.c of Linux: the rules, in own words.
"""
from libc.stdint cimport INT64_MAX, int64_t

cdef enum:
    HOLD_MS = 1000                      # slack must last so long before the limit shrinks
    MOST_BYTES = 1879048192             # the kernel's upper bound

cdef struct byte_limits_t:
    int64_t limit_bytes
    int64_t queued_bytes                # since the start
    int64_t completed_bytes
    int64_t last_bytes                  # of the packet queued last
    int64_t over_bytes                  # how far the limit was exceeded at the last completion
    int64_t queued_then_bytes           # queued at the last completion
    int64_t last_then_bytes
    int64_t slack_bytes                 # the least seen since `slack_since_ps`
    int64_t slack_since_ps


cdef inline void byte_limits_init(byte_limits_t* b) noexcept nogil:
    b.limit_bytes = b.queued_bytes = b.completed_bytes = b.last_bytes = 0
    b.over_bytes = b.queued_then_bytes = b.last_then_bytes = b.slack_since_ps = 0
    b.slack_bytes = INT64_MAX


cdef inline bint byte_limits_full(const byte_limits_t* b) noexcept nogil:
    return b.queued_bytes - b.completed_bytes > b.limit_bytes


cdef inline void byte_limits_queue(byte_limits_t* b, int64_t n_bytes) noexcept nogil:
    b.queued_bytes += n_bytes
    b.last_bytes = n_bytes


cdef inline void byte_limits_complete(byte_limits_t* b, int64_t n_bytes, int64_t now_ps) noexcept nogil:
    """So many bytes have left: find out whether they were too few or too many."""
    cdef int64_t completed = b.completed_bytes + n_bytes
    cdef int64_t over = max(<int64_t>0, b.queued_bytes - b.completed_bytes - b.limit_bytes)
    cdef bint busy = b.queued_bytes > completed, busy_then = b.queued_then_bytes > b.completed_bytes
    cdef bint all_of_then = completed >= b.queued_then_bytes
    cdef int64_t limit = b.limit_bytes, slack
    if (over and not busy) or (b.over_bytes and all_of_then):       # starved
        limit += max(<int64_t>0, completed - b.queued_then_bytes) + b.over_bytes
        b.slack_since_ps = now_ps
        b.slack_bytes = INT64_MAX
    elif busy and busy_then and not all_of_then:                    # never dry: what was too much
        slack = max(<int64_t>0, limit + b.over_bytes - 2 * n_bytes)
        if b.over_bytes:
            slack = max(slack, b.last_then_bytes - b.over_bytes)
        b.slack_bytes = min(b.slack_bytes, slack)
        if now_ps > b.slack_since_ps + <int64_t>HOLD_MS * 1000000000:
            limit = max(<int64_t>0, limit - b.slack_bytes)
            b.slack_since_ps = now_ps
            b.slack_bytes = INT64_MAX
    limit = min(limit, <int64_t>MOST_BYTES)
    if limit != b.limit_bytes:
        b.limit_bytes = limit
        over = 0
    b.over_bytes = over
    b.last_then_bytes = b.last_bytes
    b.completed_bytes = completed
    b.queued_then_bytes = b.queued_bytes
