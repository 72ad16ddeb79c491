"""Figures of runs kept on disk, so that a sweep which was stopped goes on, and one which was done comes at once.

A run is determined by its scenario and by the code that executes it. Both are in the name of an entry: a
folder for the code, a file for the scenario. What is read back must carry the checksum of its own name and
content; whatever does not (a torn file, a flipped bit, a file that was moved) counts as absent, is run again and
written over. Entries are written beside and renamed, so any number of processes may share a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nicperf.errors import ScenarioError
from nicperf.files import write_whole
from nicperf.simulation.scenario import Scenario, defaults, parameters, split_side

#: Overrides the place: a folder, or ``off``.
VARIABLE = "NICPERF_CACHE"
#: Entries of code that nobody ran for so long are removed.
KEPT_DAYS = 30

#: What can change a figure: the layers below and beside this one, and the libraries that compute with floats.
LAYERS = ("engine", "parts", "packets", "drivers", "stack", "simulation", "tables")
MODULES = ("errors", "parameter", "units")
SUFFIXES = {".py", ".pyx", ".pxd", ".h", ".o", ".so", ".pyd"}
LIBRARIES = ("numpy", "scipy")

#: When the code was loaded; files that are newer are not what runs here.
_LOADED_S = time.time()


class RunCache:
    """Figures of runs, by scenario.

    Parameters
    ----------
    folder : path-like
        Made if it is not there. May be removed at any time.

    Raises
    ------
    ScenarioError
        The folder cannot be made or written to.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.code = code_version()
        self._entries = self.folder / "runs" / self.code
        try:
            self._entries.mkdir(parents=True, exist_ok=True)
            os.utime(self._entries)
        except OSError as error:
            raise ScenarioError(
                error.strerror or "cannot be written to",
                place="cache",
                field="folder",
                value=str(self.folder),
                cure=f"name another folder, in the call or by {VARIABLE}, or switch the cache off",
            ) from error
        self._forget_old_code()

    def read(self, key: str) -> dict[str, float] | None:
        """The figures kept under a key, in their order; None if there are none, or not as they were written."""
        try:
            digest, _, content = self._path(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        if digest != _digest(self.code, key, content):
            return None
        return dict(json.loads(content))

    def write(self, key: str, figures: Mapping[str, float]) -> None:
        """Keep figures under a key.

        Raises
        ------
        OSError
            The disk is full, or the folder has gone.
        """
        content = json.dumps({name: float(value) for name, value in figures.items()}).encode()
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, _digest(self.code, key, content) + b"\n" + content)

    def _path(self, key: str) -> Path:
        return self._entries / key[:2] / key[2:]

    def _forget_old_code(self) -> None:
        for entries in self._entries.parent.iterdir():
            try:
                if time.time() - entries.stat().st_mtime > KEPT_DAYS * 86400:
                    shutil.rmtree(entries, ignore_errors=True)
            except OSError:
                continue  # another process was faster


def open_cache(asked: bool | str | os.PathLike[str]) -> RunCache | None:
    """The cache that a caller asked for.

    Parameters
    ----------
    asked : bool or path-like
        A folder; True for the one that `VARIABLE` names or else the user's own; False for none.

    Returns
    -------
    RunCache or None
        None too, with a warning, where code was edited after it was imported: what runs would be kept under
        the name of what does not.

    Raises
    ------
    ScenarioError
        A folder that cannot be written to.
    """
    if asked is True:
        from platformdirs import user_cache_dir

        asked = os.environ.get(VARIABLE) or user_cache_dir("nicperf")
        if asked == "off":
            return None
    if asked is False:
        return None
    if _edited_since_import():
        warnings.warn(
            "nicperf was edited after it was imported: runs are not kept; start Python anew", stacklevel=2
        )
        return None
    return RunCache(asked)


class KeyMaker:
    """Names runs: equal names for equal runs, in whatever words they were asked for.

    Parameters
    ----------
    base : Scenario
        What all runs share.
    """

    def __init__(self, base: Scenario) -> None:
        self._settings = {**defaults(base.driver), **dict(base.settings)}
        known = parameters(base.driver)
        self._texts = [name for name in self._settings if known[split_side(name)[1]].kind == "str"]
        stopping = base.stopping and [base.stopping.width, base.stopping.confidence]
        times = [base.warmup_s, base.duration_s, base.slices, stopping]
        self._shared = [base.driver, base.workload, times]

    def key(self, settings: Mapping[str, Any], seed: int) -> str:
        """Hash of one run: all settings in force, its seed, and the content of files that settings name."""
        whole = {**self._settings, **settings}
        files = {name: _file_hash(whole[name]) for name in self._texts}
        content = json.dumps([*self._shared, seed, whole, files], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


@cache
def code_version() -> str:
    """Hash of the code that runs scenarios: sources, compiled modules, and versions of what they compute with."""
    digest = hashlib.sha256(repr([(name, metadata.version(name)) for name in LIBRARIES]).encode())
    for name, path in _code().items():
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _code() -> dict[str, Path]:
    """Every file of the model, by a name that does not tell where it is installed."""
    package = Path(__file__).parents[1]
    found = {f"{module}.py": package / f"{module}.py" for module in MODULES}
    for layer in LAYERS:
        for path in sorted((package / layer).rglob("*")):
            if path.suffix in SUFFIXES:
                found[path.relative_to(package).as_posix()] = path
    # An editable install keeps its compiled modules elsewhere.
    for name in [name for name in found if name.endswith(".pyx")]:
        spec = find_spec("nicperf." + name.removesuffix(".pyx").replace("/", "."))
        if spec is not None and spec.origin is not None:
            found[f"{name}: compiled"] = Path(spec.origin)
    return found


def _edited_since_import() -> bool:
    return max(path.stat().st_mtime for path in _code().values()) > _LOADED_S


def _file_hash(name: str) -> str | None:
    """Hash of the file that a text names, such as a compiled XDP program; None if it names none."""
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return None


def _digest(code: str, key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{code} {key}\n".encode() + content).hexdigest().encode()
