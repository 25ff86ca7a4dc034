import threading

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.inference.batching import (
    MAX_PADDING_RATIO,
    BatchRunner,
    PrioritySemaphore,
    ThreadBudget,
    plan_batches,
)
from hypothesis import given
from hypothesis import strategies as st

lengths = st.lists(st.integers(1, 600), max_size=200)


@given(lengths, st.integers(1, 2000))
def test_every_text_is_in_one_batch_within_the_budget_and_with_little_padding(
    lengths: list[int], budget: int
) -> None:
    batches = plan_batches(lengths, batch_size_tokens=budget)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        widths = [lengths[position] for position in batch]
        area = max(widths) * len(batch)
        assert len(batch) == 1 or area <= budget
        assert area - sum(widths) <= MAX_PADDING_RATIO * area


def test_texts_of_one_length_share_batches() -> None:
    assert [len(batch) for batch in plan_batches([128] * 10, batch_size_tokens=512)] == [4, 4, 2]


def test_the_longest_go_first() -> None:
    assert plan_batches([5, 500, 50], batch_size_tokens=512) == [[1], [2], [0]]


def test_nothing_to_do_is_no_batch() -> None:
    assert plan_batches([], batch_size_tokens=512) == []


PATIENCE_SECONDS = 10


def test_an_urgent_run_waits_for_one_batch_and_no_more() -> None:
    runner = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    order: list[str] = []
    first_runs, may_go_on = threading.Event(), threading.Event()

    def run(batch: int) -> None:
        if batch == 0:
            first_runs.set()
            assert may_go_on.wait(PATIENCE_SECONDS)
        order.append(f"bulk {batch}")

    bulk = threading.Thread(target=runner.run_batches, args=(range(5), run, CancelToken()))
    bulk.start()
    assert first_runs.wait(PATIENCE_SECONDS)
    query = threading.Thread(target=runner.run_urgent, args=("query", order.append))
    query.start()
    while not runner._semaphore._urgent_waiting:  # until the query stands in the queue
        query.join(0.001)
    may_go_on.set()
    query.join(PATIENCE_SECONDS)
    bulk.join(PATIENCE_SECONDS)
    assert order == ["bulk 0", "query", "bulk 1", "bulk 2", "bulk 3", "bulk 4"]
    runner.close()


def test_as_many_run_at_once_as_there_are_places_and_no_more() -> None:
    semaphore = PrioritySemaphore(2)
    inside: list[int] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def run(number: int) -> None:
        with semaphore.acquire(urgent=False):
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
    runner = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    cancel = CancelToken()
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(batch)
        if batch == 2:
            cancel.cancel()

    with pytest.raises(Cancelled):
        runner.run_batches(range(1000), run, cancel)
    runner.close()
    assert done == [0, 1, 2]


def test_a_failing_batch_ends_the_rest_and_is_raised() -> None:
    runner = BatchRunner(ThreadBudget(1, PrioritySemaphore(1)))
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(1 // (3 - batch))

    with pytest.raises(ZeroDivisionError):
        runner.run_batches(range(10_000), run, CancelToken())
    runner.close()
    assert len(done) < 10_000


def test_the_settings_cap_the_threads() -> None:
    assert ThreadBudget.from_max_threads(1).threads == 1
    assert ThreadBudget.from_max_threads(10**9).threads == ThreadBudget.from_max_threads(0).threads
