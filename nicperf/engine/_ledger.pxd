"""Where the CPU time goes: picoseconds and calls per context and operation."""
from libc.stdint cimport int32_t, int64_t

cdef enum:                              # contexts, most urgent first: also the classes of the CPU server
    HARD_IRQ, SOFT_IRQ, PROCESS, CONTEXTS

cdef enum:                              # operations; their names stand in ledger.py in the same order
    OP_IRQ_ENTRY, OP_IRQ_SHARED, OP_MMIO_READ, OP_MMIO_WRITE, OP_SOFTIRQ, OP_POLL, OP_RX_REAP, OP_RX_REFILL, OP_TX_REAP
    OP_NETIF_RX, OP_GRO, OP_BUILD_SKB, OP_DMA_SYNC, OP_DMA_MAP, OP_TURNOVER, OP_BARRIER, OP_XDP
    OP_XMIT, OP_GSO, OP_LINEARIZE, OP_SKB_ALLOC, OP_SKB_FREE, OP_IP_INPUT, OP_IP_OUTPUT, OP_REASSEMBLE, OP_FRAGMENT
    OP_TCP_INPUT, OP_TCP_OUTPUT, OP_UDP, OP_QDISC, OP_SYSCALL, OP_WAKEUP, OP_PAGE, OP_SENDPAGE, OP_COPY, OP_CHECKSUM
    OP_HANDOVER, OP_APPLICATION, OP_VARIATION, OPERATIONS

cdef struct ledger_t:
    int64_t open_ps                     # charged to the job that is being put together
    int64_t ps[CONTEXTS][OPERATIONS]
    int64_t calls[CONTEXTS][OPERATIONS]


cdef inline void ledger_charge(ledger_t* a, int32_t context, int32_t operation, int64_t ps, int64_t calls) noexcept nogil:
    """Charge `ps` picoseconds for `calls` executions of an operation (ps is the total, not per call)."""
    a.open_ps += ps
    a.ps[context][operation] += ps
    a.calls[context][operation] += calls
