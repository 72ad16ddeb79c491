/* Counts frames and bytes, one counter for each CPU, and passes. */
#include "xdp.h"

struct traffic {
	u64 frames, bytes;
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct traffic);
} traffic SEC(".maps");

SEC("xdp") int counter(struct xdp_md *ctx)
{
	u32 key = 0;
	struct traffic *t = map_lookup(&traffic, &key);

	if (!t)
		return XDP_ABORTED;
	t->frames++;
	t->bytes += data_end(ctx) - data(ctx);
	return XDP_PASS;
}

LICENSE;
