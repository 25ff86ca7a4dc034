"""What a thousand turns leave in the kernel's memory."""

import threading
import time

from chat_window import ChatKernel, kind
from verdicts import verdict

FIRST_CONVERSATION = 20_000
TURNS_OF_ONE = 20
AT_ONCE = 4
TOKENS = 50
# Flat: what nine tenths of the turns may add, for the allocator's noise.
GROWTH_TARGET_MEGABYTES = 8.0


def measure_memory(kernel: ChatKernel, turns: int) -> list[bool]:
    """Compare the memory after a tenth of the turns with that after all of them."""
    began = time.perf_counter()
    _converse(kernel, 0, turns // 10)
    early = kernel.child.resident_kilobytes()
    _converse(kernel, turns // 10, turns)
    late = kernel.child.resident_kilobytes()
    seconds = time.perf_counter() - began
    print(
        f"\nmemory: {early / 1024:.1f} MB after {turns // 10} turns, {late / 1024:.1f} MB after"
        f" {turns} ({TURNS_OF_ONE} turns in each conversation, {AT_ONCE} at once, {seconds:.0f} s)"
    )
    return [verdict("memory added", (late - early) / 1024, GROWTH_TARGET_MEGABYTES, " MB")]


def _converse(kernel: ChatKernel, begin: int, end: int) -> None:
    waiting = list(range(begin // TURNS_OF_ONE, -(-end // TURNS_OF_ONE)))[::-1]
    failed: list[object] = []

    def work() -> None:
        while waiting:
            number = waiting.pop()
            first, last = max(begin, number * TURNS_OF_ONE), min(end, (number + 1) * TURNS_OF_ONE)
            for turn in range(first, last):
                question = f"bench turn{turn} {TOKENS} at 10000"
                replies = kernel.asked(FIRST_CONVERSATION + number, question)
                if [kind(reply) for reply in replies].count("answer") < TOKENS:
                    failed.append(replies[-1])

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"{len(failed)} turns were not answered: {failed[0]}")
