"""A progress bar for long work, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Work that is done sooner shows no bar unless one is asked for.
PATIENCE_S = 1.0


@contextmanager
def bar(
    label: str, show: bool | None, total: int | None = None, unit: str = "scenarios"
) -> Iterator[Callable[[int], object]]:
    """Hand out a function that counts what is finished.

    Parameters
    ----------
    label, unit : str
        What is done, and what is counted.
    show : bool, optional
        None: only if somebody watches, and not before it takes long.
    total : int, optional
        How many there will be; with it the bar tells the time left.
    """
    if not (attended() if show is None else show):
        yield lambda done: None
        return
    from tqdm import tqdm

    with tqdm(desc=label, total=total, unit=f" {unit}", delay=0 if show else PATIENCE_S) as shown:
        yield shown.update


def attended() -> bool:
    """Whether somebody watches: a terminal, or a notebook that is open.

    A Jupyter server names the session to the kernels it starts. Kernels that execute a notebook unattended
    have none: there a bar would end up in the stored output.
    """
    return sys.stderr.isatty() or "JPY_SESSION_NAME" in os.environ
