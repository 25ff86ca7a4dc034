"""How a long initial index gets on: samples of it, whether its speed stays, its memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kernel_talk import KernelTalk
from verdicts import verdict

# What the last fifth may take more or less than the first.
FLAT_TARGET = 0.2
SHARE = 0.2
SAMPLE_SECONDS = 0.5


@dataclass(frozen=True)
class Sample:
    """One moment: what can be found by words, what by vectors, and the memory of the kernel."""

    seconds: float
    files: int
    chunks: int
    vectors: int
    resident_mb: float

    @property
    def finished(self) -> int:
        """Chunks found by both."""
        return min(self.chunks, self.vectors)


def watched(talk: KernelTalk, window: int, every: float) -> list[Sample]:
    """Look until idle, and print now and then."""
    print(
        "| s | files | chunks | vectors | finished chunks/s | RSS MB |\n|---|---|---|---|---|---|"
    )
    began, samples = time.perf_counter(), [Sample(0.0, 0, 0, 0, 0.0)]
    printed = samples[0]
    while True:
        status = talk.status(window)
        configs: list[dict[str, int]] = status["configs"]  # type: ignore[assignment]
        now = Sample(
            time.perf_counter() - began,
            int(str(status["files"])),
            int(str(status["chunks"])),
            configs[0]["chunks"],
            talk.child.resident_kilobytes() / 1e3,
        )
        samples.append(now)
        idle = status["state"] == "idle"
        if idle or now.seconds - printed.seconds >= every:
            rate = (now.finished - printed.finished) / (now.seconds - printed.seconds)
            print(
                f"| {now.seconds:.0f} | {now.files} | {now.chunks} | {now.vectors} "
                f"| {rate:.0f} | {now.resident_mb:.0f} |",
                flush=True,
            )
            printed = now
        if idle:
            print(f"\nindexed in {now.seconds:.1f} s, {now.finished / now.seconds:.0f} chunks/s")
            return samples
        time.sleep(SAMPLE_SECONDS)


def flatness(samples: Sequence[Sample]) -> list[bool]:
    """Compare the first fifth of the chunks with the last; before the first, files are listed."""
    counts: dict[str, Callable[[Sample], int]] = {
        "words": lambda sample: sample.chunks,
        "vectors": lambda sample: sample.vectors,
        "finished": lambda sample: sample.finished,
    }
    slower = {}
    for name, count in counts.items():
        first, last = _rate(samples, count, 0.0, SHARE), _rate(samples, count, 1 - SHARE, 1.0)
        slower[name] = 1 - last / first
        print(f"  {name}: {first:.0f} chunks/s in the first fifth, {last:.0f} in the last")
    # Faster at the end is no fault.
    return [verdict("slower in the last fifth by", slower["finished"], FLAT_TARGET)]


def memory(process: int) -> tuple[float, float]:
    """The peak of a process, and what of it now is no mapped file; 0 where the system is silent."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return 0.0, 0.0
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    peak, anonymous = (int(lines.get(key, "0 kB").split()[0]) / 1e3 for key in ("VmHWM", "RssAnon"))
    return peak, anonymous


def _rate(
    samples: Sequence[Sample], count: Callable[[Sample], int], start: float, end: float
) -> float:
    """Chunks a second between two shares of them all."""
    total = count(samples[-1])
    last_without = max((s.seconds for s in samples if count(s) == 0), default=0.0)
    began = last_without if start == 0 else _reached(samples, count, start * total)
    seconds = _reached(samples, count, end * total) - began
    return (end - start) * total / max(seconds, 1e-3)


def _reached(samples: Sequence[Sample], count: Callable[[Sample], int], wanted: float) -> float:
    """When there were so many; between two samples, in proportion."""
    for before, after in pairwise(samples):
        if count(after) >= wanted:
            share = (wanted - count(before)) / max(count(after) - count(before), 1)
            return before.seconds + share * (after.seconds - before.seconds)
    return samples[-1].seconds
