/* Copies through the cache and around it, and the clock that times them.

   The routines follow two schemes. `rep_movsb` and `vector` store through the cache, as the kernel's copy_from_user does.
   `movnti` and `stream` store around it: the scheme of Linux's __copy_user_nocache (arch/x86/lib/copy_user_nocache_64.S,
   3.7 to 4.0) is bytes up to a multiple of 8, then 8-byte non-temporal stores, then bytes, and one sfence for every call;
   `stream` widens the stores between to a vector. Widths are chosen at run time, as in packets/_checksum.h. */
#ifndef NICPERF_COPY_H
#define NICPERF_COPY_H

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum { COPY_SSE2 = 1, COPY_ERMS = 2, COPY_AVX2 = 4, COPY_AVX512F = 8 };
enum { COPY_REP_MOVSB, COPY_VECTOR, COPY_MOVNTI, COPY_STREAM };
enum { COPY_LINE = 64 };

typedef void (*copy_routine_t)(uint8_t *out, const uint8_t *data, int64_t n_bytes);

#if defined(__x86_64__)

static void copy_rep_movsb(uint8_t *out, const uint8_t *data, int64_t n_bytes)
{
    __asm__ volatile("rep movsb" : "+D"(out), "+S"(data), "+c"(n_bytes) : : "memory");
}

/* Few bytes, each by a plain store. */
static inline void copy_bytes(uint8_t *out, const uint8_t *data, int64_t n_bytes)
{
    for (int64_t at = 0; at < n_bytes; at++) {
        out[at] = data[at];
        __asm__ volatile("" : : : "memory");    /* no call of memcpy in its place */
    }
}

/* Words around the cache; `out` is a multiple of 8. Returns how many bytes that did. */
static inline int64_t copy_words(uint8_t *out, const uint8_t *data, int64_t n_bytes)
{
    long long word;
    int64_t at = 0;
    for (; at + 8 <= n_bytes; at += 8) {
        memcpy(&word, data + at, 8);
        _mm_stream_si64((long long *)(out + at), word);
    }
    return at;
}

static inline int64_t copy_until(const uint8_t *out, int64_t multiple, int64_t n_bytes)
{
    int64_t n = (int64_t)(-(uintptr_t)out & (uintptr_t)(multiple - 1));
    return n < n_bytes ? n : n_bytes;
}

static void copy_movnti(uint8_t *out, const uint8_t *data, int64_t n_bytes)
{
    long long word[8];
    int64_t at = n_bytes < 8 ? n_bytes : copy_until(out, 8, n_bytes);
    copy_bytes(out, data, at);
    for (; at + 64 <= n_bytes; at += 64) {
        memcpy(word, data + at, 64);
        for (int i = 0; i < 8; i++)
            _mm_stream_si64((long long *)(out + at) + i, word[i]);
    }
    at += copy_words(out + at, data + at, n_bytes - at);
    copy_bytes(out + at, data + at, n_bytes - at);
    _mm_sfence();
}

