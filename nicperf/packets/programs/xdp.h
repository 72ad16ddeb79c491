/* What the sample programs need of the kernel's interface (linux/bpf.h) and of packet headers, so that clang alone compiles them. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define LICENSE SEC("license") const char license_name[] = "BSD"

/* Attributes of a map, in the form of BTF that loaders read. */
#define NUMBER(name, value) int (*name)[value]
#define TYPE(name, value) value *name

enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };
enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_DEVMAP = 14 };
enum { BPF_ANY, BPF_NOEXIST, BPF_EXIST };

struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const ktime_ns)(void) = (void *)5;
static long (*const redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const csum_diff)(u32 *from, u32 from_size, u32 *to, u32 to_size, u32 seed) = (void *)28;
static long (*const adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*const redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*const adjust_meta)(struct xdp_md *ctx, int delta) = (void *)54;
static long (*const adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;

INLINE void *data(const struct xdp_md *ctx) { return (void *)(long)ctx->data; }
INLINE void *data_end(const struct xdp_md *ctx) { return (void *)(long)ctx->data_end; }
INLINE u16 swap16(u16 x) { return __builtin_bswap16(x); }

struct ethernet {
	u8 to[6], from[6];
	u16 type;
} __attribute__((packed));

struct vlan {
	u16 tag, type;
};

struct ipv4 {
	u8 version_words, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 check;
	u32 from, to;
};

struct ipv6 {
	u32 version_class_flow;
	u16 length;
	u8 next, hops;
	u8 from[16], to[16];
};

enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86DD, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88A8 };
