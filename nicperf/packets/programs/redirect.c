/* Sends every frame out of one interface. */
#include "xdp.h"

const volatile u32 out_ifindex = 1;

SEC("xdp") int redirect_all(struct xdp_md *ctx) { return redirect(out_ifindex, 0); }

LICENSE;
