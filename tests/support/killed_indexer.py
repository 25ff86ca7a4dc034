"""One repository whose indexer is killed repeatedly, and what must hold each time."""

import random
from collections import Counter
from pathlib import Path

from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE

from support.index_contents import chunk_numbers, compare
from support.indexer_process import IndexerProcess, RandomEditor, index_until_idle

FILES = 40
LENGTHS = ("150", "600", "150,600")
# After which word, said how often at most, and how many seconds later at most; together they cover
# opening, recovery, the first batches, the model's loading, embedding, and tidying at the end.
MOMENTS = (
    ("begin", 1, 0.15),
    ("open", 1, 0.3),
    ("open", 1, 2.0),
    ("embedding", 12, 0.05),
    ("done", 12, 0.05),
    ("done", 40, 0.1),
    ("settled", 1, 0.4),
    ("compacting", 1, 0.008),
)


class KilledIndexer:
    """One repository, its index, and the files that were said to be done and not touched since."""

    def __init__(self, place: Path, seed: int) -> None:
        self.folder = place / "index"
        self.chance = random.Random(seed)  # noqa: S311  # the same edits each time
        self.editor = RandomEditor(place / "repo", self.chance)
        self.editor.root.mkdir(parents=True)
        self.editor.begin(FILES)
        self.lengths = LENGTHS[0]
        self.acknowledged: set[str] = set()
        self.moments: Counter[str] = Counter()
        self.moments_left: list[tuple[str, int, float]] = []

    def run_until_killed(self) -> None:
        """Edit, start, edit meanwhile, kill; and see that what was done stays done."""
        word, most, seconds = self.choose_moment()
        count = self.chance.randint(1, most)
        # A moment between two files needs as many files to come by, or it is not reached.
        edits = count if word in {"embedding", "done"} else self.chance.randrange(4)
        for _ in range(edits):
            self.acknowledged -= self.editor.edit_something()
        if self.chance.random() < 0.25:
            self.choose_lengths()
        follower = IndexerProcess(self.editor.root, self.folder, self.lengths)
        follower.send("settle")
        reached = follower.wait_for_line(word, count)
        if word == "compacting":  # which it does, if at all, when it has settled
            reached = follower.wait_briefly_for_line(word)
        self.moments[word if reached else "settled"] += 1
        edited: set[str] = set()
        if self.chance.random() < 0.4:
            for _ in range(self.chance.randint(1, 3)):
                edited |= self.editor.edit_something()
        self.acknowledged -= edited
        lengths = self.lengths
        if self.chance.random() < 0.2:
            self.choose_lengths()
            follower.send(self.lengths)
        follower.kill(self.chance.uniform(0, seconds))
        self.assert_nothing_redone(follower)
        if self.lengths == lengths:  # else what was done may have been done for the old ones
            self.acknowledged |= follower.list_reported("done") - edited
        self.assert_nothing_lost()

    def choose_moment(self) -> tuple[str, int, float]:
        """Each in turn, in an order by chance: then few kills meet all of them."""
        if not self.moments_left:
            self.moments_left = self.chance.sample(MOMENTS, len(MOMENTS))
        return self.moments_left.pop()

    def choose_lengths(self) -> None:
        chosen = self.chance.choice(LENGTHS)
        if chosen != self.lengths:
            self.lengths = chosen
            self.acknowledged = set()

    def assert_nothing_redone(self, follower: IndexerProcess) -> None:
        assert not follower.list_reported() & self.acknowledged
        assert [line for line in follower.lines if line[0] == "crash"] == []

    def assert_nothing_lost(self) -> None:
        if not self.acknowledged:
            return
        catalogue = Catalog(self.folder / CATALOG_FILE)
        known = catalogue.list_files()
        catalogue.close()
        for path in self.acknowledged:
            digest = known[path].digest if path in known else None
            assert digest == self.editor.digest(path), path
        assert list(self.folder.glob("*.unreadable")) == []

    def index_until_idle(self, folder: Path) -> IndexerProcess:
        return index_until_idle(self.editor.root, folder, self.lengths)

    def compare_with_clean(self, clean: Path) -> None:
        """What a settled index holds is what one made from nothing holds, and it stays so."""
        self.assert_nothing_redone(self.index_until_idle(self.folder))
        numbers = chunk_numbers(self.folder)
        assert self.index_until_idle(self.folder).list_reported() == set()
        assert chunk_numbers(self.folder) == numbers
        self.index_until_idle(clean)
        compare(self.folder, clean)
        self.acknowledged = set(self.editor.paths())
