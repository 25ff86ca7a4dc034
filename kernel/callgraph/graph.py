"""The call graph of one index: brought up to date, then asked."""

import re
import threading
from pathlib import Path

from kernel.callgraph.chains import Chains
from kernel.callgraph.edges import Calls
from kernel.callgraph.filling import Filling
from kernel.callgraph.memory import Memory
from kernel.callgraph.symbols import Symbols
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.call_facts import CLASS_KINDS
from kernel.domain.cancel import CancelToken
from kernel.storage.call_reader import CallReader, Placed
from kernel.storage.call_schema import CALLS_FILE
from kernel.storage.call_verification import ensure_whole, note_checksums
from kernel.storage.call_writer import CallWriter
from kernel.storage.catalogue import Catalogue

# Same-named definitions that are shown; with the name of their class there are fewer.
MOST_SUBJECTS = 8
# Of the time there is, so much may go into reading files; the rest is for the answer.
READING_SHARE = 0.8
_SEPARATORS = re.compile(r"::|->|#|/|\\|\.")


class CallGraph:
    """Opened with an index, or later; any thread may ask, one at a time is answered."""

    def __init__(self, folder: Path, catalogue: Catalogue) -> None:
        self._path = folder / CALLS_FILE
        ensure_whole(self._path)
        CallWriter(self._path).close()  # that there is something to read
        self._catalogue = catalogue
        self._reader = CallReader(folder / CALLS_FILE, catalogue.path)
        self._filling = Filling(folder, catalogue, self._reader)
        self.memory = Memory(self._reader)
        self._door = threading.Lock()

    def ask(self, question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        """Answer within so many seconds, from what has been read by then."""
        with self._door:
            behind = self._filling.catch_up(cancel, seconds * READING_SHARE)
            self.memory.refresh()
            with self._reader.moment():
                return self._answer(question, cancel, behind)

    def behind(self) -> int:
        """How many files are to be read before the next question is answered."""
        with self._door:
            return self._filling.behind()

    def close(self) -> None:
        """End the reading of files and close the connections."""
        with self._door:
            self._reader.close()
            self._filling.close()
            note_checksums(self._path)

    def _answer(self, question: ChainQuestion, cancel: CancelToken, behind: int) -> ChainAnswer:
        names = [name.strip("() ") for name in _SEPARATORS.split(question.method.strip())]
        names = [name for name in names if name]
        if not names:
            return ChainAnswer(question, (), behind=behind)
        subjects = self._subjects(names)
        if not subjects:
            calling = len(self._reader.mentioning(names[-1]))
            return ChainAnswer(question, (), behind=behind, calling_files=calling)
        chains = Chains(Calls(self.memory, cancel), question, self._source)
        shown = tuple(chains.of(one) for one in subjects[:MOST_SUBJECTS])
        return ChainAnswer(question, shown, max(0, len(subjects) - MOST_SUBJECTS), behind)

    def _subjects(self, names: list[str]) -> list[Placed]:
        """The definitions that are meant: with the names around them, or in a file so called."""
        *around, name = names
        same = [one for one in self.memory.named(name) if one.one.kind != "impl"]
        if not around:
            return _in_order(same)
        owners = ".".join(around)
        exact = [
            one for one in self._reader.named(name, around[-1])
            if f".{one.one.owner}".endswith(f".{owners}") and one.one.kind != "impl"
        ]  # fmt: skip
        if exact:
            return _in_order(exact)
        inherited = [
            found.placed
            for one in self.memory.named(around[-1])
            if one.one.kind in CLASS_KINDS
            for found in Symbols(self.memory).members(one, name)
        ]
        if inherited:
            return _in_order({one.key: one for one in inherited}.values())
        words = set(around)
        return _in_order(one for one in same if words <= _words_around(one))

    def _source(self, file: int, first: int, last: int) -> str:
        lines = self._catalogue.document(file).split("\n")
        return "\n".join(lines[first : last + 1])


def _words_around(placed: Placed) -> set[str]:
    return {*placed.path.rpartition(".")[0].split("/"), *placed.one.owner.split(".")}


def _in_order(found: "object") -> list[Placed]:
    return sorted(found, key=lambda one: (one.path, one.one.first))  # type: ignore[call-overload, no-any-return]
