/* Sums of memory for the Internet checksum, with or without a copy, for several instruction sets.

   A portable build cannot ask the compiler for more than the oldest processor has, and that costs half of the speed or
   more. So the same loop is compiled once for each width of vectors and the widest that runs here is chosen at run time. */
#ifndef NICPERF_CHECKSUM_H
#define NICPERF_CHECKSUM_H

#include <stdint.h>
#include <string.h>

typedef uint64_t (*checksum_loop_t)(uint64_t total, uint8_t *out, const uint8_t *data, int64_t n_bytes);

static inline uint64_t checksum_rest(uint64_t total, const uint8_t *data, int64_t n_bytes)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    for (; n_bytes >= 8; n_bytes -= 8, data += 8) {
        memcpy(&eight, data, 8);        /* any alignment; one load */
        total += (uint32_t)eight + (eight >> 32);
    }
    if (n_bytes & 4) {
        memcpy(&four, data, 4);
        total += four;
        data += 4;
    }
    if (n_bytes & 2) {
        memcpy(&two, data, 2);
        total += two;
        data += 2;
    }
    two = 0;
    memcpy(&two, data, n_bytes & 1);    /* an odd byte counts as if a zero followed */
    return total + two;
}

/* Four chains of 64-bit lanes, each fed with one half of its words: no carry can be lost in less than 2^32 words. */
#define CHECKSUM_LOOP(NAME, WIDTH, COPY, TARGET)                                                                    \
    typedef uint64_t NAME##_lanes __attribute__((vector_size(WIDTH), aligned(1), may_alias));                       \
    TARGET static uint64_t NAME(uint64_t total, uint8_t *out, const uint8_t *data, int64_t n_bytes)                 \
    {                                                                                                               \
        NAME##_lanes a = {0}, b = {0}, c = {0}, d = {0}, x, y;                                                      \
        int64_t at = 0;                                                                                             \
        for (; at + 2 * WIDTH <= n_bytes; at += 2 * WIDTH) {                                                        \
            x = *(const NAME##_lanes *)(data + at);                                                                 \
            y = *(const NAME##_lanes *)(data + at + WIDTH);                                                         \
            if (COPY) {                                                                                             \
                *(NAME##_lanes *)(out + at) = x;                                                                    \
                *(NAME##_lanes *)(out + at + WIDTH) = y;                                                            \
            }                                                                                                       \
            a += x & 0xFFFFFFFFULL;                                                                                 \
            b += x >> 32;                                                                                           \
            c += y & 0xFFFFFFFFULL;                                                                                 \
            d += y >> 32;                                                                                           \
        }                                                                                                           \
        a += b + c + d;                                                                                             \
        for (int lane = 0; lane < WIDTH / 8; lane++)                                                                \
            total += a[lane];                                                                                       \
        if (COPY)                                                                                                   \
            memcpy(out + at, data + at, n_bytes - at);                                                              \
        return checksum_rest(total, data + at, n_bytes - at);                                                       \
    }

#define CHECKSUM_LOOPS(WIDTH, TARGET)                                                                               \
    CHECKSUM_LOOP(checksum_add_##WIDTH, WIDTH, 0, TARGET)                                                           \
    CHECKSUM_LOOP(checksum_copy_##WIDTH, WIDTH, 1, TARGET)

CHECKSUM_LOOPS(16, )                    /* what every 64-bit processor has: SSE2, NEON */
#if defined(__x86_64__)
CHECKSUM_LOOPS(32, __attribute__((target("avx2"))))
CHECKSUM_LOOPS(64, __attribute__((target("avx512f"))))
#endif

static checksum_loop_t checksum_add_loop = checksum_add_16, checksum_copy_loop = checksum_copy_16;

/* Use vectors of at most `widest` bytes; returns how wide they are now. */
static int checksum_choose(int widest)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (widest >= 64 && __builtin_cpu_supports("avx512f")) {
        checksum_add_loop = checksum_add_64;
        checksum_copy_loop = checksum_copy_64;
        return 64;
    }
    if (widest >= 32 && __builtin_cpu_supports("avx2")) {
        checksum_add_loop = checksum_add_32;
        checksum_copy_loop = checksum_copy_32;
        return 32;
    }
#endif
    (void)widest;
    checksum_add_loop = checksum_add_16;
    checksum_copy_loop = checksum_copy_16;
    return 16;
}

#endif
