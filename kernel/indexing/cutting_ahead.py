"""Cuts a list of files in their order while other processes are already at the next ones."""

from collections import deque
from collections.abc import Generator, Iterable, Sequence

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.indexing.cutters import Cutters, Help, cutters
from kernel.indexing.cutting import UncutFile, indexed_file
from kernel.indexing.outcomes import Outcome

# Behind a large file that is still being cut, so many that are done may wait for their turn.
MOST_WAITING = 64


def cut_ahead(
    files: Iterable[UncutFile | Outcome],
    lengths: Sequence[int],
    help_wanted: Help,
    cancel: CancelToken,
) -> Generator[Outcome]:
    """What becomes of each file, in their order, with the help of other processes.

    Ends early when cancelled. What the processes have no room for is cut here meanwhile.
    """
    waiting: deque[tuple[int, UncutFile | Outcome]] = deque()
    with cutters(help_wanted, lengths) as team:
        try:
            for number, file in enumerate(files):
                while len(waiting) >= MOST_WAITING or (waiting and team.is_cut(waiting[0][0])):
                    yield _finished(*waiting.popleft(), team, cancel)
                given = not isinstance(file, UncutFile) or team.give(
                    number, file.source.text, file.language
                )
                waiting.append((number, file if given else _cut_here(file, team)))
            while waiting:
                yield _finished(*waiting.popleft(), team, cancel)
        except Cancelled:
            return


def _cut_here(file: UncutFile | Outcome, team: Cutters) -> Outcome:
    if not isinstance(file, UncutFile):
        return file
    return indexed_file(file, team.cut_here(file.source.text, file.language))


def _finished(
    number: int, file: UncutFile | Outcome, team: Cutters, cancel: CancelToken
) -> Outcome:
    if not isinstance(file, UncutFile):
        return file
    return indexed_file(file, team.take(number, cancel))
