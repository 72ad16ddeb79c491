"""Real XDP: eBPF programs as the kernel would run them, over real frames.

`sample` and `Program` run a program; `load` reads what clang compiled, `assemble` takes bare instructions. The verdicts stand in
`nicperf.tables.xdp`.

Not modelled: the verifier (what it would refuse ends in a fault, or runs), helpers beyond maps, time, random numbers, CPU,
checksums, room around the frame, redirection and tail calls; kernel functions, callbacks, CO-RE, maps of other kinds; frames in
several fragments; broadcasts; the limit of 512 bytes of stack over all nested calls.

Source: RFC 9669 for the instructions, linux/bpf.h for helpers, maps and context.
"""

from nicperf.packets.ebpf.elf import MapSpec, Object
from nicperf.packets.ebpf.program import Fault, Map, Program, Result, assemble, load, sample, samples

__all__ = ["Fault", "Map", "MapSpec", "Object", "Program", "Result", "assemble", "load", "sample", "samples"]
