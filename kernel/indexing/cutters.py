"""The processes that cut a long list of files, and what is done when one of them dies."""

import atexit
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Performance
from kernel.errors import Cancelled
from kernel.indexing.cutter_process import CutterEnded, CutterProcess
from kernel.indexing.cutting import Cut, PackedCuts, cuts_of, packed_cuts, unpacked_cuts

logger = logging.getLogger(__name__)

# More would wait for the one thread that writes what they cut.
MOST_CUTTERS = 3
# As many characters as take a tenth of a second to cut: the first batch.
ALONE_CHARACTERS = 300_000
# How often a wait looks at the cancel token.
LOOK_SECONDS = 0.05
# No grammar has this name: the file is cut by its lines.
PLAIN = "text"

_spare: list[CutterProcess] = []
_spare_door = threading.Lock()


def cutters_for(performance: Performance) -> int:
    """How many processes may cut: half of the cores that may be used, the rest embeds and writes.

    None on one core, where a second process would only wait for the first.
    """
    cores = performance.max_threads or os.cpu_count() or 1
    return min(MOST_CUTTERS, cores // 2)


@dataclass(frozen=True, slots=True)
class Help:
    """How many processes may help; unless ``start``, only those that an earlier list has left."""

    count: int
    start: bool = True


class Cutters:
    """Some processes at work for one thread; with none of them alive it still cuts, by itself.

    New processes are started only after some work was done here: their start would otherwise delay
    the first words that can be found.
    """

    def __init__(self, help_wanted: Help, lengths: Sequence[int]) -> None:
        self.processes = _spare_ones(help_wanted.count)
        self._count = help_wanted.count if help_wanted.start else 0
        self._alone = 0
        self._lengths = tuple(lengths)
        self._cut: dict[int, PackedCuts] = {}
        self._texts: dict[int, tuple[str, str]] = {}

    def give(self, number: int, text: str, language: str) -> bool:
        """Have a text cut under this number; false if nobody has room for it now."""
        free = [process for process in self.processes if process.has_room]
        if not free:
            return False
        process = min(free, key=lambda one: len(one.given))
        self._texts[number] = (text, language)
        try:
            process.give(number, text, language, self._lengths)
        except CutterEnded as end:
            self._bury(process, end)
        return True

    def cut_here(self, text: str, language: str) -> dict[int, Cut]:
        """The chunks of a text that nobody had room for."""
        self._alone += len(text)
        if self._count > len(self.processes) and self._alone >= ALONE_CHARACTERS:
            self.start()
        return cuts_of(text, language, self._lengths)

    def start(self) -> None:
        """Have as many processes as were asked for; once, for what dies is not replaced."""
        missing, self._count = self._count - len(self.processes), 0
        try:
            for _ in range(missing):
                self.processes.append(CutterProcess())
        except OSError as error:
            logger.warning("files are cut by one process, for no other can be started: %s", error)

    def is_cut(self, number: int) -> bool:
        """Whether nothing has to be waited for: the text is cut, or was never given."""
        if number in self._texts and number not in self._cut:
            self._hear(number, 0)
        return number not in self._texts or number in self._cut

    def take(self, number: int, cancel: CancelToken) -> dict[int, Cut]:
        """The chunks of a text that was given; raises Cancelled."""
        while number not in self._cut:
            if cancel.cancelled:
                raise Cancelled("indexing was stopped")
            self._hear(number, LOOK_SECONDS)
        del self._texts[number]
        return unpacked_cuts(self._cut.pop(number), self._lengths)

    def _hear(self, number: int, timeout_seconds: float) -> None:
        """Take the next answer of whoever has this number; what nobody has any more is cut here."""
        for process in self.processes:
            if number in process.given:
                try:
                    answer = process.take(timeout_seconds)
                except CutterEnded as end:
                    self._bury(process, end)
                else:
                    if answer:
                        self._cut[answer[0]] = answer[1]
                return
        text, language = self._texts[number]
        self._cut[number] = packed_cuts(text, language, self._lengths)

    def _bury(self, process: CutterProcess, end: CutterEnded) -> None:
        """Go on without a process; what it was cutting is not tried in ours."""
        self.processes.remove(process)
        process.kill()
        if end.suspect is None:
            return
        text, language = self._texts[end.suspect]
        logger.warning("a process that cut a file of %s characters ended; once more", len(text))
        self._cut[end.suspect] = _second_opinion(text, language, self._lengths)


@contextmanager
def cutters(help_wanted: Help, lengths: Sequence[int]) -> Iterator[Cutters]:
    """Processes for as long as the block lasts: those that are spare, and new ones."""
    team = Cutters(help_wanted, lengths)
    try:
        yield team
    finally:
        idle = [process for process in team.processes if not process.given]
        for process in team.processes:
            if process not in idle:  # stopped in the middle of something
                process.kill()
        with _spare_door:
            _spare.extend(idle)


@atexit.register
def _end_spare() -> None:
    while _spare:
        _spare.pop().kill()


def _spare_ones(count: int) -> list[CutterProcess]:
    with _spare_door:
        alive = [process for process in _spare if process.alive]
        ended = [process for process in _spare if process not in alive]
        _spare[:] = alive[count:]
    for process in ended:
        process.kill()
    return alive[:count]


def _second_opinion(text: str, language: str, lengths: tuple[int, ...]) -> PackedCuts:
    """Cut a text on which a process died: in a new one, and if that dies too, by its lines."""
    try:
        process = CutterProcess()
    except OSError:
        return packed_cuts(text, PLAIN, lengths)
    try:
        process.give(0, text, language, lengths)
        while (answer := process.take(LOOK_SECONDS)) is None:
            continue
    except CutterEnded:
        logger.warning("the parser cannot bear a file in %s; it is cut by its lines", language)
        return packed_cuts(text, PLAIN, lengths)
    finally:
        process.kill()
    return answer[1]
