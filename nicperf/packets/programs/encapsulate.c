/* Puts an IPv4 packet into another one (RFC 2003) and sends it back out. */
#include "xdp.h"

const volatile u32 tunnel_from = 0x010200C0; /* 192.0.2.1 and 192.0.2.2, as they lie in memory */
const volatile u32 tunnel_to = 0x020200C0;

SEC("xdp") int encapsulate(struct xdp_md *ctx)
{
	struct ethernet *eth = data(ctx), old;
	struct ipv4 *ip = (void *)(eth + 1);
	u32 sum;
	u16 length;

	if ((void *)(ip + 1) > data_end(ctx) || eth->type != swap16(TYPE_IPV4))
		return XDP_PASS;
	old = *eth;
	length = swap16(ip->length) + sizeof(*ip);
	if (adjust_head(ctx, -(int)sizeof(*ip)))
		return XDP_ABORTED;
	eth = data(ctx);
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > data_end(ctx))
		return XDP_ABORTED;
	__builtin_memcpy(eth->to, old.from, 6);
	__builtin_memcpy(eth->from, old.to, 6);
	eth->type = old.type;
	*ip = (struct ipv4){ .version_words = 0x45, .length = swap16(length), .ttl = 64, .protocol = 4 };
	ip->from = tunnel_from;
	ip->to = tunnel_to;
	sum = csum_diff(0, 0, (u32 *)ip, sizeof(*ip), 0);
	sum = (sum & 0xFFFF) + (sum >> 16); /* kernels before 6.13 return it unfolded */
	sum = (sum & 0xFFFF) + (sum >> 16);
	ip->check = ~sum;
	return XDP_TX;
}

LICENSE;
