"""A progress bar for long work, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def bar(label: str, show: bool) -> Iterator[Callable[[int], object]]:
    """Hand out a function that counts finished scenarios."""
    with tqdm(desc=label, unit=" scenarios", disable=not show) as shown:
        yield shown.update
