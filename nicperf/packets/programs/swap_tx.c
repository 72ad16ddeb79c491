/* Swaps the MAC addresses and sends the frame back: the work of the kernel's sample xdp2. */
#include "xdp.h"

SEC("xdp") int swap_tx(struct xdp_md *ctx)
{
	struct ethernet *eth = data(ctx);
	u16 *address = (u16 *)eth;

	if ((void *)(eth + 1) > data_end(ctx))
		return XDP_ABORTED;
#pragma unroll
	for (int i = 0; i < 3; i++) {
		u16 to = address[i];

		address[i] = address[i + 3];
		address[i + 3] = to;
	}
	return XDP_TX;
}

LICENSE;
