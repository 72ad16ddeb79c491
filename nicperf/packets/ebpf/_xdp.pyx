"""The compiled face of a program: what the simulator calls for each frame, and Python through `program.py`."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from nicperf.engine._random cimport random_init
from nicperf.packets.ebpf._interpreter cimport interpreter_run
from nicperf.packets.ebpf._machine cimport (
    CONTEXT, FIRST_MAP, FRAMES, HANDLES, PACKET, PACKET_AT, STACK, STACK_AT, STACK_BYTES, ZERO, insn_t, machine_open_frame,
    xdp_buff_t, xdp_md_t,
)
from nicperf.packets.ebpf._maps cimport (
    MAP_PERCPU_ARRAY, map_copy, map_delete, map_find, map_init, map_release, map_t, map_update, map_value, region_t,
)

import numpy as np

INSTRUCTION = np.dtype([("op", "u2"), ("dst", "u1"), ("src", "u1"), ("off", "i4"), ("imm", "i8")])
NO_REGISTER = ZERO
# Upper halves of addresses, and where frames of the wire and of the stack lie in their regions.
PACKET_REGION, CONTEXT_REGION, STACK_REGION, FIRST_MAP_REGION, HANDLE_REGION = PACKET, CONTEXT, STACK, FIRST_MAP, HANDLES
PACKET_ADDRESS, STACK_ADDRESS = PACKET_AT, STACK_AT


@cython.final
cdef class XdpProgram:
    """Decoded instructions with their own maps. Two of them share nothing: each may run in its own thread.

    Parameters
    ----------
    code : array of INSTRUCTION, shape (n,)
        As `decode` makes them: registers and jump targets are taken as checked.
    entries : int32 array, shape (programs,)
    maps : tuple of (kind, key_bytes, value_bytes, max_entries, writable)
    cpus : int
    seed : int
    budget : int
        Instructions after which a run ends in a fault.
    """

    def __cinit__(self, code, entries, tuple maps, int32_t cpus, uint64_t seed, int64_t budget):
        cdef const uint8_t[::1] source = code.view(np.uint8)
        cdef int32_t i
        cdef region_t* g
        cdef map_t* m
        self.arguments = (code, entries, maps, cpus, seed, budget)
        self.m.programs = len(entries)
        self.m.budget = budget
        self.m.maps = len(maps)
        self.m.regions = FIRST_MAP + self.m.maps
        self.m.code = <insn_t*>calloc(code.shape[0], sizeof(insn_t))
        self.m.region = <region_t*>calloc(self.m.regions, sizeof(region_t))
        self.m.map = <map_t*>calloc(self.m.maps + 1, sizeof(map_t))
        self.m.entry = <int32_t*>calloc(len(entries), sizeof(int32_t))
        if self.m.code == NULL or self.m.entry == NULL or self.m.region == NULL or self.m.map == NULL:
            raise MemoryError
        memcpy(self.m.code, &source[0], source.shape[0])
        for i in range(self.m.programs):
            self.m.entry[i] = entries[i]
        random_init(&self.m.random, seed, 0)
        for i in range(self.m.regions):
            self.m.region[i].mask = 0xFFFFFFFFU
        for i in range(FRAMES):
            g = &self.m.region[STACK + i]
            g.base = self.m.stack + i * STACK_BYTES
            g.start = STACK_AT - STACK_BYTES
        machine_open_frame(&self.m, 0)
        g = &self.m.region[CONTEXT]
        g.base = <uint8_t*>&self.m.context
        g.total_bytes = g.readable_bytes = sizeof(xdp_md_t)
        for i in range(self.m.maps):
            m = &self.m.map[i]
            m.kind, m.key_bytes, m.value_bytes, m.max_entries, writable = maps[i]
            map_init(m, cpus)
            g = &self.m.region[FIRST_MAP + i]
            g.base = m.values
            g.total_bytes = <uint32_t>m.slots << m.shift
            g.mask = (<uint32_t>1 << m.shift) - 1
            g.readable_bytes = m.value_bytes
            g.writable_bytes = m.value_bytes if writable else 0

    def __dealloc__(self):
        cdef int32_t i
        if self.m.map != NULL:
            for i in range(self.m.maps):
                map_release(&self.m.map[i])
        free(self.m.map)
        free(self.m.region)
        free(self.m.entry)
        free(self.m.code)

    def copy(self):
        """A fresh machine with the present content of the maps; clock, CPU and random stream as at the start."""
        cdef XdpProgram other = XdpProgram(*self.arguments)
        cdef int32_t i
        for i in range(self.m.maps):
            map_copy(&other.m.map[i], &self.m.map[i])
        return other

    def execute(self, const uint8_t[::1] content, int32_t headroom_bytes, int32_t frame_bytes, uint32_t ingress_ifindex,
                uint32_t rx_queue_index, int64_t repeat=1):
        """Run over a frame in a buffer of its own, `repeat` times; the frame starts each time where it lay at first.

        Returns
        -------
        value : int
            What the last run returned.
        data, metadata : bytes
        instructions, helper_calls, map_calls : int
            Of all runs.
        """
        cdef uint8_t[::1] buffer = np.zeros(frame_bytes, dtype=np.uint8)
        cdef xdp_buff_t frame
        cdef int32_t value = 0
        cdef int64_t instructions = 0, helper_calls = 0, map_calls = 0, _n
        if content.shape[0] > 0:
            buffer[headroom_bytes:headroom_bytes + content.shape[0]] = content
        frame.hard_start = &buffer[0]
        frame.frame_bytes = frame_bytes
        frame.ingress_ifindex = ingress_ifindex
        frame.rx_queue_index = rx_queue_index
        with nogil:
            for _n in range(repeat):
                frame.data = frame.data_meta = headroom_bytes
                frame.data_end = headroom_bytes + <int32_t>content.shape[0]
                value = self.run(&frame)
                instructions += self.m.instructions
                helper_calls += self.m.helper_calls
                map_calls += self.m.map_calls
        whole = np.asarray(buffer)[frame.data_meta:frame.data_end].tobytes()
        metadata_bytes = frame.data - frame.data_meta
        return value, whole[metadata_bytes:], whole[:metadata_bytes], instructions, helper_calls, map_calls

    @property
    def redirect_ifindex(self):
        """Target of the last run's redirect, 0 without one."""
        return self.m.redirect_ifindex

    def set(self, int64_t now_ns, int32_t cpu):
        """Clock and CPU of the next run."""
        self.m.now_ns = now_ns
        self.m.cpu = cpu

    def failed(self):
        """The last run's fault: (kind, decoded instruction, address, bytes or number); kind 0 without one."""
        return self.m.fault.kind, self.m.fault.pc, self.m.fault.address, self.m.fault.n_bytes

    def read(self, int32_t which, const uint8_t[::1] key):
        """Bytes of a map's value, one for each CPU of a per-CPU map; None where there is none."""
        cdef map_t* m = &self.m.map[which]
        cdef int32_t slot = map_find(m, &key[0], 0), n = m.slots // m.max_entries if m.kind == MAP_PERCPU_ARRAY else 1, i
        if slot < 0:
            return None
        return [(<char*>map_value(m, slot + i * m.max_entries))[:m.value_bytes] for i in range(n)]

    def write(self, int32_t which, const uint8_t[::1] key, values):
        """Store a value, one for each CPU of a per-CPU map; 0 or a negative error number."""
        cdef const uint8_t[::1] value
        cdef int64_t status = 0
        for cpu, value in enumerate(values):
            status = min(status, map_update(&self.m.map[which], &key[0], &value[0], 0, cpu))
        return status

    def delete(self, int32_t which, const uint8_t[::1] key):
        return map_delete(&self.m.map[which], &key[0])

    def keys(self, int32_t which):
        """Keys of a hash map, in the order of its slots."""
        cdef map_t* m = &self.m.map[which]
        cdef int32_t i
        every = [(<char*>m.keys)[i * m.key_bytes:(i + 1) * m.key_bytes] for i in range(m.slots)]
        return [key for i, key in enumerate(every) if map_find(m, key, 0) == i]

    cdef int32_t run(self, xdp_buff_t* frame) noexcept nogil:
        """Run over one frame; returns what the program returns, XDP_ABORTED after a fault."""
        return interpreter_run(&self.m, frame)
