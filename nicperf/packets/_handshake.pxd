"""How a TCP connection begins."""
from libc.stdint cimport int32_t
from nicperf.packets._headers cimport endpoint_t
from nicperf.packets._wiretap cimport Wiretap

cdef void handshake_show(
    Wiretap wire, endpoint_t* client, endpoint_t* server, int32_t client_window_bytes,
    int32_t server_window_bytes, int32_t mss_bytes) noexcept nogil
