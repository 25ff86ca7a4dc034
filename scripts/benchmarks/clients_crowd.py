"""Fifty clients that search at once: each reply must be the one to its question."""

import itertools
import statistics
import threading
import time
from collections.abc import Iterator

from clients_place import Place, is_same_answer, read_answer, search
from clients_rows import Row
from codekernel.errors import KernelError

CLIENTS, SEARCHES = 50, 20
MAX_P99_RATIO = 10
START_TIMEOUT_SECONDS = 120


def measure_crowd(place: Place, _runs: int) -> Iterator[Row]:
    """Each client asks other queries than its neighbours, at the same time."""
    latencies: list[float] = []
    failures: list[str] = []
    ready = threading.Barrier(CLIENTS)
    asked = list(place.answers)

    def search_often(number: int) -> None:
        own = itertools.islice(itertools.cycle(asked), 7 * number, 7 * number + SEARCHES)
        try:
            with place.connect(f"crowd{number}") as connection:
                search(connection, asked[0])  # its session is prepared
                ready.wait(START_TIMEOUT_SECONDS)
                for query in own:
                    started = time.monotonic()
                    results = search(connection, query)
                    latencies.append(time.monotonic() - started)
                    if not is_same_answer(read_answer(results), place.answers[query]):
                        failures.append(f"not the answer to {query!r}")
        except (KernelError, threading.BrokenBarrierError) as error:
            failures.append(str(error))

    place.warm_up()
    started = time.monotonic()
    threads = [threading.Thread(target=search_often, args=(each,)) for each in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.monotonic() - started
    unanswered = CLIENTS * SEARCHES - len(latencies)
    yield (
        f"{CLIENTS} clients, {CLIENTS * SEARCHES} searches in {wall:.1f} s",
        f"{unanswered} unanswered, {len(failures)} wrong {failures[:1] or ''}",
        not failures and not unanswered,
    )
    p50, p99 = (statistics.quantiles(latencies, n=100)[place] for place in (49, 98))
    yield (
        "their p50 / p99",
        f"{p50 * 1000:.0f} / {p99 * 1000:.0f} ms: {p99 / p50:.1f}x",
        p99 <= MAX_P99_RATIO * p50,
    )
