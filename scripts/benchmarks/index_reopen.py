"""A new kernel process on a repository that is indexed already: how soon it answers correctly.

The repository is as many of the benchmark's folders, copied into one, as make 13,000 chunks. An
answer is correct if a file that the benchmark calls relevant is among its hits. ``openRepo`` and
the search are sent at once after ``ready``, as a front end may; the search is repeated until the
answer is correct, and then until the vectors take part (getIndexStatus says that they are ready,
and the reply is what it was before the restart).
"""

import json
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kernel_talk import LOOK_SECONDS, KernelTalk
from verdicts import verdict

CHUNKS = 13_000
ROUNDS = 5
TARGET_SECONDS = 0.3
WINDOW = 1
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Known:
    """A question, the files that answer it, and the chunks that were the reply."""

    query: str
    relevant: frozenset[str]
    reply: tuple[int, ...]


def measure_reopen(
    bench: Path, roots: dict[str, Path], chunks: dict[str, float], wanted: int
) -> list[bool]:
    """Index once, then re-open several times; prints the medians."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        repo = root / "several"
        taken = _copy_repositories(roots, chunks, wanted, repo)
        with KernelTalk(root) as talk:
            talk.register(repo, WINDOW)
            status = talk.wait_for_idle(WINDOW)
            known = _find_known_query(talk, bench, taken)
        laps = [_lap(root, repo, known) for _ in range(ROUNDS)]
    ready, correct, whole, same = zip(*laps, strict=True)
    print(
        f"re-open: {status['files']} files, {status['chunks']} chunks ({', '.join(taken)}), "
        f"{ROUNDS} processes, query {known.query!r}\n"
        f"  process start to ready            {statistics.median(ready):.3f} s\n"
        f"  ready to first correct reply      {statistics.median(correct):.3f} s "
        f"(slowest {max(correct):.3f})\n"
        f"  ready to a reply that has vectors {statistics.median(whole):.3f} s, "
        f"{sum(same)} of {ROUNDS} replies the same as before the restart"
    )
    within = statistics.median(correct)
    return [verdict("re-open to first correct reply, median", within, TARGET_SECONDS, " s")]


def _copy_repositories(
    roots: dict[str, Path], chunks: dict[str, float], wanted: int, target: Path
) -> list[str]:
    """Copy the largest repositories until there are enough chunks; returns their names."""
    names: list[str] = []
    for name in sorted(chunks, key=lambda each: -chunks[each]):
        left = wanted - sum(chunks[taken] for taken in names)
        if left > 0:
            shutil.copytree(roots[name], target / name, symlinks=True)
            names.append(name)
    return names


def _find_known_query(talk: KernelTalk, bench: Path, taken: list[str]) -> Known:
    roots = {row["name"]: row["root"] for row in json.loads((bench / "repos.json").read_bytes())}
    for name in taken:
        for row in json.loads((bench / "queries" / f"{name}.json").read_bytes()):
            prefix = roots[name] and f"{roots[name]}/"
            relevant = frozenset(
                f"{name}/{path.removeprefix(prefix)}" for path in map(_get_path, row["relevant"])
            )
            hits = talk.search(row["query"], WINDOW)
            if hits and hits[0]["filePath"] in relevant:
                return Known(row["query"], relevant, tuple(int(hit["chunkId"]) for hit in hits))
    raise SystemExit("No question of the benchmark is answered by its relevant file.")


def _get_path(label: object) -> str:
    """A label is a path, or an object that has one."""
    return str(label["path"]) if isinstance(label, dict) else str(label)


def _lap(root: Path, repo: Path, known: Known) -> tuple[float, float, float, bool]:
    """Seconds to ready, from there to a correct reply, to one with vectors; whether the same."""
    with KernelTalk(root) as talk:
        ready = talk.began + talk.ready_seconds
        talk.open(repo, WINDOW)
        correct = 0.0
        while time.perf_counter() - ready < TIMEOUT_SECONDS:
            vectors = bool(correct) and _vectors_are_ready(talk)
            hits = talk.search(known.query, WINDOW)
            now = time.perf_counter() - ready
            if not correct and known.relevant & {str(hit["filePath"]) for hit in hits}:
                correct = now
            if vectors:
                same = tuple(hit["chunkId"] for hit in hits) == known.reply
                return talk.ready_seconds, correct, now, same
            time.sleep(LOOK_SECONDS)  # the kernel is busy enough with opening
        raise SystemExit(f"No correct reply within {TIMEOUT_SECONDS:.0f} s of a re-open.")


def _vectors_are_ready(talk: KernelTalk) -> bool:
    configs: list[dict[str, bool]] = talk.status(WINDOW)["configs"]
    return all(config["ready"] for config in configs)
