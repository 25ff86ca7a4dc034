"""Many edits of single files, each begun when an earlier one is indexed."""

import threading
import time
from pathlib import Path

from kernel_talk import KernelTalk, Message
from live_files import Words, editable, function

FILES = 200
SEED = 13
TIMEOUT_SECONDS = 120.0
TOLD_EVERY = 1000


def edit_files(talk: KernelTalk, repo: Path, edits: int, under_way: int, window: int) -> float:
    """Edit until all is done; returns the seconds. Every file keeps one added function."""
    files = editable(repo)[:FILES]
    paths = [file.relative_to(repo).as_posix() for file in files]
    originals = [file.read_bytes() for file in files]
    words, rooms = Words(SEED), threading.Semaphore(under_way)
    busy: set[str] = set()

    def hear(message: Message, _: float) -> None:
        if message["type"] != "embeddingStatus" or message["status"] != "done":
            return
        if message["filePath"] in busy:
            busy.discard(message["filePath"])
            rooms.release()

    talk.listen(hear)
    started = time.perf_counter()
    for number in range(edits):
        if not rooms.acquire(timeout=TIMEOUT_SECONDS):
            raise SystemExit(f"Edited, but never said to be done: {sorted(busy)}; edit {number}.")
        place = number % len(files)
        busy.add(paths[place])
        files[place].write_bytes(originals[place] + function(words.next()).encode())
        if number and number % TOLD_EVERY == 0:
            chunks = talk.status(window)["chunks"]
            rate = number / (time.perf_counter() - started)
            print(f"  {number} edits, {rate:.1f} a second, {chunks} chunks", flush=True)
    for _ in range(under_way):
        rooms.acquire(timeout=TIMEOUT_SECONDS)
    return time.perf_counter() - started
