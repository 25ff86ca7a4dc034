"""Cuts a list of files in their order while other processes are already at the next ones."""

from collections import deque
from collections.abc import Generator, Iterable, Sequence

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.indexing.cutters import Cutters, cutters
from kernel.indexing.cutting import UncutFile, cuts_of, indexed_file
from kernel.indexing.outcomes import Outcome


def cut_ahead(
    files: Iterable[UncutFile | Outcome], lengths: Sequence[int], count: int, cancel: CancelToken
) -> Generator[Outcome]:
    """What becomes of each file, in their order, with the help of ``count`` processes.

    Ends early when cancelled. Until the processes are ready, and without any, files are cut here.
    """
    waiting: deque[tuple[int, UncutFile | Outcome]] = deque()
    with cutters(count, lengths) as team:
        try:
            for number, file in enumerate(files):
                if isinstance(file, UncutFile):
                    while not team.give(number, file.source.text, file.language) and waiting:
                        yield _finished(*waiting.popleft(), team, lengths, cancel)
                waiting.append((number, file))
                if not team.knows(waiting[0][0]):
                    yield _finished(*waiting.popleft(), team, lengths, cancel)
            while waiting:
                yield _finished(*waiting.popleft(), team, lengths, cancel)
        except Cancelled:
            return


def _finished(
    number: int,
    file: UncutFile | Outcome,
    team: Cutters,
    lengths: Sequence[int],
    cancel: CancelToken,
) -> Outcome:
    if not isinstance(file, UncutFile):
        return file
    if team.knows(number):
        return indexed_file(file, team.take(number, cancel))
    return indexed_file(file, cuts_of(file.source.text, file.language, lengths))
