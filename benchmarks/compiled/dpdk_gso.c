/* DPDK's librte_gso on one super-frame, driven by lines on standard input:

     lists N    segment it N times into lists of mbufs (headers, reference to the payload), free them; prints CPU seconds
     frames N   the same, then IPv4 and TCP checksums by rte_net and a copy of every frame into one buffer
     show       the frames as they come out of the lists, one line of hexadecimal digits each, then an empty line

   Arguments behind "--": file with the super-frame (Ethernet, IPv4 without options, TCP), its payload's first byte, MSS. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>

enum { MOST_SEGMENTS = 1024, CACHE = 256, L2 = RTE_ETHER_HDR_LEN, L3 = sizeof(struct rte_ipv4_hdr) };

static struct rte_mbuf *segments[MOST_SEGMENTS];
static uint8_t contiguous[1 << 18];

static void need(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "dpdk_gso: no %s\n", what);
        exit(1);
    }
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static int cut(struct rte_mbuf *whole, const struct rte_gso_ctx *rules)
{
    int n;
    whole->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG;   /* a success takes the second one away */
    n = rte_gso_segment(whole, rules, segments, MOST_SEGMENTS);
    need(n > 0, "segments");
    return n;
}

static size_t lay(struct rte_mbuf *m, uint8_t *out)
{
    size_t n = 0;
    for (; m; m = m->next) {
        memcpy(out + n, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
        n += m->data_len;
    }
    return n;
}

static void sum(struct rte_mbuf *m)
{
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, L2);
    struct rte_tcp_hdr *tcp = rte_pktmbuf_mtod_offset(m, struct rte_tcp_hdr *, L2 + L3);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    tcp->cksum = 0;
    tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(m, ip, L2 + L3);
}

int main(int argc, char **argv)
{
    struct rte_mempool *data, *direct, *indirect;
    struct rte_gso_ctx rules = {.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO};
    struct rte_mbuf *whole;
    char line[64], what[16];
    int used = rte_eal_init(argc, argv), n;
    need(used >= 0 && argc - used == 4, "environment");
    argv += used;
    long frame_bytes, header_bytes = atol(argv[2]), repeats;
    FILE *file = fopen(argv[1], "rb");
    need(file != NULL, "file");
    fseek(file, 0, SEEK_END);
    frame_bytes = ftell(file);
    rewind(file);

    data = rte_pktmbuf_pool_create("data", 15, 0, 0, frame_bytes + RTE_PKTMBUF_HEADROOM, 0);
    direct = rte_pktmbuf_pool_create("direct", 8191, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    indirect = rte_pktmbuf_pool_create("indirect", 8191, CACHE, 0, 0, 0);
    need(data && direct && indirect, "memory");
    whole = rte_pktmbuf_alloc(data);
    need(fread(rte_pktmbuf_append(whole, frame_bytes), 1, frame_bytes, file) == (size_t)frame_bytes, "content");
    whole->l2_len = L2;
    whole->l3_len = L3;
    whole->l4_len = header_bytes - L2 - L3;
    rules.direct_pool = direct;
    rules.indirect_pool = indirect;
    rules.gso_size = header_bytes + atol(argv[3]);

    while (fgets(line, sizeof line, stdin)) {
        repeats = 1;
        need(sscanf(line, "%15s %ld", what, &repeats) >= 1, "command");
        double start = cpu_s();
        for (long i = 0; i < repeats; i++) {
            uint8_t *out = contiguous;
            n = cut(whole, &rules);
            for (int k = 0; k < n && *what == 'f'; k++) {
                sum(segments[k]);
                out += lay(segments[k], out);
            }
            for (int k = 0; k < n && *what == 's'; k++) {
                size_t length = lay(segments[k], contiguous);
                for (size_t at = 0; at < length; at++)
                    printf("%02x", contiguous[at]);
                puts("");
            }
            rte_pktmbuf_free_bulk(segments, n);
        }
        if (*what == 's')
            puts("");
        else
            printf("%.9f\n", cpu_s() - start);
        fflush(stdout);
    }
    return 0;
}
