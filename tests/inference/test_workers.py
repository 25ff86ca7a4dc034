import threading

import pytest

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.inference.turnstile import Turnstile
from kernel.inference.workers import Cores, Workers

PATIENCE_SECONDS = 10


def test_an_urgent_run_waits_for_one_batch_and_no_more() -> None:
    workers = Workers(Cores(1, Turnstile(1)))
    order: list[str] = []
    first_runs, may_go_on = threading.Event(), threading.Event()

    def run(batch: int) -> None:
        if batch == 0:
            first_runs.set()
            assert may_go_on.wait(PATIENCE_SECONDS)
        order.append(f"bulk {batch}")

    bulk = threading.Thread(target=workers.run_all, args=(range(5), run, CancelToken()))
    bulk.start()
    assert first_runs.wait(PATIENCE_SECONDS)
    query = threading.Thread(target=workers.run_now, args=("query", order.append))
    query.start()
    while not workers._turnstile._urgent:  # until the query stands in the queue
        query.join(0.001)
    may_go_on.set()
    query.join(PATIENCE_SECONDS)
    bulk.join(PATIENCE_SECONDS)
    assert order == ["bulk 0", "query", "bulk 1", "bulk 2", "bulk 3", "bulk 4"]
    workers.close()


def test_as_many_run_at_once_as_there_are_places_and_no_more() -> None:
    turnstile = Turnstile(2)
    inside: list[int] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def run(number: int) -> None:
        with turnstile.passing(urgent=False):
            inside.append(number)
            both.wait(PATIENCE_SECONDS)
            most.append(len(inside))
            both.wait(PATIENCE_SECONDS)
            inside.remove(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert most == [2] * 6


def test_a_cancel_ends_the_work_after_the_batch_that_runs() -> None:
    workers = Workers(Cores(1, Turnstile(1)))
    cancel = CancelToken()
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(batch)
        if batch == 2:
            cancel.cancel()

    with pytest.raises(Cancelled):
        workers.run_all(range(1000), run, cancel)
    workers.close()
    assert done == [0, 1, 2]


def test_a_failing_batch_ends_the_rest_and_is_raised() -> None:
    workers = Workers(Cores(1, Turnstile(1)))
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(1 // (3 - batch))

    with pytest.raises(ZeroDivisionError):
        workers.run_all(range(10_000), run, CancelToken())
    workers.close()
    assert len(done) < 10_000


def test_the_settings_cap_the_threads() -> None:
    assert Cores.of(1).threads == 1
    assert Cores.of(10**9).threads == Cores.of(0).threads
