"""Where a notebook's numbers come from, in words that do not change unless they do."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING

import pandas as pd

from nicperf.experiments.fingerprint import config_hash, figures_hash
from nicperf.paths import data_dir
from nicperf.report.table import Table

if TYPE_CHECKING:
    from nicperf.experiments import Experiment


def provenance(exp: Experiment) -> Table:
    """Versions, hashes and seeds behind an experiment's numbers.

    Parameters
    ----------
    exp : Experiment
        The experiment.

    Returns
    -------
    Table
        The same on every machine: commit, date, interpreter and run time of a build stand at the foot of its
        report instead.
    """
    facts = {
        "experiment": exp.slug,
        "nicperf": version("nicperf"),
        "published data (sha256)": data_hash(exp.slug),
        "fitted figures (sha256)": figures_hash(exp.figures[exp.figures["role"] == "fit"]),
        "assumptions (sha256)": config_hash(exp.config),
        "seeds": ", ".join(map(str, exp.config.seeds)),
        "simulated time per run": f"{exp.config.warmup_s:g} s warm-up, {exp.config.duration_s:g} s measured",
    }
    return Table(pd.DataFrame({"what": list(facts), "value": list(facts.values())}))


def data_hash(slug: str) -> str:
    """Hash of the stored evidence of one thread: figures, claims, sources and raw outputs.

    Parameters
    ----------
    slug : str
        Name of the experiment.

    Returns
    -------
    str
        First 16 digits of a SHA-256 over names and contents.
    """
    folder = data_dir() / slug
    digest = hashlib.sha256()
    evidence = [folder / "source.toml", folder / "figures.csv", folder / "claims.toml"]
    for path in [*evidence, *sorted((folder / "raw").iterdir())]:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
