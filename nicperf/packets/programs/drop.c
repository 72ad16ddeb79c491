/* Drops everything: the fastest a driver can be. */
#include "xdp.h"

SEC("xdp") int drop(struct xdp_md *ctx) { return XDP_DROP; }

LICENSE;
