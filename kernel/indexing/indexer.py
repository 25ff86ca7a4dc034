"""Brings catalogue and words in line with the files; the only writer of both, on one thread."""

import logging
import os
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from kernel.domain.courtesy import Pace
from kernel.domain.indexed import IndexedFile, KnownFile, Refused
from kernel.domain.languages import language_of
from kernel.domain.settings import Performance
from kernel.domain.source import FoundFile, LeftOut
from kernel.errors import Cancelled, StorageError
from kernel.indexing.cutters import Help, cutters_for
from kernel.indexing.cutting import UncutFile, cuts_of, now_ns, trusted_mtime
from kernel.indexing.cutting_ahead import cut_ahead
from kernel.indexing.outcomes import (
    FILES_IN_A_HURRY,
    Gone,
    Outcome,
    Touched,
    documents,
    write,
)
from kernel.storage.index_store import IndexStore
from kernel.walking.reading import read
from kernel.walking.walk import Walk

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

# A batch ends when it holds so much text, which bounds the memory, or when it has taken so long:
# shortly at first, so that the first words are found at once, then seldom, because a commit costs
# the same whatever it holds.
BATCH_CHARACTERS = 4_000_000
FIRST_BATCH_SECONDS = 0.1
# A walk that takes longer names the new files it has found so far.
FIRST_NAMED_SECONDS = 0.5
LONGEST_BATCH_SECONDS = 4.0
# Files of a walk that are compared in a millisecond or two.
FILES_BETWEEN_COURTESIES = 64
# For work that is not read from the disk: some megabytes of text at the most.
FILES_PER_BATCH = 256
# A process that cuts is ready after a tenth of a second or two, in which as much is cut without it.
BYTES_WORTH_A_PROCESS = 1_000_000


class RootGone(StorageError):
    """The repository's folder is not there now; nothing is deleted on that account."""


