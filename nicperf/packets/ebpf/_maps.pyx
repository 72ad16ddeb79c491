"""Lookup, update and delete, as the kernel's array and hash maps answer them."""
from libc.errno cimport E2BIG, EEXIST, EINVAL, ENOENT
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

cdef enum:
    LARGEST_BYTES = 0x40000000          # of the values of one map: places are 32 bits wide


cdef int map_init(map_t* m, int32_t cpus) except -1:
    """Take memory for a map whose kind, sizes and entries are set."""
    cdef int64_t wanted = m.max_entries
    cdef uint32_t buckets = 1
    cdef int32_t slot
    m.shift = 3
    while (<int64_t>1 << m.shift) <= m.value_bytes:     # at least a byte apart: running over the end of a value is seen
        m.shift += 1
    if m.kind == MAP_PERCPU_ARRAY:
        wanted *= cpus
    elif m.kind == MAP_HASH:
        wanted += 1                     # an update writes the new value before it gives up the old one
    if wanted << m.shift > LARGEST_BYTES:
        raise MemoryError
    m.slots = <int32_t>wanted
    m.values = <uint8_t*>calloc(m.slots, <size_t>1 << m.shift)
    if m.values == NULL:
        raise MemoryError
    if m.kind != MAP_HASH:
        return 0
    while buckets < <uint32_t>m.slots:
        buckets *= 2
    m.bucket_mask = buckets - 1
    m.keys = <uint8_t*>calloc(m.slots, m.key_bytes)
    m.bucket = <int32_t*>calloc(buckets, sizeof(int32_t))
    m.follower = <int32_t*>calloc(m.slots, sizeof(int32_t))
    if m.keys == NULL or m.bucket == NULL or m.follower == NULL:
        raise MemoryError
    for slot in range(<int32_t>buckets):
        m.bucket[slot] = -1
    for slot in range(m.slots):
        m.follower[slot] = slot + 1 if slot + 1 < m.slots else -1
    return 0


cdef int map_copy(map_t* m, const map_t* source) except -1:
    """Give an initialised map the content of another one of the same shape."""
    memcpy(m.values, source.values, <size_t>m.slots << m.shift)
    if m.kind == MAP_HASH:
        memcpy(m.keys, source.keys, <size_t>m.slots * m.key_bytes)
        memcpy(m.bucket, source.bucket, (<size_t>m.bucket_mask + 1) * sizeof(int32_t))
        memcpy(m.follower, source.follower, <size_t>m.slots * sizeof(int32_t))
        m.free = source.free
        m.used = source.used
    return 0


cdef void map_release(map_t* m) noexcept nogil:
    free(m.values)
    free(m.keys)
    free(m.bucket)
    free(m.follower)


cdef uint32_t map_hash(const map_t* m, const uint8_t* key) noexcept nogil:
    """FNV-1a, 32 bits, high bits mixed into the low ones that choose the bucket."""
    cdef uint32_t h = 0x811C9DC5U
    cdef int32_t n
    for n in range(m.key_bytes):
        h = (h ^ key[n]) * 0x01000193U
    return (h ^ (h >> 15)) & m.bucket_mask


cdef int32_t map_find(const map_t* m, const uint8_t* key, int32_t cpu) noexcept nogil:
    """Slot of a key's value, -1 where there is none."""
    cdef uint32_t index
    cdef int32_t slot
    if m.kind == MAP_HASH:
        slot = m.bucket[map_hash(m, key)]
        while slot >= 0 and memcmp(m.keys + <int64_t>slot * m.key_bytes, key, m.key_bytes) != 0:
            slot = m.follower[slot]
        return slot
    memcpy(&index, key, 4)
    if index >= <uint32_t>m.max_entries:
        return -1
    slot = <int32_t>index
    if m.kind == MAP_PERCPU_ARRAY:
        slot += cpu * m.max_entries
    return slot if slot < m.slots else -1       # a CPU that the map was not made for


cdef void map_unlink(map_t* m, int32_t slot) noexcept nogil:
    """Take a slot out of its bucket and free it."""
    cdef int32_t* link = &m.bucket[map_hash(m, m.keys + <int64_t>slot * m.key_bytes)]
    while link[0] != slot:
        link = &m.follower[link[0]]
    link[0] = m.follower[slot]
    m.follower[slot] = m.free
    m.free = slot
    m.used -= 1


cdef int64_t map_update(map_t* m, const uint8_t* key, const uint8_t* value, uint64_t flags, int32_t cpu) noexcept nogil:
    """0 or a negative error number."""
    cdef int32_t slot = map_find(m, key, cpu), fresh
    cdef uint32_t bucket
    if flags > MAP_EXIST:
        return -EINVAL
    if m.kind != MAP_HASH:
        if slot < 0:
            return -E2BIG
        if flags == MAP_NOEXIST:
            return -EEXIST
        memcpy(map_value(m, slot), value, m.value_bytes)
        return 0
    if slot >= 0 and flags == MAP_NOEXIST:
        return -EEXIST
    if slot < 0 and flags == MAP_EXIST:
        return -ENOENT
    if slot < 0 and m.used == m.max_entries:
        return -E2BIG
    # The new value goes into another slot, so that a pointer to the old one still shows the old one, as in the kernel.
    fresh = m.free
    m.free = m.follower[fresh]
    memcpy(map_value(m, fresh), value, m.value_bytes)
    memcpy(m.keys + <int64_t>fresh * m.key_bytes, key, m.key_bytes)
    if slot >= 0:
        map_unlink(m, slot)
    bucket = map_hash(m, key)
    m.follower[fresh] = m.bucket[bucket]
    m.bucket[bucket] = fresh
    m.used += 1
    return 0


cdef int64_t map_delete(map_t* m, const uint8_t* key) noexcept nogil:
    """0 or a negative error number."""
    cdef int32_t slot
    if m.kind != MAP_HASH:
        return -EINVAL
    slot = map_find(m, key, 0)
    if slot < 0:
        return -ENOENT
    map_unlink(m, slot)
    return 0
