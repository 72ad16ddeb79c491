"""What the package imports it declares: what comes by way of another package may leave the same way."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement


def foreign(text: str) -> set[str]:
    """First names of the absolute imports that are neither ours nor Python's."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"nicperf"}


def undeclared(sources: list[str], requirements: list[str]) -> set[str]:
    declared = {Requirement(line).name for line in requirements}
    providers = packages_distributions()
    names = set().union(*map(foreign, sources))
    return {name for name in names if declared.isdisjoint(d.lower() for d in providers.get(name, []))}


def test_imports_are_declared(root: Path, texts: dict[str, str]) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    sources = [text for name, text in texts.items() if name.startswith("nicperf/") and name.endswith(".py")]
    assert undeclared(sources, project["dependencies"]) == set()


def test_checker_sees_an_undeclared_import() -> None:
    source = "import os\nimport yaml\nfrom . import x\ndef f():\n    from numpy.random import default_rng\n"
    assert undeclared([source], ["pyyaml>=6.0"]) == {"numpy"}
