"""Notebooks are short, those of experiments follow one template, code prints the verdict, and the map leads to all."""

import json
import re
from pathlib import Path

TEMPLATE = [
    "The claim",
    "What was measured",
    "How the packet travels",
    "What we assume",
    "Before fitting",
    "Fit",
]
TEMPLATE += ["Held out", "What would change this", "Limits", "Provenance"]


def problems(name: str, cells: list[dict], slugs: set[str], size: int = 0) -> list[str]:
    sources = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    code = [text.splitlines() for kind, text in sources if kind == "code"]
    prose = "\n".join(text for kind, text in sources if kind == "markdown")
    sections = dict(re.findall(r"^## (?:\d+\W+)?(.+?)\s*$\n?((?:(?!## ).*\n?)*)", prose, re.M))
    follows = any(name[3:].startswith(slug.split("-")[0]) for slug in slugs)
    broken = {
        "no title with a question": not re.match(rf"# {name[:2]}\s.*\?", prose),
        "sections": follows and list(sections) != TEMPLATE,
        "more than 12 code cells": len(code) > 12,
        "a cell of more than 12 lines": any(len(lines) > 12 for lines in code),
        "more than 80 lines": sum(map(len, code)) > 80,
        "a definition": any(re.match(r"\s*(def|class) ", line) for lines in code for line in lines),
        # What a code-hosting site still draws.
        "400 KB or more": size >= 400_000,
        "a digit in the verdict": bool(re.search(r"\d", sections.get("Held out", ""))),
    }
    return [f"{name}: {what}" for what, found in broken.items() if found]


def test_notebooks_follow_the_template(root: Path) -> None:
    slugs = {folder.name for folder in (root / "data").glob("*/")}
    read = [(path, json.loads(path.read_text())["cells"]) for path in sorted(root.glob("notebooks/*.ipynb"))]
    found = [
        problem for path, cells in read for problem in problems(path.stem, cells, slugs, path.stat().st_size)
    ]
    assert found == []


def broken_links(names: set[str], books: dict[str, list[dict]]) -> list[str]:
    """Links to notebooks that are not there, and notebooks that the first one, the map, does not link to."""
    links = {
        name: set(re.findall(r"\]\((\w+)\.ipynb", "".join("".join(cell["source"]) for cell in cells)))
        for name, cells in books.items()
    }
    first = min(names)
    return [
        *(f"{name}: no notebook {link}" for name, found in links.items() for link in sorted(found - names)),
        *(f"{first}: no link to {name}" for name in sorted(names - links[first] - {first})),
    ]


def test_the_map_leads_to_every_notebook(root: Path) -> None:
    books = {path.stem: json.loads(path.read_text())["cells"] for path in root.glob("notebooks/*.ipynb")}
    assert broken_links(set(books), books) == []


def test_a_missing_link_and_a_dead_one_are_seen() -> None:
    books = {
        "00_map": [{"source": ["[a](01_a.ipynb), [x](03_x.ipynb)"]}],
        "01_a": [{"source": "# A"}],
        "02_b": [],
    }
    assert broken_links(set(books), books) == ["00_map: no notebook 03_x", "00_map: no link to 02_b"]


def test_checker_sees_everything() -> None:
    wrong = [{"cell_type": "code", "source": "def f():\n" + "    pass\n" * 12}] * 13
    wrong += [{"cell_type": "markdown", "source": ["# The velocity\n", "## Held out\n", "off by 3 %"]}]
    assert len(problems("01_velocity", wrong, {"velocity-2009"}, 400_000)) == 8
    text = "# 01  Is it?\n" + "".join(f"## {n}  {heading}\nprose\n" for n, heading in enumerate(TEMPLATE, 1))
    assert problems("01_velocity", [{"cell_type": "markdown", "source": text}], {"velocity-2009"}) == []
