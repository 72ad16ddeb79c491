/* Passes everything: the cost of having a program at all. */
#include "xdp.h"

SEC("xdp") int pass(struct xdp_md *ctx) { return XDP_PASS; }

LICENSE;
