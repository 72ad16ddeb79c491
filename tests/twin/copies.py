"""Caches as queues of lines, and page frags as lists of holders, in plain Python: nothing shared with the core."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from fractions import Fraction

from nicperf.parts.copies import LEVELS, Copies

LINE = 64


class Caches:
    """Each level is a queue of places; a place whose line has gone stays in the queue until its turn."""

    def __init__(self, spec: Copies) -> None:
        self.spec = spec
        sizes = (spec.l1_bytes, spec.l2_bytes, spec.l3_bytes)
        self.queue: list[deque[int | None]] = [deque(maxlen=size // LINE) for size in sizes]
        self.dirty: set[int] = set()
        self.did: Counter[str] = Counter()
        self.working_set = Fraction(spec.application_bytes, LINE)
        fits = [k for k, size in enumerate(sizes) if 0 < spec.application_bytes <= size // LINE * LINE]
        self.home = fits[0] if fits else None
        self.resident = self.working_set
        self.missed = self.evicted = self.ageing = Fraction(0)

    def level(self, line: int) -> str:
        holders = [name for name, queue in zip(LEVELS, self.queue, strict=False) if line in queue]
        return holders[0] if "l3" in holders else "dram"

    def forget(self, line: int, levels: range = range(3)) -> None:
        for k in levels:
            if line in self.queue[k]:
                self.queue[k][self.queue[k].index(line)] = None

    def fill(self, line: int, k: int) -> None:
        self.forget(line, range(k, k + 1))
        self.queue[k].append(line)
        if k == self.home:
            self.squeeze(Fraction(1))

    def squeeze(self, lines: Fraction) -> None:
        assert self.home is not None
        lost = lines * self.resident / (self.queue[self.home].maxlen or 1)
        self.resident -= lost
        self.evicted += lost

    def fetch(self, line: int) -> str:
        level = self.level(line)
        if level == "dram":
            self.fell_out(line)
        for k in range(LEVELS.index(level)):
            self.fill(line, k)
        return level

    def fell_out(self, line: int) -> None:
        self.did["writeback_lines"] += line in self.dirty
        self.dirty.discard(line)

    def through(self, address: int, n_bytes: int, kind: str) -> float:
        """Byte by byte, as slow as it is plain."""
        cycles = self.spec.cached_call_cycles
        for line, n in Counter(at // LINE for at in range(address, address + n_bytes)).items():
            level = self.fetch(line)
            self.did[f"{kind}_{level}_bytes"] += n
            price = "read" if (kind, level) == ("read", "dram") else "cached"
            cycles += n * getattr(self.spec, f"{price}_{level}_cycles_per_byte")
            if kind == "write":
                self.did["owned_lines"] += level == "dram"
                self.did["dirtied_lines"] += line not in self.dirty
                self.dirty.add(line)
        return cycles

    def write(self, address: int, n_bytes: int) -> float:
        spec = self.spec
        if spec.mode == "cached":
            self.did["cached_calls"] += 1
            return self.through(address, n_bytes, "write")
        self.did["nocache_calls"] += 1
        self.did["fences"] += 1
        if n_bytes < 8:
            self.did["idle_fences"] += 1
            return self.through(address, n_bytes, "write") + spec.idle_fence_cycles
        lines = Counter(at // LINE for at in range(address, address + n_bytes))
        for line, n in lines.items():
            if self.level(line) == "dram":
                self.fell_out(line)
            else:
                self.did["displaced_lines"] += 1
                self.did["displaced_dirty_lines"] += line in self.dirty
                self.dirty.discard(line)
                self.forget(line)
            self.did["partial_lines"] += n < LINE
        self.did["split_lines"] += address % LINE > 0
        self.did["nocache_bytes"] += n_bytes
        share = 1 if spec.penalty_reading == "per_call" else n_bytes / 16384
        cycles = share * spec.nocache_penalty_cycles + n_bytes * spec.nocache_cycles_per_byte
        return cycles + (spec.split_line_cycles if address % LINE else 0)

    def read(self, address: int, n_bytes: int) -> float:
        self.did["read_calls"] += 1
        return self.through(address, n_bytes, "read")

    def dma_read(self, address: int, n_bytes: int) -> float:
        latency_ns, written_back = self.spec.dma_cache_ns, 0
        for line in sorted({at // LINE for at in range(address, address + n_bytes)}):
            if self.level(line) == "dram":
                latency_ns = self.spec.dma_memory_ns
                self.did["dma_memory_lines"] += 1
                self.fell_out(line)
                continue
            self.did["dma_cache_lines"] += 1
            if line in self.dirty and not self.spec.ddio:
                written_back += 1
                self.dirty.remove(line)
                if self.spec.snooped_line == "invalid":
                    self.forget(line)
        self.did["dma_writeback_lines"] += written_back
        return latency_ns + written_back * self.spec.dma_writeback_ns

    def dma_write(self, address: int, n_bytes: int) -> None:
        for line in sorted({at // LINE for at in range(address, address + n_bytes)}):
            level = self.level(line)
            if level == "dram":
                self.fell_out(line)
            self.did["dma_overwritten_lines"] += line in self.dirty
            self.dirty.discard(line)
            if not self.spec.ddio:
                self.did["dma_invalidated_lines"] += level != "dram"
                self.forget(line)
                continue
            self.forget(line, range(2))
            self.dirty.add(line)
            self.did["dirtied_lines"] += 1
            if level == "dram":
                self.did["dma_allocated_lines"] += 1
                self.fill(line, 2)

    def application(self, accesses: int) -> float:
        self.did["application_accesses"] += accesses
        if self.home is None:
            return 0.0
        misses = accesses * (1 - self.resident / self.working_set)
        self.squeeze(misses)
        self.resident = min(self.resident + misses, self.working_set)
        self.missed += misses
        self.ageing += misses
        while self.ageing >= 1:
            self.queue[self.home].append(None)
            self.ageing -= 1
        return float(misses) * self.spec.application_miss_cycles


@dataclass
class Sender:
    """A process with its block. A block is a list of holders, the process itself among them."""

    unused: list[int]
    holders: dict[int, int]
    block: int | None = None
    at: int = 0
    did: Counter[str] = field(default_factory=Counter)

    def alloc(self, n_bytes: int) -> tuple[int, int] | None:
        if self.block is not None and self.holders[self.block] == 1:
            self.at = 0
            self.did["rewinds"] += 1
        if self.block is not None and self.at == 32768:
            self.free(self.block * 32768)
            self.block = None
        if self.block is None:
            if not self.unused:
                self.did["failed"] += 1
                return None
            self.block, self.at = self.unused.pop(), 0
            self.holders[self.block] = 1
            self.did["blocks"] += 1
        n = min(n_bytes, 32768 - self.at)
        address = self.block * 32768 + self.at
        self.at += n
        self.holders[self.block] += 1
        self.did["chunks"] += 1
        return address, n

    def free(self, address: int) -> None:
        block = address // 32768
        self.holders[block] -= 1
        if self.holders[block] == 0:
            self.unused.append(block)
