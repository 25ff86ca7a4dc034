"""How a long initial index gets on: samples of it, whether its speed stays, its memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
from kernel_talk import KernelTalk
from verdicts import verdict

# What the last fifth may take more or less than the first.
FLAT_TARGET = 0.2
SHARE = 0.2
SAMPLE_SECONDS = 0.5


@dataclass(frozen=True)
class Sample:
    """One moment: what can be found by words, what by vectors, and what the kernel has needed.

    Memory and processor are those of the kernel and of its children together.
    """

    seconds: float
    files: int
    chunks: int
    vectors: int
    resident_mb: float
    cpu_seconds: float

    @property
    def finished(self) -> int:
        """Chunks found by both."""
        return min(self.chunks, self.vectors)


def watch_progress(talk: KernelTalk, window: int, every: float) -> list[Sample]:
    """Look until idle, and print now and then."""
    print(
        "| s | files | chunks | vectors | finished chunks/s | CPU us a chunk | RSS MB |\n"
        "|---|---|---|---|---|---|---|"
    )
    process = psutil.Process(talk.child.process.pid)
    began, samples = time.perf_counter(), [Sample(0.0, 0, 0, 0, *_needs(process))]
    printed = samples[0]
    while True:
        status = talk.status(window)
        configs: list[dict[str, int]] = status["configs"]
        now = Sample(
            time.perf_counter() - began,
            int(str(status["files"])),
            int(str(status["chunks"])),
            configs[0]["chunks"],
            *_needs(process),
        )
        samples.append(now)
        idle = status["state"] == "idle"
        if idle or now.seconds - printed.seconds >= every:
            chunks = now.finished - printed.finished
            cost = (now.cpu_seconds - printed.cpu_seconds) * 1e6 / max(chunks, 1)
            print(
                f"| {now.seconds:.0f} | {now.files} | {now.chunks} | {now.vectors} "
                f"| {chunks / (now.seconds - printed.seconds):.0f} | {cost:.0f} "
                f"| {now.resident_mb:.0f} |",
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
    # On a machine that others use as well, this says more than the clock.
    early, late = _cost(samples, 0.0, SHARE), _cost(samples, 1 - SHARE, 1.0)
    print(f"  CPU: {early:.0f} us a chunk in the first fifth, {late:.0f} in the last")
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


def _needs(process: psutil.Process) -> tuple[float, float]:
    """Megabytes and seconds of processor, of a process, its children, and those that have ended."""
    own = process.cpu_times()
    resident = process.memory_info().rss
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        try:
            resident += child.memory_info().rss
            seconds += child.cpu_times().user + child.cpu_times().system
        except psutil.NoSuchProcess:
            continue
    return resident / 1e6, seconds


def _cost(samples: Sequence[Sample], start: float, end: float) -> float:
    """Microseconds of processor for a finished chunk between two shares of them all."""
    total = samples[-1].finished
    inside = [sample for sample in samples if start * total <= sample.finished <= end * total]
    chunks = max(inside[-1].finished - inside[0].finished, 1)
    return (inside[-1].cpu_seconds - inside[0].cpu_seconds) * 1e6 / chunks


def _rate(
    samples: Sequence[Sample], count: Callable[[Sample], int], start: float, end: float
) -> float:
    """Chunks a second between two shares of them all."""
    total = count(samples[-1])
    last_without = max((s.seconds for s in samples if count(s) == 0), default=0.0)
    began = last_without if start == 0 else _find_time(samples, count, start * total)
    seconds = _find_time(samples, count, end * total) - began
    return (end - start) * total / max(seconds, 1e-3)


def _find_time(samples: Sequence[Sample], count: Callable[[Sample], int], wanted: float) -> float:
    """When there were so many; between two samples, in proportion."""
    for before, after in pairwise(samples):
        if count(after) >= wanted:
            share = (wanted - count(before)) / max(count(after) - count(before), 1)
            return before.seconds + share * (after.seconds - before.seconds)
    return samples[-1].seconds
