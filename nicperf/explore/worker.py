"""A thread that does the newest of what it is asked for, and drops what has become stale meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

Job = Callable[[], None]


class Newest:
    """Runs one job at a time; a job that waits is dropped when a newer one comes.

    The thread lives as long as there is work, so that an idle panel costs nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Job | None = None
        self._thread: threading.Thread | None = None

    def put(self, job: Job) -> None:
        """Do this next, instead of what was waiting."""
        with self._lock:
            self._waiting = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def join(self) -> None:
        """Wait until nothing is left to do."""
        while (thread := self._thread) is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                job, self._waiting = self._waiting, None
                if job is None:
                    self._thread = None
                    return
            job()
