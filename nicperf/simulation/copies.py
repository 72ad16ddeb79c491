"""Copies alone, without a network: what a call costs by message size and by the memory that its destinations take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nicperf.errors import ScenarioError, closest
from nicperf.parameter import parameters_of
from nicperf.parts.copies import LEVELS, PENALTY_BYTES, Copies

if TYPE_CHECKING:
    from pandas import DataFrame

SIZES_BYTES = tuple(2**power for power in range(6, 19))
FOOTPRINTS_BYTES = tuple(2**power for power in range(13, 27))
LINE_BYTES = 64


def copy_map(
    sizes_bytes: Sequence[int] = SIZES_BYTES,
    footprints_bytes: Sequence[int] = FOOTPRINTS_BYTES,
    **settings: Any,
) -> DataFrame:
    """Cost of a copy call through the caches and around them, over message size and destination footprint.

    Parameters
    ----------
    sizes_bytes : sequence of int
        Message sizes.
    footprints_bytes : sequence of int
        Bytes of the destination buffers, which are used in turn.
    **settings
        Parameters `copies.*` by dotted name, such as those that `nicperf.live.run_copy` measures:
        ``copy_map(**run_copy().copies_parameters())``. `copies.mode` has no effect: both are computed.

    Returns
    -------
    pandas.DataFrame
        A row for each pair: `size_bytes`, `footprint_bytes`, `level` in which a destination is found again,
        `cached_cycles`, `nocache_cycles` of one call on average, `ratio` of the second to the first. Messages
        larger than the footprint are left out.

    Raises
    ------
    ScenarioError
        No such parameter, a value outside its bounds, or a size that is not a positive whole number.

    Notes
    -----
    Messages follow each other without a gap, so that the first line of most was begun by the call before: it is
    in L1 for a cached copy and adds `copies.split_line_cycles` to the other. This is what the part
    that runs inside a simulation does with such a ring, in closed form.

    Not modelled: what the device and whoever reads the data next pay, the end of a 32 KiB block.
    """
    import pandas as pd

    spec = _spec(settings)
    for field, values in (("sizes_bytes", sizes_bytes), ("footprints_bytes", footprints_bytes)):
        for value in values:
            if isinstance(value, bool) or value != int(value) or value < 1:
                raise ScenarioError("not a positive whole number of bytes", field=field, value=value)
    rows = [_row(spec, size, ring) for ring in footprints_bytes for size in sizes_bytes if size <= ring]
    columns = ["size_bytes", "footprint_bytes", "level", "cached_cycles", "nocache_cycles"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(ratio=frame["nocache_cycles"] / frame["cached_cycles"])


def _spec(settings: dict[str, Any]) -> Copies:
    known = parameters_of("copies", Copies)
    for name in settings:
        if name not in known:
            raise ScenarioError(
                "no such parameter", place="copy_map", field=name, cure=closest(name, list(known))
            )
    checked = {name: known[name].check(value, "copy_map") for name, value in settings.items()}
    return Copies(**{name.removeprefix("copies."): value for name, value in checked.items()})


def _row(spec: Copies, size: int, ring: int) -> tuple[int, int, str, float, float]:
    sizes = (spec.l1_bytes, spec.l2_bytes, spec.l3_bytes)
    fits = [name for name, capacity in zip(LEVELS, sizes, strict=False) if ring <= capacity]
    level = fits[0] if ring <= spec.l3_bytes else LEVELS[-1]
    step = math.gcd(size, LINE_BYTES)
    starts = range(0, LINE_BYTES, step)  # within a line, each as often as the others
    begun = sum(min(-start % LINE_BYTES, size) for start in starts) / len(starts)
    here, near = (getattr(spec, f"cached_{name}_cycles_per_byte") for name in (level, LEVELS[0]))
    cached = spec.cached_call_cycles + (size - begun) * here + begun * near
    if size < 8:
        return size, ring, level, cached, cached + spec.idle_fence_cycles
    penalty = 1 if spec.penalty_reading == "per_call" else size / PENALTY_BYTES
    nocache = penalty * spec.nocache_penalty_cycles + size * spec.nocache_cycles_per_byte
    return size, ring, level, cached, nocache + spec.split_line_cycles * (1 - 1 / len(starts))
