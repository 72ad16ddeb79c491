"""Imports and cimports point down, and the two towers never touch (import-linter cannot see a cimport)."""

import re
from pathlib import PurePosixPath

BASE = {"errors", "files", "parameter", "paths", "progress", "records", "tables", "units"}
MODEL = {"engine", "parts", "packets", "drivers", "stack", "simulation"}
EVIDENCE = {"parsers", "published", "stats", "live"}
BELOW = {
    **dict.fromkeys(BASE, BASE),
    "engine": BASE,
    "parts": BASE | {"engine"},
    "packets": BASE | {"engine"},
    "drivers": BASE
    | {"engine", "parts", "packets", "stack"},  # a driver plugs into the host that stack declares
    "stack": BASE | {"engine", "parts", "packets"},
    "simulation": BASE | MODEL,
    "analytic": {"errors", "tables", "units"},
    "parsers": BASE,
    "published": BASE | {"parsers"},
    "stats": BASE,
    "live": BASE | {"parsers"},
    "experiments": BASE | MODEL | EVIDENCE | {"analytic"},
}
BELOW["charts"] = BELOW["experiments"] | {"experiments", "nicperf"}  # "nicperf" is the public face
BELOW["report"] = BELOW["charts"] | {"charts"}
BELOW["explore"] = BELOW["report"] | {"report"}
BELOW["layout"] = BASE
BELOW["cli"] = BELOW["report"] | {"report", "layout"}
FROM = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+(?:\(([^)]*)\)|(.*))", re.M)
PLAIN = re.compile(r"""^\s*c?import\s+([\w.]+)|import_module\(\s*["']([\w.]+)""", re.M)


def imported(path: str, text: str) -> set[str]:
    """First names below `nicperf` that a source file imports; `nicperf` itself for the public face."""
    text = re.sub(r"#.*", "", text)
    package = path.split("/")[:-1]
    targets = [(plain or dynamic).split(".") for plain, dynamic in PLAIN.findall(text)]
    for dots, module, several, one in FROM.findall(text):
        above = package[: len(package) - len(dots) + 1] if dots else []
        names = re.findall(r"(?:^|,)\s*(\w+)", several or one)
        targets += [above + [part for part in module.split(".") if part] + [name] for name in names]
    ours = [target for target in targets if target[0] == "nicperf"]
    return {target[1] if target[1:] and target[1] in BELOW else "nicperf" for target in ours}


def problems(texts: dict[str, str]) -> list[str]:
    bad = []
    for path, text in texts.items():
        if re.fullmatch(r"nicperf/.*\.(py|pyx|pxd|pyi)", path) and path != "nicperf/__init__.py":
            layer = PurePosixPath(path).parts[1].removesuffix(".py")
            unwanted = imported(path, text) - BELOW.get(layer, set()) - {layer}
            bad += [f"{path} imports nicperf.{name}" for name in sorted(unwanted)]
            bad += [] if layer in BELOW else [f"{path} stands in no layer"]
    return bad


def test_imports_point_down(texts: dict[str, str]) -> None:
    assert problems(texts) == []


def test_checker_sees_every_kind_of_import() -> None:
    wrong = {
        "nicperf/engine/_a.pyx": "from nicperf.parts._bus cimport bus_t\n",
        "nicperf/engine/_b.pxd": "cimport nicperf.drivers._v as v\n",
        "nicperf/drivers/c.py": "def f():\n    from ..published import figures\n",
        "nicperf/parsers/d.py": "import nicperf as nic\n",
        "nicperf/published/e.py": 'x = import_module("nicperf.simulation")\n',
        "nicperf/stack/f.py": "from nicperf import (\n    errors,\n    charts,\n)\n",
        "nicperf/new/g.py": "",
    }
    assert len(problems(wrong)) == len(wrong)
    fine = "from nicperf import errors\nfrom .x import y\nimport numpy\n"
    assert problems({"nicperf/simulation/ok.py": fine}) == []