/* The same two loops for one width of vectors. The last vector of `vector` overlaps the one before it. */
#define COPY_LOOPS(WIDTH, TYPE, LOAD, STORE, STREAM, TARGET)                                                        \
    TARGET static void copy_vector_##WIDTH(uint8_t *out, const uint8_t *data, int64_t n_bytes)                      \
    {                                                                                                               \
        int64_t at = 0;                                                                                             \
        if (n_bytes < WIDTH) {                                                                                      \
            copy_bytes(out, data, n_bytes);                                                                         \
            return;                                                                                                 \
        }                                                                                                           \
        for (; at + 4 * WIDTH <= n_bytes; at += 4 * WIDTH) {                                                        \
            TYPE a = LOAD((const void *)(data + at)), b = LOAD((const void *)(data + at + WIDTH));                  \
            TYPE c = LOAD((const void *)(data + at + 2 * WIDTH)), d = LOAD((const void *)(data + at + 3 * WIDTH));  \
            STORE((void *)(out + at), a);                                                                           \
            STORE((void *)(out + at + WIDTH), b);                                                                   \
            STORE((void *)(out + at + 2 * WIDTH), c);                                                               \
            STORE((void *)(out + at + 3 * WIDTH), d);                                                               \
        }                                                                                                           \
        for (; at + WIDTH <= n_bytes; at += WIDTH)                                                                  \
            STORE((void *)(out + at), LOAD((const void *)(data + at)));                                             \
        if (at < n_bytes)                                                                                           \
            STORE((void *)(out + n_bytes - WIDTH), LOAD((const void *)(data + n_bytes - WIDTH)));                   \
    }                                                                                                               \
    TARGET static void copy_stream_##WIDTH(uint8_t *out, const uint8_t *data, int64_t n_bytes)                      \
    {                                                                                                               \
        int64_t at = n_bytes < 8 ? n_bytes : copy_until(out, 8, n_bytes);                                           \
        copy_bytes(out, data, at);                                                                                  \
        at += copy_words(out + at, data + at, copy_until(out + at, WIDTH, n_bytes - at));                           \
        for (; at + 2 * WIDTH <= n_bytes; at += 2 * WIDTH) {                                                        \
            TYPE a = LOAD((const void *)(data + at)), b = LOAD((const void *)(data + at + WIDTH));                  \
            STREAM((void *)(out + at), a);                                                                          \
            STREAM((void *)(out + at + WIDTH), b);                                                                  \
        }                                                                                                           \
        if (at + WIDTH <= n_bytes) {                                                                                \
            STREAM((void *)(out + at), LOAD((const void *)(data + at)));                                            \
            at += WIDTH;                                                                                            \
        }                                                                                                           \
        at += copy_words(out + at, data + at, n_bytes - at);                                                        \
        copy_bytes(out + at, data + at, n_bytes - at);                                                              \
        _mm_sfence();                                                                                               \
    }

COPY_LOOPS(16, __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128, )
COPY_LOOPS(32, __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256, __attribute__((target("avx2"))))
COPY_LOOPS(64, __m512i, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_stream_si512, __attribute__((target("avx512f"))))

/* Instruction sets of this processor, as bits. */
static int copy_features(void)
{
    unsigned a, b, c, d;
    int features = COPY_SSE2;
    __builtin_cpu_init();
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 9))
        features |= COPY_ERMS;
    if (__builtin_cpu_supports("avx2"))
        features |= COPY_AVX2;
    if (__builtin_cpu_supports("avx512f"))
        features |= COPY_AVX512F;
    return features;
}

/* Of each kind the widest first. */
static const struct {
    int kind, needs, width;
    copy_routine_t copy;
} COPY_ROUTINES[] = {
    {COPY_REP_MOVSB, COPY_ERMS, 1, copy_rep_movsb},
    {COPY_VECTOR, COPY_SSE2 | COPY_AVX512F, 64, copy_vector_64},
    {COPY_VECTOR, COPY_SSE2 | COPY_AVX2, 32, copy_vector_32},
    {COPY_VECTOR, COPY_SSE2, 16, copy_vector_16},
    {COPY_MOVNTI, COPY_SSE2, 8, copy_movnti},
    {COPY_STREAM, COPY_SSE2 | COPY_AVX512F, 64, copy_stream_64},
    {COPY_STREAM, COPY_SSE2 | COPY_AVX2, 32, copy_stream_32},
    {COPY_STREAM, COPY_SSE2, 16, copy_stream_16},
};

/* The routine of a kind that these instruction sets allow, and the bytes of one store; NULL where there is none. */
static copy_routine_t copy_routine(int kind, int features, int *width)
{
    for (size_t i = 0; i < sizeof COPY_ROUTINES / sizeof *COPY_ROUTINES; i++)
        if (COPY_ROUTINES[i].kind == kind && !(COPY_ROUTINES[i].needs & ~features)) {
            *width = COPY_ROUTINES[i].width;
            return COPY_ROUTINES[i].copy;
        }
    *width = 0;
    return NULL;
}

