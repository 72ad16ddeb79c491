"""nicperf: executable models of NIC driver data paths, set beside published measurements."""

from importlib import import_module, metadata
from typing import Any

# Public name -> module that defines it. Loaded on first use, because pandas alone takes a second to import.
_HOME: dict[str, str] = {}

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
