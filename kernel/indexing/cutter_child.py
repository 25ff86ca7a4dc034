"""A process that only cuts: texts come in on stdin, their chunks go out on stdout.

Parsing holds Python's lock, so that a long index in one process leaves all cores but one idle.
Started by ``cutter_process.py`` as ``python -m kernel.indexing.cutter_child``. It ends with its
stdin, and by itself once nobody has had work for it for a while.
"""

import os
import pickle
import queue
import sys
import threading
from typing import BinaryIO

from kernel.indexing.cutting import packed_cuts

# Whoever opens several repositories in a row does not wait for a new process each time.
IDLE_SECONDS = 20.0

Job = tuple[int, str, str, tuple[int, ...]]


def main() -> None:
    """Cut until there is nothing left to cut."""
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not end up among the replies
    # Read on a thread of its own, so that whoever writes jobs never waits for the cutting.
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    _answer(replies, None)
    while True:
        try:
            number, text, language, lengths = jobs.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            os._exit(0)  # without waiting for the thread that waits for stdin
        _answer(replies, (number, packed_cuts(text, language, lengths)))


def _read(source: BinaryIO, jobs: "queue.SimpleQueue[Job]") -> None:
    while True:
        try:
            jobs.put(pickle.load(source))  # noqa: S301 - written by the process that started us
        except (EOFError, pickle.UnpicklingError):
            os._exit(0)  # nobody is left to cut for


def _answer(replies: BinaryIO, answer: object) -> None:
    try:
        pickle.dump(answer, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
