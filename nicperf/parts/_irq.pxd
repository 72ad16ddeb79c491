"""Interrupt moderation of one direction: a threshold, and a timer that covers what stays below it."""
from libc.stdint cimport int32_t, int64_t

cdef struct moderation_t:
    int32_t threshold                   # events per interrupt; 0 = every event
    int64_t timer_ps                    # 0 = no timer
    bint from_first                     # the timer starts with the first pending event; else when the queue runs empty
    int32_t pending                     # events since the last interrupt


cdef enum:                              # what the caller has to do with the timer's event
    MODERATION_HOLD, MODERATION_FIRE, MODERATION_START


cdef inline int32_t moderation_event(moderation_t* m, bint queue_empty) noexcept nogil:
    """Count one completion: fire now, start the timer, or hold."""
    if m.threshold == 0:
        return MODERATION_FIRE
    m.pending += 1
    if m.pending >= m.threshold:
        m.pending = 0
        return MODERATION_FIRE
    if m.timer_ps and (m.pending == 1 if m.from_first else queue_empty):
        return MODERATION_START
    return MODERATION_HOLD
