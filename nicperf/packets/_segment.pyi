from collections.abc import Sequence
from enum import IntFlag
from typing import Literal

import numpy as np
from typing_extensions import Buffer

class Descriptor(IntFlag):
    FIRST = 1
    LAST = 2

class Segments:
    @property
    def buffer(self) -> bytes: ...
    @property
    def offsets(self) -> np.ndarray: ...
    @property
    def headers(self) -> bytes: ...
    @property
    def descriptors(self) -> np.ndarray: ...
    def frames(self) -> list[bytes]: ...
    def __len__(self) -> int: ...

def segment(
    frame: Buffer | Sequence[Buffer],
    mss: int,
    *,
    dialect: Literal["gso", "tso", "dpdk"] = "gso",
    checksums: Literal["full", "partial", "none"] = "full",
    ip_id: Literal["increment", "fixed"] = "increment",
    udp: Literal["segment", "fragment"] = "segment",
    fragment_id: int = 0,
) -> Segments: ...
