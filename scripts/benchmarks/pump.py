"""Requests through a real child process: how many a second, how late, and how much memory.

Latency is of getRepos sent one at a time: alone, while another session works through a queue of its
own requests that is never empty, and beside a thread that computes in Python without pause.
Throughput and memory are of getRepos with 64 requests under way.
"""

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from kernel_child import KernelChild, request

LATENCY_TARGET_MS = 5.0
THROUGHPUT_TARGET = 5000
# Flat: what the second half of the run may add, for allocator noise.
GROWTH_TARGET_KILOBYTES = 2048
UNDER_WAY = 64
# Enough that the busy session always has work waiting; more would only measure the pipe.
BUSY_UNDER_WAY = 16
COMPUTING_KERNEL = str(Path(__file__).with_name("computing_kernel.py"))
GET_REPOS: dict[str, object] = {"type": "getRepos"}


def main() -> int:
    """Print the three figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--latency-samples", type=int, default=5_000)
    options = parser.parse_args()
    with KernelChild() as kernel:
        kernel.output.readline()
        kernel.open_repositories()
        idle = sorted(_latencies(kernel, options.latency_samples))
        with BusySession(kernel) as busy:
            loaded = sorted(busy.latencies(options.latency_samples))
        met = [_report_latency(idle, "idle"), _report_latency(loaded, "beside a busy session")]
        print(f"  (the busy session answered {busy.answered} getApiUsage meanwhile)")
        met += [_throughput(kernel, options.messages)]
    with KernelChild(command=[COMPUTING_KERNEL]) as kernel:
        kernel.output.readline()
        computing = sorted(_latencies(kernel, options.latency_samples))
        met += [_report_latency(computing, "beside a thread that computes in Python")]
    return 0 if all(met) else 1


def _report_latency(sorted_seconds: list[float], when: str) -> bool:
    p50 = sorted_seconds[len(sorted_seconds) // 2] * 1000
    p99 = sorted_seconds[len(sorted_seconds) * 99 // 100] * 1000
    met = p99 <= LATENCY_TARGET_MS
    print(
        f"latency of getRepos, {when}, {len(sorted_seconds)} requests: p50 {p50:.2f} ms, "
        f"p99 {p99:.2f} ms (target p99 <= {LATENCY_TARGET_MS} ms: {'met' if met else 'MISSED'})"
    )
    return met


def _latencies(kernel: KernelChild, samples: int) -> Iterator[float]:
    for _ in range(samples):
        started = time.perf_counter()
        kernel.ask(GET_REPOS)
        yield time.perf_counter() - started


class BusySession:
    """Keeps session 1 busy without pause, from a thread; replies are told apart by callbackId."""

    def __init__(self, kernel: KernelChild) -> None:
        self._kernel = kernel
        self._asked = threading.Semaphore(BUSY_UNDER_WAY)
        self._writing = threading.Lock()
        self._answer = threading.Semaphore(0)
        self._over = False
        self.answered = 0

    def __enter__(self) -> Self:
        self._feeder = threading.Thread(target=self._feed)
        self._reader = threading.Thread(target=self._read)
        self._feeder.start()
        self._reader.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over = True
        self._feeder.join()
        for _ in range(BUSY_UNDER_WAY):
            self._asked.acquire()
        self._write(request(3, GET_REPOS))
        self._reader.join()

    def latencies(self, samples: int) -> Iterator[float]:
        """Each getRepos waits for its own reply while the session goes on."""
        for _ in range(samples):
            started = time.perf_counter()
            self._write(request(1, GET_REPOS))
            self._answer.acquire()
            yield time.perf_counter() - started

    def _write(self, line: bytes) -> None:
        with self._writing:
            self._kernel.input.write(line)
            self._kernel.input.flush()

    def _feed(self) -> None:
        usage = request(2, {"type": "getApiUsage"}, session=1)
        while not self._over:
            self._asked.acquire()
            self._write(usage)

    def _read(self) -> None:
        while True:
            line = self._kernel.output.readline()
            if b'"callbackId":2,' in line:
                self.answered += 1
                self._asked.release()
            elif b'"callbackId":1,' in line:
                self._answer.release()
            else:
                return


def _throughput(kernel: KernelChild, messages: int) -> bool:
    line = request(1, GET_REPOS)
    halfway = 0
    kernel.input.write(line * UNDER_WAY)
    kernel.input.flush()
    started = time.perf_counter()
    for number in range(messages):
        kernel.output.readline()
        if number + UNDER_WAY < messages:
            kernel.input.write(line)
            if number % 16 == 0:
                kernel.input.flush()
        if number + UNDER_WAY >= messages - 1:
            kernel.input.flush()
        if number == messages // 2:
            halfway = kernel.resident_kilobytes()
    rate = messages / (time.perf_counter() - started)
    grown = kernel.resident_kilobytes() - halfway
    fast, flat = rate >= THROUGHPUT_TARGET, grown <= GROWTH_TARGET_KILOBYTES
    print(
        f"throughput: {messages} getRepos, {UNDER_WAY} under way: {rate:.0f} requests/s "
        f"(target >= {THROUGHPUT_TARGET}: {'met' if fast else 'MISSED'})"
    )
    print(
        f"memory: {halfway} kB after half of them, {grown:+d} kB after the other half "
        f"(target <= +{GROWTH_TARGET_KILOBYTES}: {'met' if flat else 'MISSED'})"
    )
    return fast and flat


if __name__ == "__main__":
    sys.exit(main())
