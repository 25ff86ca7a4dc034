"""Files that are searched elsewhere as long as they are as they are there: they are not indexed."""

from typing import Protocol, TypeVar

from codekernel.domain.index import IndexedFile, SkippedFileRecord, SkipReason

Outcome = TypeVar("Outcome")


class FilesElsewhere(Protocol):
    """Digests of files, asked for on the index thread."""

    @property
    def notice(self) -> str:
        """Return what there is to say of it to a person."""

    @property
    def is_open(self) -> bool:
        """Return whether there are such files."""

    @property
    def is_away(self) -> bool:
        """Return whether it cannot be said now which files these are: what was known stays."""

    def open(self) -> None:
        """Find out which files these are; it may take some seconds."""

    def find_digest(self, path: str) -> bytes | None:
        """Return the digest of a file there; None if there is none."""


class NothingElsewhere:
    """Everything is indexed here."""

    notice = ""
    is_open = is_away = False

    def open(self) -> None:
        """There is nothing to find out."""

    def find_digest(self, _path: str) -> bytes | None:
        """Return None."""
        return None


NOTHING_ELSEWHERE = NothingElsewhere()


def set_aside(outcome: Outcome, elsewhere: FilesElsewhere) -> Outcome | SkippedFileRecord:
    """Return a file that is elsewhere as one that is not indexed here."""
    if not isinstance(outcome, IndexedFile):
        return outcome
    if outcome.digest != elsewhere.find_digest(outcome.path):
        return outcome
    place = (outcome.path, SkipReason.IN_BASE, outcome.digest.hex())
    return SkippedFileRecord(*place, outcome.size, outcome.mtime_ns)
