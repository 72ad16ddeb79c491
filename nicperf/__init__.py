"""nicperf: executable models of NIC driver data paths, set beside published measurements."""

import sys
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

# Public name -> module that defines it. Loaded on first use: pandas alone takes a second to import.
_HOME = {
    "checksum": "nicperf.packets",
    "consistency": "nicperf.published",
    "experiment": "nicperf.experiments",
    "experiments": "nicperf.experiments",
    "explore": "nicperf.explore",
    "ledger": "nicperf.experiments",
    "left_out": "nicperf.experiments",
    "parameters": "nicperf.simulation",
    "pareto": "nicperf.stats",
    "parse": "nicperf.parsers",
    "scores": "nicperf.experiments",
    "segment": "nicperf.packets",
    "significance": "nicperf.experiments",
    "simulate": "nicperf.simulation",
    "suggest": "nicperf.experiments",
    "sweep": "nicperf.experiments",
}

__all__ = ["__version__"]
__all__ += _HOME


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = metadata.version("nicperf")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'nicperf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import of the package `nicperf.experiments` would put it in the place of the public function.
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
