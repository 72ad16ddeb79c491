"""Copies, reads and pointer chases, timed outside the GIL, alone or with a second thread on another core.

Everything is counted in ticks: of the time-stamp counter where `tsc` is true, otherwise nanoseconds.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef extern from "_copy.h" nogil:
    ctypedef void (*copy_routine_t)(uint8_t* out, const uint8_t* data, int64_t n_bytes) noexcept
    int COPY_SSE2, COPY_ERMS, COPY_AVX2, COPY_AVX512F, COPY_LINE
    int COPY_REP_MOVSB, COPY_VECTOR, COPY_MOVNTI, COPY_STREAM
    int copy_features()
    copy_routine_t copy_routine(int kind, int features, int* width)
    int copy_invariant_tsc()
    int64_t copy_raw_ns()
    int64_t copy_ticks(int tsc)
    uint64_t copy_read(const uint8_t* data, int64_t n_bytes)
    void copy_fill(uint8_t* out, int64_t n_bytes, int nocache)
    int64_t copy_chase(const int64_t* chain, int64_t place, int64_t n_steps)
    void copy_add(int64_t n)
    void copy_order_set(int64_t* order, int64_t value)
    int64_t copy_order(const int64_t* order)
    void copy_wait(int64_t* n_waits)

cdef enum:
    WARM_CALLS = 2                      # untimed: instructions fetched, wide vectors powered up
    FIRST_PACKED_BYTES = 24             # no multiple of a line, or of 16, 32 or 64 bytes

cdef enum order_t:
    IDLE, READ, CHASE, STOP, END

cdef struct walk_t:                     # where the next message lies in a ring
    uint8_t* base
    int64_t ring_bytes, stride_bytes, size_bytes, position

cdef struct partner_t:                  # what the second thread is told, and what it found
    int64_t order                       # the only word that both threads write
    int tsc
    walk_t walk
    int64_t n_calls, ticks
    const int64_t* chain
    int64_t place, n_steps, n_blocks, room
    int64_t* blocks


INSTRUCTIONS = {"sse2": COPY_SSE2, "erms": COPY_ERMS, "avx2": COPY_AVX2, "avx512f": COPY_AVX512F}
MODES = {"rep_movsb": "cached", "vector": "cached", "movnti": "nocache", "stream": "nocache"}
KINDS = {"rep_movsb": COPY_REP_MOVSB, "vector": COPY_VECTOR, "movnti": COPY_MOVNTI, "stream": COPY_STREAM}


def instructions() -> tuple[str, ...]:
    """Instruction sets of this processor that a routine here makes use of."""
    return tuple(name for name, bit in INSTRUCTIONS.items() if copy_features() & bit)


cdef class Routine:
    """One way to copy: its name, its mode (`cached` or `nocache`) and the bytes of its widest store."""
    cdef readonly str name, mode
    cdef readonly int width_bytes
    cdef bint around                    # the cache
    cdef copy_routine_t copy

    def __call__(self, uint8_t[::1] out, const uint8_t[::1] data):
        """Copy `data` to the beginning of `out`."""
        if data.shape[0] > out.shape[0]:
            raise ValueError(f"{data.shape[0]} bytes do not fit into {out.shape[0]}")
        if data.shape[0]:
            self.copy(&out[0], &data[0], data.shape[0])


def routines(allowed) -> list[Routine]:
    """The routines that run here with these instruction sets only."""
    cdef Routine routine
    cdef int width
    features = copy_features() & sum(INSTRUCTIONS[name] for name in set(allowed))
    found = []
    for name, kind in KINDS.items():
        routine = Routine()
        routine.copy = copy_routine(kind, features, &width)
        routine.name, routine.mode, routine.width_bytes = name, MODES[name], width
        routine.around = routine.mode == "nocache"
        if routine.copy != NULL:
            found.append(routine)
    return found


def invariant_tsc() -> bool:
    """Whether the processor promises a time-stamp counter of constant rate."""
    return bool(copy_invariant_tsc())


def calibrate(int64_t duration_ns):
    """Ticks of the time-stamp counter per nanosecond of CLOCK_MONOTONIC_RAW."""
    cdef int64_t ticks[2]
    cdef int64_t ns[2]
    cdef int64_t before, after, now, best, end
    cdef int side
    with nogil:
        end = copy_raw_ns()
        for side in range(2):
            while copy_raw_ns() < end:
                pass
            end += duration_ns
            best = 1 << 62
            for _ in range(64):         # of many readings, the one that was interrupted least
                before = copy_ticks(1)
                now = copy_raw_ns()
                after = copy_ticks(1)
                if after - before < best:
                    best, ticks[side], ns[side] = after - before, before + (after - before) // 2, now
    return (ticks[1] - ticks[0]) / <double>(ns[1] - ns[0])


def empty_ticks(bint tsc) -> int:
    """What two readings of the clock cost with nothing between them."""
    cdef int64_t start, best = 1 << 62
    for _ in range(1000):
        start = copy_ticks(tsc)
        best = min(best, copy_ticks(tsc) - start)
    return best


def add_ticks(int64_t n_cycles, bint tsc) -> int:
    """Ticks that so many core cycles take, measured by additions that wait for each other."""
    cdef int64_t start
    with nogil:
        start = copy_ticks(tsc)
        copy_add(n_cycles)
        start = copy_ticks(tsc) - start
    return start


def fill(uint8_t[::1] memory):
    """Touch all of the memory, so that it has pages."""
    with nogil:
        copy_fill(&memory[0], memory.shape[0], 0)


cdef inline uint8_t* walk_next(walk_t* walk) noexcept nogil:
    """Place of the next message; at the end of the ring it starts again."""
    cdef uint8_t* place
    if walk.position + walk.size_bytes > walk.ring_bytes:
        walk.position = 0
    place = walk.base + walk.position
    walk.position += walk.stride_bytes
    return place


cdef void walk_fill(walk_t* walk, int nocache) noexcept nogil:
    """Leave the ring as a copy of that mode would, what comes next having been left longest ago."""
    cdef int64_t start = min(walk.position, walk.ring_bytes)
    copy_fill(walk.base + start, walk.ring_bytes - start, nocache)
    copy_fill(walk.base, start, nocache)


cdef void walk_read(walk_t* walk, int64_t n_calls) noexcept nogil:
    for _ in range(n_calls):
        copy_read(walk_next(walk), walk.size_bytes)


cdef class Walk:
    """Messages of one size, one after the other in a ring of `ring_bytes` at the start of `memory`.

    `packed` messages follow each other without a gap and start in the middle of a line, so that neighbours share
    lines; the others start on a line each. `memory` begins on a line and is a line longer than the ring.
    """
    cdef walk_t walk
    cdef uint8_t[::1] memory

    def __cinit__(self, uint8_t[::1] memory, int64_t ring_bytes, int64_t size_bytes, bint packed=False, int64_t position=0):
        if not 0 < size_bytes <= ring_bytes <= memory.shape[0] - COPY_LINE:
            raise ValueError(f"messages of {size_bytes} bytes in a ring of {ring_bytes} in {memory.shape[0]} bytes")
        if position < 0 or (position + <int64_t>&memory[0]) % COPY_LINE:
            raise ValueError(f"no line starts at {position}")
        self.memory = memory
        self.walk.base = &memory[0] + (FIRST_PACKED_BYTES if packed else 0)
        self.walk.ring_bytes, self.walk.size_bytes = ring_bytes, size_bytes
        self.walk.stride_bytes = size_bytes if packed else (size_bytes + COPY_LINE - 1) // COPY_LINE * COPY_LINE
        self.walk.position = position

    @property
    def position(self) -> int:
        """Where the next message starts, rounded up to a line."""
        return (self.walk.position + COPY_LINE - 1) // COPY_LINE * COPY_LINE


cdef int walk_match(Walk to, Walk source) except -1:
    if to.walk.size_bytes != source.walk.size_bytes:
        raise ValueError(f"{source.walk.size_bytes} bytes do not make messages of {to.walk.size_bytes}")
    return 0


cdef int64_t walk_copies(Routine routine, Walk to, Walk source, int64_t n_calls, int tsc) noexcept nogil:
    """Ticks of so many copies."""
    cdef int64_t start = copy_ticks(tsc)
    for _ in range(n_calls):
        routine.copy(walk_next(&to.walk), walk_next(&source.walk), to.walk.size_bytes)
    return copy_ticks(tsc) - start


def time_copies(Routine routine not None, Walk to not None, Walk source not None, int64_t n_calls, bint tsc,
                bint prepare, bint touch) -> int:
    """Ticks of so many copies in a row.

    `prepare` first leaves the whole ring as the routine's mode would, `touch` first reads the next source.
    """
    cdef int64_t ticks
    walk_match(to, source)
    with nogil:
        if prepare:
            walk_fill(&to.walk, routine.around)
        if touch:
            copy_read(source.walk.base, source.walk.size_bytes)
        walk_copies(routine, to, source, WARM_CALLS, tsc)
        ticks = walk_copies(routine, to, source, n_calls, tsc)
    return ticks


cdef class Partner:
    """The second thread: it runs `serve` on another core, and does what the functions below tell it."""
    cdef partner_t told

    def serve(self):
        """Obey orders until `end`."""
        with nogil:
            partner_serve(&self.told)

    def end(self):
        copy_order_set(&self.told.order, END)


cdef void partner_serve(partner_t* told) noexcept nogil:
    cdef int64_t order, start, n_waits = 0
    while True:
        order = copy_order(&told.order)
        if order == READ:
            start = copy_ticks(told.tsc)
            walk_read(&told.walk, told.n_calls)
            told.ticks = copy_ticks(told.tsc) - start
            copy_order_set(&told.order, IDLE)
        elif order == CHASE:
            start = copy_ticks(told.tsc)
            told.place = copy_chase(told.chain, told.place, told.n_steps)
            if told.n_blocks < told.room:
                told.blocks[told.n_blocks] = copy_ticks(told.tsc) - start
                told.n_blocks += 1
        elif order == STOP:
            copy_order_set(&told.order, IDLE)
        elif order == END:
            return
        else:
            copy_wait(&n_waits)


cdef void partner_tell(partner_t* told, int64_t order) noexcept nogil:
    """Give an order and wait until it is carried out; a chase goes on until it is told to stop."""
    cdef int64_t n_waits = 0
    copy_order_set(&told.order, order)
    while order != CHASE and copy_order(&told.order) != IDLE:
        copy_wait(&n_waits)


cdef int64_t partner_reads(partner_t* told, walk_t behind, int64_t n_calls, int tsc) noexcept nogil:
    """Ticks of so many reads, by the partner, or by this thread if there is none."""
    cdef int64_t start
    if told is NULL:
        start = copy_ticks(tsc)
        walk_read(&behind, n_calls)
        return copy_ticks(tsc) - start
    told.walk, told.n_calls, told.tsc = behind, n_calls, tsc
    partner_tell(told, READ)
    return told.ticks


def time_reads(Routine routine not None, Walk to not None, Walk source not None, int64_t n_calls, int64_t n_warm_calls,
               bint tsc, Partner partner, int64_t[::1] copy, int64_t[::1] read):
    """Rounds of copies, then reads of what was copied: by `partner`, or by this thread if that is None.

    Ticks of each round's copies and reads go to `copy` and `read`; the warm calls before leave none.
    """
    cdef int64_t round, n_rounds = copy.shape[0]
    cdef partner_t* told = NULL if partner is None else &partner.told
    cdef walk_t behind
    if read.shape[0] != n_rounds:
        raise ValueError("copy and read differ in length")
    walk_match(to, source)
    with nogil:
        behind = to.walk
        walk_copies(routine, to, source, n_warm_calls, tsc)
        partner_reads(told, behind, n_warm_calls, tsc)
        for round in range(n_rounds):
            behind = to.walk
            copy[round] = walk_copies(routine, to, source, n_calls, tsc)
            read[round] = partner_reads(told, behind, n_calls, tsc)


def time_chase_between(Routine routine, Walk to not None, Walk source not None, const int64_t[::1] chain, int64_t n_steps,
                       int64_t n_warm_rounds, bint tsc, int64_t[::1] copy, int64_t[::1] chase):
    """Rounds of one copy (none if `routine` is None) and a chase of so many steps, on this core.

    `chain` is a closed chain of its own indices. Ticks go to `copy` and `chase` as in `time_reads`.
    """
    cdef int64_t round, start, ticks, place = 0, n_rounds = chase.shape[0]
    cdef bint with_copy = routine is not None
    if copy.shape[0] != n_rounds:
        raise ValueError("copy and chase differ in length")
    walk_match(to, source)
    with nogil:
        for round in range(-n_warm_rounds, n_rounds):
            ticks = walk_copies(routine, to, source, 1, tsc) if with_copy else 0
            start = copy_ticks(tsc)
            place = copy_chase(&chain[0], place, n_steps)
            start = copy_ticks(tsc) - start
            if round >= 0:
                copy[round], chase[round] = ticks, start


def time_chase_beside(Routine routine, Walk to not None, Walk source not None, int64_t n_calls,
                      const int64_t[::1] chain, int64_t n_steps, int64_t duration_ns, bint tsc,
                      Partner partner not None, int64_t[::1] copy, int64_t[::1] chase):
    """Copies (none if `routine` is None) for so long, while `partner` chases on its core.

    Returns
    -------
    tuple of int
        How many entries of `copy` (ticks of `n_calls` copies) and `chase` (ticks of `n_steps` steps) are filled.
    """
    cdef int64_t ticks, n = 0, n_waits = 0, end
    cdef bint with_copy = routine is not None
    cdef partner_t* told = &partner.told
    walk_match(to, source)
    with nogil:
        if told.chain != &chain[0]:     # otherwise it goes on where it was
            told.chain, told.place = &chain[0], 0
        told.tsc, told.n_steps, told.n_blocks = tsc, n_steps, 0
        told.blocks, told.room = &chase[0], chase.shape[0]
        end = copy_raw_ns() + duration_ns
        partner_tell(told, CHASE)
        while copy_raw_ns() < end:
            if not with_copy:
                copy_wait(&n_waits)
                continue
            ticks = walk_copies(routine, to, source, n_calls, tsc)
            if n < copy.shape[0]:
                copy[n] = ticks
                n += 1
        partner_tell(told, STOP)
    return n, told.n_blocks
