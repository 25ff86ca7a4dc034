"""From the close of a saved file to the reply that has it: by its words, and with its vectors."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from kernel_talk import KernelTalk, Message
from live_files import Words, editable, function
from rival_tables import percentile
from verdicts import verdict

LOOKING, SEARCHING = 1, 2
WORDS_TARGET_MS, VECTORS_TARGET_MS = 150.0, 1000.0
# Between two looks: a reply takes a few milliseconds, and the looks must not be the load.
LOOK_SECONDS = 0.005
TIMEOUT_SECONDS = 60.0
SEED = 11


class Searches:
    """Searches one window without pause, from a thread, and keeps how long each took."""

    def __init__(self, talk: KernelTalk, queries: Sequence[str]) -> None:
        self._talk = talk
        self._queries = queries
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._search, daemon=True)
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def sentence(self) -> str:
        """For a person."""
        p50, p95 = (percentile(self.seconds, share) * 1e3 for share in (0.5, 0.95))
        return f"{len(self.seconds)} searches, p50 {p50:.1f} ms, p95 {p95:.1f} ms"

    def _search(self) -> None:
        while not self._over.is_set():
            query = self._queries[len(self.seconds) % len(self._queries)]
            started = time.perf_counter()
            self._talk.search(query, SEARCHING)
            self.seconds.append(time.perf_counter() - started)


class Done:
    """When each file was last said to be done."""

    def __init__(self, talk: KernelTalk) -> None:
        self._changed = threading.Condition()
        self._at: dict[str, float] = {}
        talk.listen(self._hear)

    def _hear(self, message: Message, now: float) -> None:
        if message["type"] == "embeddingStatus" and message["status"] == "done":
            with self._changed:
                self._at[str(message["filePath"])] = now
                self._changed.notify_all()

    def after(self, path: str, moment: float) -> float:
        """Wait until a file is done; returns when that was."""
        with self._changed:
            heard = self._changed.wait_for(
                lambda: self._at.get(path, 0.0) > moment, TIMEOUT_SECONDS
            )
            if not heard:
                raise SystemExit(f"{path} was saved, but never said to be done.")
            return self._at[path]


def measure_saves(talk: KernelTalk, repo: Path, queries: Sequence[str], saves: int) -> list[bool]:
    """Save, look until it is found, wait until it is done; again and again."""
    done, words, files = Done(talk), Words(SEED), editable(repo)
    by_words, by_vectors, replied = [], [], []
    with Searches(talk, queries) as searches:
        for number in range(saves):
            file, word = files[number % len(files)], words.next()
            with file.open("a", encoding="utf-8") as open_file:
                open_file.write(function(word))
            closed = time.perf_counter()
            by_words.append(_wait_until_found(talk, word, "") - closed)
            by_vectors.append(done.after(file.relative_to(repo).as_posix(), closed) - closed)
            replied.append(_wait_until_found(talk, word, "fresh") - closed)
    print(f"{saves} saves of single files, one after another, beside {searches.sentence()}")
    for name, times in (
        ("found by its words", by_words),
        ("embeddingStatus done", by_vectors),
        ("reply calls it fresh (its vectors are there)", replied),
    ):
        p50, p95, most = (percentile(times, share) * 1e3 for share in (0.5, 0.95, 1.0))
        print(f"  {name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms, slowest {most:.0f} ms")
    p95_words, p95_vectors = (percentile(times, 0.95) * 1e3 for times in (by_words, by_vectors))
    return [
        verdict("save to hit by words, p95", p95_words, WORDS_TARGET_MS, " ms"),
        verdict("save to vectors, p95", p95_vectors, VECTORS_TARGET_MS, " ms"),
    ]


def _wait_until_found(talk: KernelTalk, word: str, freshness: str) -> float:
    """When the first reply came that has the word, in a chunk as fresh as wanted."""
    started = time.perf_counter()
    while time.perf_counter() - started < TIMEOUT_SECONDS:
        hits = talk.search(word, LOOKING)
        now = time.perf_counter()
        for hit in hits:
            if word in str(hit["content"]) and str(hit["freshness"]).startswith(freshness):
                return now
        time.sleep(LOOK_SECONDS)
    raise SystemExit(f"{word} was saved, but never found{' ' + freshness if freshness else ''}.")
