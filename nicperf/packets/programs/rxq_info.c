/* Drops, and counts by receive queue: what xdp_rxq_info of the kernel's samples measures, without its touching of data. */
#include "xdp.h"

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 64);
	TYPE(key, u32);
	TYPE(value, u64);
} frames SEC(".maps");

SEC("xdp") int rxq_info(struct xdp_md *ctx)
{
	u32 key = ctx->rx_queue_index;
	u64 *count = map_lookup(&frames, &key);

	if (count)
		++*count;
	return XDP_DROP;
}

LICENSE;
