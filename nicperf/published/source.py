"""Where a thread's figures come from: `data/<slug>/source.toml`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nicperf.errors import DataError, closest
from nicperf.paths import data_dir
from nicperf.published.document import Document


@dataclass(frozen=True, slots=True)
class Link:
    """The wire between the hosts.

    Attributes
    ----------
    rate_mbit_s : float
        Decimal megabits per second, each way.
    mtu_bytes : int
        Largest IP packet.
    origin : str
        What of this the post states and what is assumed.
    """

    rate_mbit_s: float
    mtu_bytes: int
    origin: str


@dataclass(frozen=True, slots=True)
class Host:
    """One of the two machines; `cpus` is None where the post does not tell."""

    description: str
    cpus: int | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One test: its command and what of it the arithmetic needs.

    Attributes
    ----------
    command : str
        As posted, host names replaced.
    protocol : str or None
        ``tcp`` or ``udp``; None where no test ran.
    duration_s, runs, instances : optional
        Length of a run, number of runs behind a figure, concurrent clients.
    request_bytes, response_bytes : int or None
        Both directions of one exchange.
    """

    command: str
    protocol: str | None = None
    duration_s: float | None = None
    runs: int | None = None
    instances: int | None = None
    request_bytes: int | None = None
    response_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The message and the set-up behind one slug.

    Attributes
    ----------
    tool_output : tuple of str
        Raw files that nicperf's parsers read; the others are tables that an author made.
    hosts : mapping of str to Host
        ``local`` ran the client or sender, ``remote`` the server or receiver.
    unknown : tuple of str
        What the post does not say and a reader would want to know.
    messages : dict of str to str
        Where raw files come from that stand in other messages: date, subject, message id.
    """

    slug: str
    title: str
    mailing_list: str
    date: datetime.date
    author: str
    subject: str
    tool_output: tuple[str, ...]
    unknown: tuple[str, ...]
    configurations: dict[str, str]
    link: Link
    hosts: Mapping[str, Host]
    workloads: Mapping[str, Workload]
    message_id: str | None = None
    kernel: str | None = None
    messages: dict[str, str] = field(default_factory=dict)


def slugs(*, root: Path | None = None) -> list[str]:
    """Names of the threads whose figures are here, oldest first.

    Parameters
    ----------
    root : Path, optional
        Another data folder than nicperf's own.
    """
    names = [path.parent.name for path in (root or data_dir()).glob("*/source.toml")]
    return sorted(names, key=lambda name: (name.rpartition("-")[2], name))


def source(slug: str, *, root: Path | None = None) -> Source:
    """Message, hosts, link, configurations and workloads of a thread.

    Parameters
    ----------
    slug : str
        One of `slugs()`.
    root : Path, optional
        Another data folder than nicperf's own.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        No such slug, or a file that breaks the format; the error names line, key, value and cure.
    """
    document = Document(folder(slug, root=root) / "source.toml")
    top = dict(document.data)
    parts: dict[str, Any] = {
        "link": document.build(Link, top.pop("link", {}), "[link]"),
        "hosts": {
            name: document.build(Host, table, f"[hosts.{name}]")
            for name, table in _tables(document, top, "hosts")
        },
        "workloads": {
            name: document.build(Workload, table, f"[workloads.{name}]")
            for name, table in _tables(document, top, "workloads")
        },
    }
    found = document.build(Source, top, "", given=parts)
    if found.slug != slug:
        raise document.error("differs from the folder's name", "", 0, "slug", found.slug, f"write {slug!r}")
    return found


def folder(slug: str, *, root: Path | None = None) -> Path:
    """Folder of a slug; a `DataError` with the close names where there is none."""
    known = slugs(root=root)
    if slug not in known:
        raise DataError("no such slug", field="slug", value=slug, cure=closest(slug, known))
    return (root or data_dir()) / slug


def _tables(document: Document, top: dict[str, object], key: str) -> list[tuple[str, object]]:
    tables = top.pop(key, {})
    if not isinstance(tables, dict):
        raise document.error("is not a table of tables", "", 0, key, tables, f"write [{key}.<name>]")
    return list(tables.items())