class IndexListener(Protocol):
    """Who is told what the indexer does."""

    def began(self, paths: Iterable[str]) -> None:
        """These files have changed and are about to be indexed."""

    def indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Words of these files can be found; their texts may need vectors."""

    def ended(self, path: str) -> None:
        """Nothing is left to do for this file: it is gone or refused."""

    def between_batches(self) -> None:
        """A moment at which something more urgent may be done."""


class Indexer:
    """One repository's files on their way into the index."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        listener: IndexListener,
        pace: Pace,
    ) -> None:
        self.walk = Walk(root)
        self.input_lengths: tuple[int, ...] = ()
        self.cutters = cutters_for(Performance())
        self.folders_differ = False
        self._root = root
        self._store = store
        self._writer = store.writing
        self._listener = listener
        self._cancel = pace.cancel
        self._pace = pace
        self._signatures = store.signatures()

    def recover(self) -> None:
        """Write again the words of files that a crash caught between the two indexes."""
        pending = self._writer.pending()
        if pending:
            logger.info("indexing the words of %d files again", len(pending))
        for paths in _portions(pending, FILES_PER_BATCH):
            if self._cancel.cancelled:
                return
            self._write_words(paths)

    def sweep(self) -> None:
        """Compare every file with the catalogue and index what differs.

        ``folders_differ`` afterwards says whether other folders are left out than before.
        """
        self._must_be_there()
        known, refused = self._store.catalogue.files(), self._store.catalogue.refused()
        outcomes: list[Outcome] = []
        changed: list[FoundFile] = []
        named, name_at = 0, time.monotonic() + FIRST_NAMED_SECONDS
        for item in self._paced(self._found()):
            if isinstance(item, LeftOut):
                before = refused.pop(item.path, None)
                if before is None or (before.reason, before.detail) != (item.reason, item.detail):
                    outcomes.append(_refused(item))
            elif not _same(item, known.pop(item.path, None), refused.pop(item.path, None)):
                changed.append(item)
                if time.monotonic() >= name_at:  # a long walk must not look like none
                    self._name_new(changed[named:])
                    named, name_at = len(changed), time.monotonic() + FIRST_NAMED_SECONDS
        if self._cancel.cancelled:
            return
        self._must_be_there()
        # First, for a file that was indexed and is left out now is among both.
        outcomes = [*(Gone(path) for path in (*known, *refused)), *outcomes]
        self.folders_differ = any(outcome.path.endswith("/") for outcome in outcomes)
        changed.sort(key=lambda found: -found.mtime_ns)  # what someone works on is searched first
        self._listener.began(known)
        self._commit(outcomes)
        self._index(changed)

    def _name_new(self, found: Sequence[FoundFile]) -> None:
        """Say that new files will be indexed; those that seem changed are not read yet."""
        known = self._store.catalogue.files_at([each.path for each in found])
        self._listener.began(each.path for each in found if each.path not in known)

    def look_at(self, paths: Iterable[str]) -> None:
        """Index what has changed at these paths, files or folders."""
        self._must_be_there()
        outcomes: list[Outcome] = []
        changed: list[FoundFile] = []
        for path in sorted(paths):
            self._look_at(path, outcomes, changed)
        self._listener.began(item.path for item in outcomes if isinstance(item, Gone))
        self._commit(outcomes)
        self._index(changed)

    def recut(self) -> None:
        """Cut the files again for input lengths that are new."""
        for length in self.input_lengths:
            for files in _portions(self._store.catalogue.files_without(length), FILES_PER_BATCH):
                if self._cancel.cancelled:
                    return
                self._cut_again(files, length)
                self._listener.between_batches()

    def drop_cuts(self, *, besides: Collection[int]) -> None:
        """Forget the cuts that nobody wants; ``besides`` are those that are still searched."""
        for length in self._store.catalogue.input_lengths():
            if self._cancel.cancelled:
                return
            if length not in self.input_lengths and length not in besides:
                self._drop_cut(length)

    def tidy(self) -> None:
        """Give back the disk that commits have left behind; what is new is its owner's alone."""
        self._writer.tidy()
        self._store.lexical.compact()
        self._store.close_to_others()
        self._signatures = self._store.signatures()

    def verify(self, *, always: bool) -> None:
        """Compare the index with its checksums; if not ``always``, only if its files have changed.

        Called while nothing is being written. Raises CatalogueDamaged or IndexUnreadable.
        """
        signatures = self._store.signatures()
        if always or signatures != self._signatures:
            with suppress(Cancelled):
                self._store.verify(self._let_pass)
                self._signatures = signatures

    def _look_at(self, path: str, outcomes: list[Outcome], changed: list[FoundFile]) -> None:
        """Sort out what stands at a path now: a file, a folder, something left out, or nothing."""
        catalogue = self._store.catalogue
        below = catalogue.files_under(path)
        found = list(self._paced(self.walk.under(path, self._cancel)))
        known = catalogue.file(path) or catalogue.refusal(path)
        if known and not any(each.path == path for each in found):
            outcomes.append(Gone(path))
        for each in found:
            if isinstance(each, LeftOut):
                outcomes.append(_refused(each))
            elif not _same(each, catalogue.file(each.path), catalogue.refusal(each.path)):
                changed.append(each)
            below.pop(each.path, None)
        outcomes += [Gone(gone) for gone in below]

    def _index(self, changed: Sequence[FoundFile]) -> None:
        """Read, cut and write files; a known one counts as changed only if its content did."""
        known = self._store.catalogue.files_at([found.path for found in changed])
        self._listener.began(found.path for found in changed if found.path not in known)
        batch: list[Outcome] = []
        size, patience = 0, FIRST_BATCH_SECONDS
        deadline = time.monotonic() + patience
        with closing(self._outcomes(changed)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, IndexedFile):
                    self._listener.began([outcome.path])
                    size += len(outcome.text)
                batch.append(outcome)
                if size >= BATCH_CHARACTERS or time.monotonic() >= deadline:
                    self._commit(batch)
                    patience = min(2 * patience, LONGEST_BATCH_SECONDS)
                    batch, size = [], 0
                    self._listener.between_batches()
                    deadline = time.monotonic() + patience
        self._commit(batch)

    def _outcomes(self, changed: Sequence[FoundFile]) -> Generator[Outcome]:
        """What becomes of each file, in their order; ends early when cancelled."""
        count = self.cutters if len(changed) > FILES_IN_A_HURRY else 0
        size = sum(found.size for found in changed)
        help_wanted = Help(count, start=size >= BYTES_WORTH_A_PROCESS)
        files = self._looked_at_all(changed)
        return cut_ahead(files, self.input_lengths, help_wanted, self._cancel)

    def _looked_at_all(self, changed: Sequence[FoundFile]) -> Iterator[UncutFile | Outcome]:
        for found in changed:
            self._pace.between_steps(in_a_hurry=len(changed) <= FILES_IN_A_HURRY)
            if self._cancel.cancelled:
                return
            yield self._looked_at(found)

    def _looked_at(self, found: FoundFile) -> UncutFile | Outcome:
        read_at_ns = now_ns()
        source = read(self._root, found)
        if isinstance(source, LeftOut):
            return Refused(found.path, source.reason, source.detail, found.size, found.mtime_ns)
        known = self._store.catalogue.file(found.path)
        if known and known.digest == source.digest:
            return Touched(found.path, source.size, trusted_mtime(source.mtime_ns, read_at_ns))
        return UncutFile(found, source, read_at_ns)

    def _commit(self, outcomes: Sequence[Outcome]) -> None:
        if not outcomes or self._cancel.cancelled:
            return
        files = write(outcomes, self._store, self._pace)
        for outcome in outcomes:
            if isinstance(outcome, Refused | Gone):
                self._listener.ended(outcome.path)
        self._listener.indexed(files)

    def _write_words(self, paths: Sequence[str]) -> None:
        """Give the lexical index what the catalogue has of these files, which are pending."""
        catalogue = self._store.catalogue
        for path in paths:
            self._pace.between_steps()
            known = catalogue.file(path)
            chunks = catalogue.chunks_of(known.id) if known else []
            text = catalogue.document(known.id) if known else ""
            with_ids = [(chunk.id, chunk.chunk) for chunk in chunks]
            self._store.lexical.replace(path, documents(path, text, with_ids))
        stamp = self._store.lexical.commit()
        with self._writer.batch() as batch:
            batch.note_lexical_stamp(stamp)
            batch.no_longer_pending(paths)

    def _cut_again(self, file_ids: Sequence[int], length: int) -> None:
        """Cut some files for one more length, from the texts as read, not from the disk."""
        catalogue = self._store.catalogue
        paths = {file_id: catalogue.path_of(file_id) for file_id in file_ids}
        files = [(file_id, path) for file_id, path in paths.items() if path is not None]
        self._listener.began(path for _, path in files)
        with self._writer.batch() as batch:
            batch.expect([path for _, path in files])
            for file_id, path in files:
                self._pace.between_steps()
                text = catalogue.document(file_id)
                batch.put_cut(file_id, length, cuts_of(text, language_of(path), [length])[length])
        self._write_words([path for _, path in files])
        self._listener.indexed(files)

    def _drop_cut(self, length: int) -> None:
        with self._writer.batch() as batch:
            batch.drop_cut(length)
            batch.expect_all()
        self.recover()

    def _paced(self, found: Iterable[FoundFile | LeftOut]) -> Iterator[FoundFile | LeftOut]:
        for number, item in enumerate(found):
            if number % FILES_BETWEEN_COURTESIES == 0:
                self._pace.between_steps()
            yield item

    def _found(self) -> Iterator[FoundFile | LeftOut]:
        try:
            yield from self.walk.files(self._cancel)
        except OSError as error:  # only the root's own: everything else is left out
            raise self._gone() from error

    def _let_pass(self) -> None:
        if self._cancel.cancelled:
            raise Cancelled("the index is being closed")
        self._pace.courtesy.let_pass()

    def _must_be_there(self) -> None:
        """Refuse to go on without the folder, or with the empty one an unmounted disk leaves."""
        try:
            with os.scandir(self._root) as entries:
                empty = next(entries, None) is None
        except OSError as error:
            raise self._gone() from error
        if empty and self._store.catalogue.counts()[0]:
            raise self._gone()

    def _gone(self) -> RootGone:
        return RootGone(
            f"the folder {self._root} is gone or empty; its index is kept, and brought up to date "
            "when the folder is back"
        )


def _same(found: FoundFile, known: KnownFile | None, refused: Refused | None) -> bool:
    """Whether a file is as it was when it was last looked at."""
    before = known or refused
    return before is not None and (before.size, before.mtime_ns) == (found.size, found.mtime_ns)


def _refused(left_out: LeftOut) -> Refused:
    return Refused(left_out.path, left_out.reason, left_out.detail, 0, 0)


def _portions(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
