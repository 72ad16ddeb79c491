/* Keeps the first 64 bytes, and tells in metadata how long the frame was. */
#include "xdp.h"

SEC("xdp") int trim(struct xdp_md *ctx)
{
	u32 length = data_end(ctx) - data(ctx), *note;

	if (length > 64 && adjust_tail(ctx, 64 - (int)length))
		return XDP_ABORTED;
	if (adjust_meta(ctx, -(int)sizeof(*note)))
		return XDP_ABORTED;
	note = (void *)(long)ctx->data_meta;
	if ((void *)(note + 1) > data(ctx))
		return XDP_ABORTED;
	*note = length;
	return XDP_PASS;
}

LICENSE;
