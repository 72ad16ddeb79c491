"""The model of benchmarks/nic from the parts that nicperf's drivers are made of, cost ledger included."""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset
from nicperf.engine._ledger cimport HARD_IRQ, OP_IRQ_ENTRY, OP_RX_REAP, SOFT_IRQ, ledger_charge, ledger_t
from nicperf.engine._queue cimport queue_advance, queue_clear, queue_init, queue_next, queue_set, queue_t
from nicperf.engine._server cimport server_dispatch, server_finish, server_init, server_submit, server_t
from nicperf.parts._fifo cimport fifo_alloc, fifo_put, fifo_t, fifo_take
from nicperf.parts._irq cimport MODERATION_FIRE, MODERATION_START, moderation_event, moderation_t

cdef enum:
    WIRE, DMA, CPU, TIMER
    NS = 1000                           # picoseconds

cdef enum:
    RECEIVE                             # the DMA engine's only class


cdef struct nic_t:
    queue_t queue
    fifo_t fifo
    moderation_t moderation
    server_t dma, cpu
    ledger_t ledger
    int64_t frames, frame_ps, dma_ps, irq_ps, packet_ps
    int32_t fifo_frames, ring, budget
    int64_t arrived, delivered, dropped, interrupts, polls
    int32_t used, handled
    bint irq_enabled


cdef void cpu_work(nic_t* n, int32_t context, int32_t operation, int64_t ps) noexcept nogil:
    ledger_charge(&n.ledger, context, operation, ps, 1)
    server_submit(&n.cpu, context, n.ledger.open_ps)
    n.ledger.open_ps = 0
    server_dispatch(&n.queue, &n.cpu)


cdef void dma_start(nic_t* n) noexcept nogil:
    if n.fifo.count and n.dma.current < 0 and n.used < n.ring:
        fifo_take(&n.fifo)
        server_submit(&n.dma, RECEIVE, n.dma_ps)
        server_dispatch(&n.queue, &n.dma)


cdef void fire(nic_t* n) noexcept nogil:
    queue_clear(&n.queue, TIMER)
    n.moderation.pending = 0
    n.irq_enabled = False
    n.interrupts += 1
    cpu_work(n, HARD_IRQ, OP_IRQ_ENTRY, n.irq_ps)


cdef void wire_done(nic_t* n) noexcept nogil:
    n.arrived += 1
    if n.fifo.count < n.fifo_frames:
        fifo_put(&n.fifo, n.arrived & 0xFF)
        dma_start(n)
    else:
        n.dropped += 1
    if n.arrived < n.frames:
        queue_set(&n.queue, WIRE, n.queue.now_ps + n.frame_ps)
    else:
        queue_clear(&n.queue, WIRE)


cdef void dma_done(nic_t* n) noexcept nogil:
    cdef int32_t what
    server_finish(&n.queue, &n.dma)
    n.used += 1
    if n.irq_enabled:
        what = moderation_event(&n.moderation, n.fifo.count == 0)
        if what == MODERATION_FIRE:
            fire(n)
        elif what == MODERATION_START:
            queue_set(&n.queue, TIMER, n.queue.now_ps + n.moderation.timer_ps)
    dma_start(n)
    server_dispatch(&n.queue, &n.dma)


cdef void cpu_done(nic_t* n) noexcept nogil:
    if server_finish(&n.queue, &n.cpu) == HARD_IRQ:
        n.polls += 1
        n.handled = 0
    else:
        n.used -= 1
        n.delivered += 1
        n.handled += 1
        dma_start(n)
    if n.used == 0:
        n.irq_enabled = True
        server_dispatch(&n.queue, &n.cpu)
        return
    if n.handled == n.budget:
        n.polls += 1
        n.handled = 0
    cpu_work(n, SOFT_IRQ, OP_RX_REAP, n.packet_ps)


cdef void advance(nic_t* n) noexcept nogil:
    cdef int32_t slot
    while n.arrived < n.frames or n.dma.current >= 0 or n.cpu.current >= 0 or not n.irq_enabled or n.used:
        slot = queue_advance(&n.queue, queue_next(&n.queue))
        if slot == WIRE:
            wire_done(n)
        elif slot == DMA:
            dma_done(n)
        elif slot == CPU:
            cpu_done(n)
        else:
            fire(n)


def run(nic):
    """Execute the model; returns delivered, dropped, interrupts, polls and the busy time in the ledger in ns."""
    cdef nic_t n
    memset(&n, 0, sizeof(nic_t))
    if fifo_alloc(&n.fifo, nic.fifo_frames) < 0:
        raise MemoryError
    queue_init(&n.queue)
    server_init(&n.dma, DMA)
    server_init(&n.cpu, CPU)
    n.frames = nic.frames
    n.frame_ps = nic.frame_ns * NS
    n.fifo_frames = nic.fifo_frames
    n.dma_ps = nic.dma_ns * NS
    n.ring = nic.ring
    n.moderation.timer_ps = nic.timer_ns * NS
    n.moderation.threshold = nic.coalesced_frames
    n.moderation.from_first = True
    n.irq_ps = nic.irq_ns * NS
    n.budget = nic.budget
    n.packet_ps = nic.packet_ns * NS
    n.irq_enabled = True
    queue_set(&n.queue, WIRE, n.frame_ps)
    with nogil:
        advance(&n)
    free(n.fifo.item)
    busy_ps = n.ledger.ps[HARD_IRQ][OP_IRQ_ENTRY] + n.ledger.ps[SOFT_IRQ][OP_RX_REAP]
    return n.delivered, n.dropped, n.interrupts, n.polls, busy_ps // NS
