"""Real XDP: eBPF programs as the kernel would run them, over real frames.

`sample` and `Program` run a program; `load` reads what clang compiled, `assemble` takes bare instructions. The verdicts stand in
`nicperf.tables.xdp`.

Source: RFC 9669 for the instructions, linux/bpf.h for helpers, maps and context.
"""

from nicperf.packets.ebpf.elf import MapSpec, Object
from nicperf.packets.ebpf.program import Fault, Map, Program, Result, assemble, load, sample, samples

__all__ = ["Fault", "Map", "MapSpec", "Object", "Program", "Result", "assemble", "load", "sample", "samples"]
