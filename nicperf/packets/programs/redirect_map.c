/* Forwards by the last byte of the destination's MAC address; passes what no interface is known for. */
#include "xdp.h"

struct {
	NUMBER(type, MAP_DEVMAP);
	NUMBER(max_entries, 256);
	NUMBER(key_size, 4);
	NUMBER(value_size, 4);
} ports SEC(".maps");

SEC("xdp") int forward(struct xdp_md *ctx)
{
	struct ethernet *eth = data(ctx);

	if ((void *)(eth + 1) > data_end(ctx))
		return XDP_DROP;
	return redirect_map(&ports, eth->to[5], XDP_PASS);
}

LICENSE;