/* Whether the time-stamp counter runs at one rate, whatever the core does. */
static int copy_invariant_tsc(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Additions that wait for each other: one core cycle each, whatever the time-stamp counter does. Of registers: some
   processors do the addition of a constant without a cycle. */
static inline void copy_add(int64_t n)
{
    uint64_t sum = 1;
    for (int64_t i = 0; i < n; i += 4)
        __asm__ volatile("add %0, %0; add %0, %0; add %0, %0; add %0, %0" : "+r"(sum) : : "cc");
}

static inline void copy_pause(void) { _mm_pause(); }

static inline void copy_fill_nocache(uint8_t *out, int64_t n_bytes)
{
    int64_t at = copy_until(out, 16, n_bytes);
    memset(out, 1, at);
    for (; at + 16 <= n_bytes; at += 16)
        _mm_stream_si128((__m128i *)(out + at), _mm_set1_epi8(1));
    memset(out + at, 1, n_bytes - at);
    _mm_sfence();
}

#else   /* another architecture: nothing to compare, and the caller says so */

static int copy_features(void) { return 0; }
static copy_routine_t copy_routine(int kind, int features, int *width)
{
    (void)kind; (void)features;
    *width = 0;
    return NULL;
}
static int copy_invariant_tsc(void) { return 0; }
static inline void copy_add(int64_t n) { (void)n; }
static inline void copy_pause(void) { }
static inline void copy_fill_nocache(uint8_t *out, int64_t n_bytes) { memset(out, 1, n_bytes); }

#endif

static inline int64_t copy_raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Ticks of the time-stamp counter, or nanoseconds; what stands before is done, what follows has not begun. */
static inline int64_t copy_ticks(int tsc)
{
#if defined(__x86_64__)
    if (tsc) {
        int64_t now;
        _mm_lfence();
        now = (int64_t)__rdtsc();
        _mm_lfence();
        return now;
    }
#endif
    (void)tsc;
    return copy_raw_ns();
}

/* Load one word of every line; the sum keeps the compiler from leaving that out. */
static inline uint64_t copy_read(const uint8_t *data, int64_t n_bytes)
{
    uint64_t sum = 0, word;
    for (int64_t at = 0; at + 8 <= n_bytes; at += COPY_LINE) {
        memcpy(&word, data + at, 8);
        sum += word;
    }
    __asm__ volatile("" : : "r"(sum));
    return sum;
}

/* Leave the memory as a copy of that mode leaves it: in the cache as far as it fits, or outside. In pieces, because the
   memset of some C libraries goes around the cache by itself when there is much to do. */
static inline void copy_fill(uint8_t *out, int64_t n_bytes, int nocache)
{
    if (nocache) {
        copy_fill_nocache(out, n_bytes);
        return;
    }
    for (int64_t at = 0; at < n_bytes; at += 4096)
        memset(out + at, 1, n_bytes - at < 4096 ? n_bytes - at : 4096);
}

/* Follow a chain of indices, each load waiting for the one before it. */
static inline int64_t copy_chase(const int64_t *chain, int64_t place, int64_t n_steps)
{
    for (int64_t i = 0; i < n_steps; i++)
        place = chain[place];
    __asm__ volatile("" : : "r"(place));
    return place;
}

static inline void copy_order_set(int64_t *order, int64_t value) { __atomic_store_n(order, value, __ATOMIC_RELEASE); }
static inline int64_t copy_order(const int64_t *order) { return __atomic_load_n(order, __ATOMIC_ACQUIRE); }

/* Wait a moment for the other thread; let it run if it shares this core. */
static inline void copy_wait(int64_t *n_waits)
{
    copy_pause();
    if (++*n_waits % 1024 == 0)
        sched_yield();
}

#endif
