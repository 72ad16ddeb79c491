"""What one process has written and the peer has not acknowledged: chunks of page frags, in the order of the stream."""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from nicperf.parts._frags cimport FRAG_BLOCK_BYTES, frag_free, frag_t

cdef struct sendmemory_chunk_t:
    int64_t address
    int32_t n_bytes

cdef struct sendmemory_t:
    frag_t frag
    sendmemory_chunk_t* chunk
    int64_t mask
    int64_t put, freed                  # chunks so far
    int64_t freed_bytes                 # acknowledged of the first chunk that is left
    int64_t cursor, cursor_bytes        # where the device reads on: a chunk and how far into it
    int64_t position                    # in the stream, of the cursor


cdef inline int sendmemory_init(sendmemory_t* m, int64_t most_bytes) noexcept nogil:
    """For so many bytes at once; -1 without memory. The caller sets up `frag`. `sendmemory_destroy` in any case."""
    cdef int64_t size = 4
    # A chunk grows until its block is full; what was acknowledged begins a block anew.
    while size < 2 * (most_bytes // FRAG_BLOCK_BYTES + 2):
        size *= 2
    m.mask = size - 1
    m.put = m.freed = m.freed_bytes = m.cursor = m.cursor_bytes = m.position = 0
    m.chunk = <sendmemory_chunk_t*>calloc(size, sizeof(sendmemory_chunk_t))
    return 0 if m.chunk != NULL else -1


cdef inline void sendmemory_destroy(sendmemory_t* m) noexcept nogil:
    free(m.chunk)


cdef inline bint sendmemory_put(sendmemory_t* m, int64_t address, int32_t n_bytes) noexcept nogil:
    """A chunk has been written; False if there is no room, which `most_bytes` was to prevent."""
    cdef sendmemory_chunk_t* last = &m.chunk[(m.put - 1) & m.mask]
    if m.put > m.freed and last.address + last.n_bytes == address and address % FRAG_BLOCK_BYTES:
        last.n_bytes += n_bytes         # as the kernel does: one fragment goes on, with one reference
        frag_free(m.frag.pages, address)
        return True
    if m.put - m.freed > m.mask:
        return False
    m.chunk[m.put & m.mask].address = address
    m.chunk[m.put & m.mask].n_bytes = n_bytes
    m.put += 1
    return True


cdef inline void sendmemory_free(sendmemory_t* m, int64_t n_bytes) noexcept nogil:
    """So many bytes more are acknowledged: chunks of which nothing is left go back."""
    m.freed_bytes += n_bytes
    while m.freed < m.put and m.freed_bytes >= m.chunk[m.freed & m.mask].n_bytes:
        m.freed_bytes -= m.chunk[m.freed & m.mask].n_bytes
        frag_free(m.frag.pages, m.chunk[m.freed & m.mask].address)
        m.freed += 1


cdef inline int64_t sendmemory_next(sendmemory_t* m, int64_t n_bytes, int32_t* piece_bytes) noexcept nogil:
    """Address of what the device reads next, and how much of it lies in one piece; 0 bytes if nothing is there."""
    cdef const sendmemory_chunk_t* chunk
    if m.cursor < m.freed:              # acknowledged by way of an older copy
        m.cursor = m.freed
        m.cursor_bytes = m.freed_bytes
    if m.cursor == m.put:
        piece_bytes[0] = 0
        return 0
    chunk = &m.chunk[m.cursor & m.mask]
    if m.cursor_bytes >= chunk.n_bytes and m.cursor + 1 < m.put:
        m.cursor += 1
        m.cursor_bytes = 0
        chunk = &m.chunk[m.cursor & m.mask]
    piece_bytes[0] = <int32_t>min(n_bytes, max(chunk.n_bytes - m.cursor_bytes, <int64_t>0))
    m.cursor_bytes += piece_bytes[0]
    m.position += piece_bytes[0]
    return chunk.address + m.cursor_bytes - piece_bytes[0]
