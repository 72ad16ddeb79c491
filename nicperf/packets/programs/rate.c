/* Lets each IPv4 source send so many frames in a window of time, and drops the rest. */
#include "xdp.h"

const volatile u64 window_ns = 1000000;
const volatile u64 most_frames = 10;
u64 dropped;

struct source {
	u64 since_ns, frames;
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, struct source);
} sources SEC(".maps");

SEC("xdp") int rate(struct xdp_md *ctx)
{
	struct ethernet *eth = data(ctx);
	struct ipv4 *ip = (void *)(eth + 1);
	struct source fresh = { ktime_ns(), 1 }, *source;
	u32 from;

	if ((void *)(ip + 1) > data_end(ctx) || eth->type != swap16(TYPE_IPV4))
		return XDP_PASS;
	from = ip->from;
	source = map_lookup(&sources, &from);
	if (!source || fresh.since_ns - source->since_ns >= window_ns)
		return map_update(&sources, &from, &fresh, BPF_ANY) ? XDP_ABORTED : XDP_PASS;
	if (__sync_fetch_and_add(&source->frames, 1) < most_frames)
		return XDP_PASS;
	__sync_fetch_and_add(&dropped, 1);
	return XDP_DROP;
}

LICENSE;
