/* Dissects Ethernet, VLAN, IPv4 or IPv6, TCP or UDP; counts what it finds; a port in the list is dropped, a damaged header too. */
#include "xdp.h"

enum kind { OTHER, IPV4, IPV6, FRAGMENT, TCP, UDP, DAMAGED, KINDS };

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, KINDS);
	TYPE(key, u32);
	TYPE(value, u64);
} kinds SEC(".maps");

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 64);
	TYPE(key, u16);
	TYPE(value, u8);
} blocked_ports SEC(".maps");

NOINLINE int count(u32 kind)
{
	u64 *n = map_lookup(&kinds, &kind);

	if (n)
		__sync_fetch_and_add(n, 1);
	return kind == DAMAGED ? XDP_DROP : XDP_PASS;
}

SEC("xdp") int parse(struct xdp_md *ctx)
{
	void *end = data_end(ctx);
	struct ethernet *eth = data(ctx);
	void *at = eth + 1;
	u16 type, *ports;
	u8 protocol;

	if (at > end)
		return count(DAMAGED);
	type = eth->type;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		struct vlan *tag = at;

		if (type != swap16(TYPE_VLAN) && type != swap16(TYPE_QINQ))
			break;
		at = tag + 1;
		if (at > end)
			return count(DAMAGED);
		type = tag->type;
	}
	if (type == swap16(TYPE_IPV4)) {
		struct ipv4 *ip = at;

		if ((void *)(ip + 1) > end || ip->version_words >> 4 != 4 || (ip->version_words & 15) < 5)
			return count(DAMAGED);
		count(IPV4);
		if (ip->fragment & swap16(0x1FFF))
			return count(FRAGMENT);
		protocol = ip->protocol;
		at += (ip->version_words & 15) * 4;
	} else if (type == swap16(TYPE_IPV6)) {
		struct ipv6 *ip = at;

		if ((void *)(ip + 1) > end)
			return count(DAMAGED);
		count(IPV6);
		protocol = ip->next;
		at = ip + 1;
	} else {
		return count(OTHER);
	}
	if (protocol != 6 && protocol != 17)
		return XDP_PASS;
	ports = at;
	if ((void *)(ports + 2) > end)
		return count(DAMAGED);
	count(protocol == 6 ? TCP : UDP);
	type = swap16(ports[1]);
	return map_lookup(&blocked_ports, &type) ? XDP_DROP : XDP_PASS;
}

LICENSE;
