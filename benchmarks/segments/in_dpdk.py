"""DPDK's librte_gso in a process of its own, without huge pages and without a NIC."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks import compiled
from benchmarks.segments import HEADER_BYTES, MSS, super_frame

EAL = "--no-huge -m 256 --no-pci --no-shconf --no-telemetry --log-level=error -l".split()


def program() -> Path:
    return compiled.folder() / "dpdk_gso"


class Dpdk:
    """The running program; `close` it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "frame")
        file.write_bytes(super_frame())
        core = str(min(os.sched_getaffinity(0)))
        self.process = subprocess.Popen(
            [program(), *EAL, core, "--", file, str(HEADER_BYTES), str(MSS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"XDG_RUNTIME_DIR": self.folder.name},
        )  # fmt: skip

    def _ask(self, command: str) -> str:
        print(command, file=self.process.stdin, flush=True)
        if line := self.process.stdout.readline().strip():
            return line
        raise RuntimeError(f"DPDK ended with status {self.process.wait()}")

    def cpu_s(self, what: str, times: int) -> float:
        """CPU seconds to make "lists", or finished "frames", out of the super-frame so many times."""
        return float(self._ask(f"{what} {times}"))

    def frames(self) -> list[bytes]:
        """The frames without new checksums, as the lists describe them."""
        lines = [self._ask("show")]
        while line := self.process.stdout.readline().strip():
            lines.append(line)
        return [bytes.fromhex(line) for line in lines]

    def close(self) -> None:
        self.process.communicate()
        self.folder.cleanup()
