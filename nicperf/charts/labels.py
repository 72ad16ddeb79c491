"""Titles with units for the quantity and parameter names that frames carry."""

from __future__ import annotations

# Names carry their unit as a suffix; the longest suffix that fits wins.
UNITS = {
    "mbit_s": "Mbit/s",
    "percent": "%",
    "us_per_kb": "µs/KB",
    "per_s": "1/s",
    "gbit_s": "Gbit/s",
    "gcycle": "Gcycle",
    "cycle_per_byte": "cycle/B",
    "per_ms": "1/ms",
    "kpps": "1000/s",
    "total": "count",
    "ns_per_frame": "ns per frame",
    "ns": "ns",
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "mhz": "MHz",
    "bytes": "bytes",
    "dwords": "32-bit words",
    "frames": "frames",
    "pages": "pages",
    "cycles": "cycles",
    "clocks": "clocks",
}
SIDES = {"local": "sender", "remote": "receiver"}
WORDS = {
    "bql": "BQL",
    "cpu": "CPU",
    "dma": "DMA",
    "tx": "TX",
    "rx": "RX",
    "sg": "SG",
    "napi": "NAPI",
    "gso": "GSO",
    "isr": "ISR",
    "gro": "GRO",
    "ip": "IP",
    "mmio": "MMIO",
    "mtu": "MTU",
    "pp": "page pool",
    "skb": "sk_buff",
    "tcp": "TCP",
    "udp": "UDP",
    "xdp": "XDP",
}


def unit(name: str) -> str:
    """Unit named by the suffix of a quantity or parameter, empty for a pure count or a switch.

    Examples
    --------
    >>> unit("cpu_percent_local"), unit("nic.dma_burst_dwords"), unit("driver.napi")
    ('%', '32-bit words', '')
    """
    return UNITS.get(_split(name)[1], "")


def title(name: str, with_unit: bool = True) -> str:
    """Readable title of a quantity or dotted parameter name.

    Parameters
    ----------
    name : str
        A column of a run's summary (`cpu_percent_local`), a quantity of `figures.csv`, or a dotted parameter.
    with_unit : bool
        Append the unit in parentheses.

    Returns
    -------
    str
        First letter capital, the side spelled out, no underscore.

    Examples
    --------
    >>> title("cpu_percent_local")
    'CPU, sender (%)'
    >>> title("nic.dma_burst_dwords")
    'DMA burst (32-bit words)'
    """
    stem, suffix, side = _split(name)
    words = " ".join(WORDS.get(word, word) for word in stem.split("_"))
    text = words[:1].upper() + words[1:] + (f", {SIDES[side]}" if side else "")
    return f"{text} ({UNITS[suffix]})" if with_unit and suffix in UNITS else text


def spaced(word: str) -> str:
    """Name of an operation or context as a reader's words."""
    return " ".join(WORDS.get(part, part) for part in word.replace("_", " ").split(" "))


def field(name: str) -> str:
    """Column name without dots, which Vega-Lite would read as nested access."""
    return name.replace(".", "_")


def number(value: float, digits: int = 4) -> str:
    """Number with `digits` significant digits, thousands separated, never in exponent form above 1e-4.

    Examples
    --------
    >>> number(2673939.0), number(541.83), number(0.5), number(24)
    ('2,674,000', '541.8', '0.5', '24')
    """
    if value != value:
        return "–"
    if value == int(value) and abs(value) < 10**digits:
        return f"{int(value):,}"
    if abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    exponent = int(f"{value:e}".split("e")[1])
    places = digits - 1 - exponent
    text = f"{round(value, places):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _split(name: str) -> tuple[str, str, str]:
    """Stem, unit suffix and side of a name: `a.cpu_percent_local` gives `cpu`, `percent`, `local`."""
    base = name.rsplit(".", 1)[-1]
    side = next((s for s in SIDES if name.startswith(s + ".") or base.endswith("_" + s)), "")
    base = base.removesuffix("_" + side)
    suffix = next((s for s in sorted(UNITS, key=len, reverse=True) if base.endswith("_" + s)), "")
    return (base.removesuffix("_" + suffix) if suffix else base), suffix, side
