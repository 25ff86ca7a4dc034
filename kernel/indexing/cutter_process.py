"""The near side of a process that cuts: what was given to it, and what has come back."""

import logging
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence

from kernel.domain.child_process import CHILD_OPTIONS
from kernel.indexing.cutting import PackedCuts

logger = logging.getLogger(__name__)

# So much is under way at once: enough that the process never waits for us, little enough that a
# search need not wait long for the processor, and that little is lost by a stop.
WINDOW_CHARACTERS = 200_000

# What lies in the folder somebody searches is never imported; and a packaged kernel, whose launcher
# says -I, hears of no other Python's settings.
_NO_STRANGERS = "-I" if sys.flags.isolated else "-P"


class CutterEnded(Exception):
    """The process is gone; ``suspect`` is the job it was at work on, if it had any."""

    def __init__(self, suspect: int | None) -> None:
        super().__init__(suspect)
        self.suspect = suspect


class CutterProcess:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        """Start it; raises OSError if the system has no process to give."""
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
            [sys.executable, _NO_STRANGERS, "-m", "kernel.indexing.cutter_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **CHILD_OPTIONS,
        )
        self._answers: queue.SimpleQueue[tuple[int, PackedCuts] | None] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._given: dict[int, int] = {}
        threading.Thread(target=self._listen, name="cutter", daemon=True).start()

    @property
    def pid(self) -> int:
        """The system's number of it."""
        return self._process.pid

    @property
    def has_room(self) -> bool:
        """Whether a job would be begun soon."""
        return self._ready.is_set() and sum(self._given.values()) < WINDOW_CHARACTERS

    def wait_until_ready(self, timeout_seconds: float) -> bool:
        """Wait until it has imported what it needs; false if that takes longer."""
        return self._ready.wait(timeout_seconds)

    @property
    def alive(self) -> bool:
        """Whether it can still be given something."""
        return self._process.poll() is None

    @property
    def given(self) -> frozenset[int]:
        """The jobs that have not come back."""
        return frozenset(self._given)

    def give(self, number: int, text: str, language: str, lengths: Sequence[int]) -> None:
        """Have a text cut; raises CutterEnded."""
        self._given[number] = len(text)
        pipe = self._process.stdin
        try:
            if pipe:
                pickle.dump((number, text, language, tuple(lengths)), pipe)
                pipe.flush()
        except OSError:
            raise self._ended() from None

    def take(self, timeout_seconds: float) -> tuple[int, PackedCuts] | None:
        """What was finished next, in the order it was given; none if nothing is yet.

        Raises CutterEnded.
        """
        try:
            answer = self._answers.get(timeout=timeout_seconds)
        except queue.Empty:
            return None
        if answer is None:
            raise self._ended()
        self._given.pop(answer[0], None)
        return answer

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:  # what was written last has nowhere to go
                    logger.debug("a cutter was ended with work before it")
        self._process.wait()

    def _ended(self) -> CutterEnded:
        return CutterEnded(next(iter(self._given), None))

    def _listen(self) -> None:
        pipe = self._process.stdout
        try:
            while pipe:
                answer = pickle.load(pipe)  # noqa: S301 - written by our own child
                if answer is None:
                    self._ready.set()
                else:
                    self._answers.put(answer)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._answers.put(None)
