"""Event queue, server and random streams, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nicperf.engine._probe import SLOTS, Queue, random_stream, serve


def served(*jobs: tuple[int, int, int], **extension: int) -> tuple[list[int], dict[str, object]]:
    """Departures of jobs (arrival, class, work)."""
    arrival, classes, work = zip(*jobs, strict=True)
    departures, account = serve(
        np.array(arrival, dtype=np.int64),
        np.array(classes, dtype=np.int32),
        np.array(work, dtype=np.int64),
        **extension,
    )
    return departures.tolist(), account


def test_events_leave_in_order_of_time_then_slot() -> None:
    queue = Queue()
    for slot, time_ps in ((7, 30), (3, 10), (21, 10), (0, 10)):
        queue.set(slot, time_ps)
    assert [queue.pop() for _ in range(4)] == [(10, 0), (10, 3), (10, 21), (30, 7)]
    with pytest.raises(IndexError, match="no event"):
        queue.pop()


def test_an_event_moves_and_goes() -> None:
    queue = Queue()
    queue.set(1, 50)
    queue.set(2, 40)
    queue.set(1, 20)  # earlier
    queue.set(3, 10)
    queue.clear(3)
    assert queue.pop() == (20, 1)
    queue.set(2, 90)  # later
    assert queue.pop() == (90, 2)


PAIR = [slot for slot in SLOTS if slot < 32]


@pytest.mark.parametrize(("groups", "slots"), [(2, PAIR), (16, SLOTS)])
@given(data=st.data())
def test_queue_is_a_sorted_table(groups: int, slots: list[int], data: st.DataObject) -> None:
    operations = data.draw(
        st.lists(st.tuples(st.sampled_from(slots), st.one_of(st.none(), st.integers(0, 2**54))))
    )
    """Against a dictionary that is sorted each time: None clears the slot."""
    queue, table = Queue(groups), dict[int, int]()
    for slot, time_ps in operations:
        if time_ps is None:
            queue.clear(slot)
            table.pop(slot, None)
        else:
            queue.set(slot, time_ps)
            table[slot] = time_ps
    assert [queue.pop() for _ in table] == sorted((time_ps, slot) for slot, time_ps in table.items())


def test_first_come_first_served() -> None:
    departures, account = served((0, 1, 10), (5, 1, 10), (40, 1, 10))
    assert departures == [10, 20, 50]
    assert account == {"busy_ps": [0, 30, 0], "idle_ps": 20, "preemptions": 0}


def test_urgent_work_interrupts_and_the_rest_resumes() -> None:
    #  class 2 runs 0-10, class 1 10-15, class 0 15-18, class 1 18-23, class 2 23-33
    departures, account = served((0, 2, 20), (10, 1, 10), (15, 0, 3))
    assert departures == [33, 23, 18]
    assert account == {"busy_ps": [3, 10, 20], "idle_ps": 0, "preemptions": 2}


def test_less_urgent_work_waits() -> None:
    departures, account = served((0, 0, 10), (1, 1, 5), (2, 0, 10))
    assert departures == [10, 25, 20]
    assert account["preemptions"] == 0


def test_a_job_that_ends_now_ends_before_others_start() -> None:
    """Arrival and completion at one instant: whichever goes first, no work is lost."""
    departures, account = served((0, 1, 10), (10, 0, 5))
    # The arrival's slot comes first: it takes over with nothing left to do below.
    assert departures == [15, 15]
    assert account["busy_ps"] == [5, 10, 0]


def test_work_of_no_length() -> None:
    assert served((4, 0, 0), (4, 1, 0))[0] == [4, 4]


def test_an_extended_job_ends_later() -> None:
    assert served((0, 0, 10), extend_at_ps=4, extra_ps=7)[0] == [17]
    # It hits the urgent one, which runs.
    departures, account = served((0, 1, 10), (2, 0, 5), extend_at_ps=3, extra_ps=7)
    assert departures == [22, 14]
    assert account["busy_ps"] == [12, 10, 0]


def test_random_numbers_are_splitmix64() -> None:
    """The generator's published first values for the state 1234567; a stream drops the first."""
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert random_stream(0, 1234567, 4).tolist() == published[1:]


def test_streams_are_repeatable_and_differ() -> None:
    streams = [random_stream(seed, stream, 1000) for seed in range(4) for stream in (0, 8)]
    assert (random_stream(3, 8, 1000) == streams[-1]).all()
    assert len({value for stream in streams for value in stream.tolist()}) == 8000


@pytest.mark.parametrize("seed", range(3))
def test_random_numbers_are_uniform(seed: int) -> None:
    """Chi-squared over 256 classes of the top byte, and of the xor of neighbours: below its 99.9 % point,
    330.5.
    """
    top = (random_stream(seed, 0, 256_000) >> np.uint64(56)).astype(int)
    for values in (top, top[:-1] ^ top[1:]):
        expected = len(values) / 256
        assert ((np.bincount(values, minlength=256) - expected) ** 2 / expected).sum() < 330.5
