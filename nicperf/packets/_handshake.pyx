"""The three frames that open a connection. The model starts with an open one, so they stand before its time zero."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from nicperf.packets._checksum cimport checksum_add
from nicperf.packets._headers cimport (
    TCP_CHECKSUM_AT, TRANSPORT_AT, endpoint_t, headers_complete, headers_syn, headers_tcp,
)
from nicperf.packets._wiretap cimport FRAME_BYTES, Wiretap

cdef enum:
    STEP_PS = 100000000                 # 0.1 ms from each frame to the next, and from the last to time zero


cdef void handshake_see(Wiretap wire, int64_t now_ps, bint outbound, uint8_t* frame, int32_t n_bytes) noexcept nogil:
    headers_complete(frame + TCP_CHECKSUM_AT, checksum_add(0, frame + TRANSPORT_AT, n_bytes - TRANSPORT_AT), False)
    wire.see(now_ps, outbound, frame, n_bytes)


cdef void handshake_show(
    Wiretap wire, endpoint_t* client, endpoint_t* server, int32_t client_window_bytes,
    int32_t server_window_bytes, int32_t mss_bytes,
) noexcept nogil:
    """SYN, SYN with ACK, ACK."""
    cdef uint8_t frame[FRAME_BYTES]
    cdef int32_t n = headers_syn(frame, client, server, False, client_window_bytes, mss_bytes, -3 * STEP_PS)
    handshake_see(wire, -3 * STEP_PS, True, frame, n)
    server.echo = client.clock_start
    n = headers_syn(frame, server, client, True, server_window_bytes, mss_bytes, -2 * STEP_PS)
    handshake_see(wire, -2 * STEP_PS, False, frame, n)
    client.echo = server.clock_start
    n = headers_tcp(frame, client, server, 0, 0, client_window_bytes, -STEP_PS, 0)
    handshake_see(wire, -STEP_PS, True, frame, n)
