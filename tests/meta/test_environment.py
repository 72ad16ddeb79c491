"""conda and pip users get the same requirements."""

import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler import MatchSpec

# What pip users bring along or cannot get from an index.
CONDA_ONLY = {"python", "c-compiler", "make", "pip", "uv"}


def requirements(lines: list[str]) -> dict[str, str]:
    return {r.name: str(r.specifier) for r in map(Requirement, lines)}


def wanted(pyproject: dict) -> dict[str, str]:
    """What every environment holds; `make bench` adds its own group."""
    groups = {**pyproject["dependency-groups"], "bench": []}.values()
    named = [line for group in groups for line in group if isinstance(line, str)]
    return requirements(pyproject["project"]["dependencies"] + named)


def problems(pyproject: dict, environment: dict) -> list[str]:
    plain = [line for line in environment["dependencies"] if isinstance(line, str)]
    by_pip = [line for part in environment["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    for line in plain:
        MatchSpec(line, strict=True)
    found = requirements([line for line in plain if Requirement(line).name not in CONDA_ONLY] + by_pip)
    asked = wanted(pyproject)
    differ = sorted(name for name in asked | found if asked.get(name) != found.get(name))
    python = requirements(plain)["python"] == pyproject["project"]["requires-python"]
    return differ + ([] if python else ["python"])


def read(root: Path) -> tuple[dict, dict]:
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    return pyproject, yaml.safe_load((root / "environment.yml").read_text())


def test_environment_equals_pyproject(root: Path) -> None:
    assert problems(*read(root)) == []


def test_build_group_equals_build_system(root: Path) -> None:
    pyproject, _ = read(root)
    assert set(pyproject["build-system"]["requires"]) <= set(pyproject["dependency-groups"]["build"])


def unpinned(asked: dict[str, str], constraints: str) -> list[str]:
    pins = [Requirement(line) for line in constraints.splitlines() if not line.startswith("#")]
    versions = {pin.name: [pinned.version for pinned in pin.specifier] for pin in pins}
    fits = {
        name for name, found in versions.items() if all(v in SpecifierSet(asked.get(name, "")) for v in found)
    }
    return sorted(set(asked) - fits)


def test_constraints_pin_every_requirement(root: Path) -> None:
    assert unpinned(wanted(read(root)[0]), (root / "constraints.txt").read_text()) == []


def test_checker_sees_a_missing_and_an_old_pin() -> None:
    assert unpinned({"a": ">=2", "b": ">=1", "c": ""}, "# pins\na==1.9\nb==1.0\n") == ["a", "c"]


def test_extras_are_tested(root: Path) -> None:
    pyproject, _ = read(root)
    for extra in pyproject["project"]["optional-dependencies"].values():
        assert set(extra) <= set(pyproject["dependency-groups"]["test"])


def test_checker_sees_a_difference(root: Path) -> None:
    pyproject, environment = read(root)
    pyproject["project"]["dependencies"].append("zstandard>=0.22")
    environment["dependencies"].append("numpy>=9.9")
    assert problems(pyproject, environment) == ["numpy", "zstandard"]
