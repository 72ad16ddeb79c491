import numpy as np
from typing_extensions import Buffer

INSTRUCTION: np.dtype
NO_REGISTER: int
PACKET_REGION: int
CONTEXT_REGION: int
STACK_REGION: int
FIRST_MAP_REGION: int
HANDLE_REGION: int
PACKET_ADDRESS: int
STACK_ADDRESS: int

class XdpProgram:
    def __init__(
        self,
        code: np.ndarray,
        entries: list[int],
        maps: tuple[tuple[int, int, int, int, bool], ...],
        cpus: int,
        seed: int,
        budget: int,
    ) -> None: ...
    @property
    def redirect_ifindex(self) -> int: ...
    def copy(self) -> XdpProgram: ...
    def set(self, now_ns: int, cpu: int) -> None: ...
    def execute(
        self,
        content: Buffer,
        headroom_bytes: int,
        frame_bytes: int,
        ingress_ifindex: int,
        rx_queue_index: int,
        repeat: int = 1,
    ) -> tuple[int, bytes, bytes, int, int, int]: ...
    def failed(self) -> tuple[int, int, int, int]: ...
    def read(self, which: int, key: Buffer) -> list[bytes] | None: ...
    def write(self, which: int, key: Buffer, values: list[bytes]) -> int: ...
    def delete(self, which: int, key: Buffer) -> int: ...
    def keys(self, which: int) -> list[bytes]: ...
