/* Looks for IP behind up to two VLAN tags, counts by protocol, drops: the work of the kernel's sample xdp1. */
#include "xdp.h"

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 256);
	TYPE(key, u32);
	TYPE(value, u64);
} frames SEC(".maps");

INLINE u32 protocol(void *at, void *end, u16 type)
{
	if (type == swap16(TYPE_IPV4)) {
		struct ipv4 *ip = at;

		return (void *)(ip + 1) > end ? 0 : ip->protocol;
	}
	if (type == swap16(TYPE_IPV6)) {
		struct ipv6 *ip = at;

		return (void *)(ip + 1) > end ? 0 : ip->next;
	}
	return 0;
}

SEC("xdp") int drop_ip(struct xdp_md *ctx)
{
	void *end = data_end(ctx);
	struct ethernet *eth = data(ctx);
	void *at = eth + 1;
	u16 type;
	u32 key;
	u64 *count;

	if (at > end)
		return XDP_DROP;
	type = eth->type;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		struct vlan *tag = at;

		if (type != swap16(TYPE_VLAN) && type != swap16(TYPE_QINQ))
			break;
		at = tag + 1;
		if (at > end)
			return XDP_DROP;
		type = tag->type;
	}
	key = protocol(at, end, type);
	count = map_lookup(&frames, &key);
	if (count)
		++*count;
	return XDP_DROP;
}

LICENSE;
