import threading

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.inference.batching import BatchRunner, PrioritySemaphore, ThreadBudget

PATIENCE_SECONDS = 10


def test_an_urgent_run_waits_for_one_batch_and_no_more() -> None:
    workers = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    order: list[str] = []
    first_runs, may_go_on = threading.Event(), threading.Event()

    def run(batch: int) -> None:
        if batch == 0:
            first_runs.set()
            assert may_go_on.wait(PATIENCE_SECONDS)
        order.append(f"bulk {batch}")

    bulk = threading.Thread(target=workers.run_batches, args=(range(5), run, CancelToken()))
    bulk.start()
    assert first_runs.wait(PATIENCE_SECONDS)
    query = threading.Thread(target=workers.run_urgent, args=("query", order.append))
    query.start()
    while not workers._semaphore._urgent_waiting:  # until the query stands in the queue
        query.join(0.001)
    may_go_on.set()
    query.join(PATIENCE_SECONDS)
    bulk.join(PATIENCE_SECONDS)
    assert order == ["bulk 0", "query", "bulk 1", "bulk 2", "bulk 3", "bulk 4"]
    workers.close()


def test_as_many_run_at_once_as_there_are_places_and_no_more() -> None:
    turnstile = PrioritySemaphore(2)
    inside: list[int] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def run(number: int) -> None:
        with turnstile.acquire(urgent=False):
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
    workers = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    cancel = CancelToken()
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(batch)
        if batch == 2:
            cancel.cancel()

    with pytest.raises(Cancelled):
        workers.run_batches(range(1000), run, cancel)
    workers.close()
    assert done == [0, 1, 2]


def test_a_failing_batch_ends_the_rest_and_is_raised() -> None:
    workers = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(1 // (3 - batch))

    with pytest.raises(ZeroDivisionError):
        workers.run_batches(range(10_000), run, CancelToken())
    workers.close()
    assert len(done) < 10_000


def test_the_settings_cap_the_threads() -> None:
    assert ThreadBudget.from_max_threads(1).threads == 1
    assert ThreadBudget.from_max_threads(10**9).threads == ThreadBudget.from_max_threads(0).threads
