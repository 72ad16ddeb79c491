"""The cost ledger as a profile: folded stacks, and speedscope's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import metadata
from typing import Any

#: side, context, operation, nanoseconds of CPU time.
Charge = tuple[str, str, str, int]


def folded(charges: Iterable[Charge]) -> str:
    """One line per operation: ``side;context;operation nanoseconds``, as flame-graph tools read them."""
    return "".join(f"{side};{context};{operation} {ns}\n" for side, context, operation, ns in charges)


def speedscope(charges: Iterable[Charge], name: str) -> str:
    """One sampled profile per side, whose weights are nanoseconds of CPU time.

    Source
    ------
    www.speedscope.app/file-format-schema.json
    """
    frames: dict[str, int] = {}
    profiles: dict[str, dict[str, Any]] = {}
    for side, context, operation, ns in charges:
        profile = profiles.setdefault(
            side,
            {"type": "sampled", "name": side, "unit": "nanoseconds", "startValue": 0, "endValue": 0}
            | {"samples": [], "weights": []},
        )
        profile["samples"].append([frames.setdefault(word, len(frames)) for word in (context, operation)])
        profile["weights"].append(ns)
        profile["endValue"] += ns
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": f"nicperf@{metadata.version('nicperf')}",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": word} for word in frames]},
        "profiles": list(profiles.values()),
    }
    return json.dumps(document, indent=1)
