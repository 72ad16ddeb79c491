"""A number's name ends in its unit, and a C function's name begins with what it acts on."""

import ast
import re
from pathlib import PurePosixPath

import pytest

UNITS = "seconds|[kmg]?hz|[mg]?bit_s|bytes|ki?b|mi?b|[npum]?s|percent|clocks|cycles?(_per_byte)?|dwords"
UNITS += "|descriptors|frames|packets|messages|pps"
COUNTS = (
    "buffers|calls|count|cpus|ensemble|errors|instances|line|number|parameters|ring|rows|runs|seed|slices"
)
COUNTS += "|accesses|cores|heads|pages|segments|slots|starts"
# Pure ratios, and numbers whose unit stands in another field.
VALUES = "confidence|cost|delta"
VALUES += "|factor|high|low|predicted|published|recomputed|resolution|sd|spread|value|width"


def problems(path: str, text: str) -> list[str]:
    noun = PurePosixPath(path).stem.lstrip("_")
    if path.endswith(".pxd"):
        nouns = (f"{noun}_", *(f"{struct}_" for struct in re.findall(r"struct (\w+)_t:", text)))
        functions = re.findall(r"^cdef (?:inline )?[\w* ]*?(\w+)\([^)]*\)(?: noexcept| except)", text, re.M)
        return [f"{path}: {name}() names no struct" for name in functions if not name.startswith(nouns)]
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    fields = [
        field.target.id
        for node in classes
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and re.match(r"(int|float)\b", ast.unparse(field.annotation))
    ]
    named = re.compile(rf"(\w+_)?({UNITS}|{COUNTS}|{VALUES})(_local|_remote)?")
    return [f"{path}: {name} has no unit" for name in fields if not named.fullmatch(name)]


def test_numbers_have_units_and_functions_their_noun(texts: dict[str, str]) -> None:
    sources = {name: text for name, text in texts.items() if re.fullmatch(r"nicperf/.*\.(py|pxd)", name)}
    assert [problem for name, text in sources.items() for problem in problems(name, text)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "@dataclass(frozen=True)\nclass A:\n    size_bytes: int\n    delay: float | None = 3\n"),
        (
            "parts/_bus.pxd",
            "cdef inline int bus_move(bus_t* b) noexcept nogil:\ncdef int move(int n) except -1 nogil\n",
        ),
    ],
)
def test_checker_sees_a_bad_name(path: str, text: str) -> None:
    assert len(problems(path, text)) == 1
