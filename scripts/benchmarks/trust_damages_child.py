"""A process that keeps indexes for ``trust_damages.py``: opened, settled, searched and closed.

It reads commands as lines of JSON and answers each with one. Whatever kills it is a failure that
the campaign counts.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from codekernel.domain.index import Hit, Signal
from codekernel.domain.settings import Performance
from codekernel.errors import KernelError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan, IndexTimings
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.search.pipeline import Searcher
from codekernel.storage.index_store import VECTORS_FOLDER
from codekernel.storage.vectors import SNAPSHOT_SUFFIX

INPUT_LENGTH = 600
HITS = 10
SETTLE_SECONDS = 60.0
LOOK_SECONDS = 0.01
# No question is asked right after an index is opened here.
TIMINGS = IndexTimings(index_start_delay=0.0, embed_start_delay=0.0)


class Child:
    """One index at a time, and the model of all of them."""

    def __init__(self) -> None:
        self._shelf = ModelPool()
        # Held for as long as the process lives, so that it is loaded once.
        self._model = self._shelf.acquire_embedder(
            get_bundled_folder() / STATIC_MODEL, Performance()
        )
        self._model.__enter__()
        self._plan = IndexPlan(
            (ConfigPlan("static", get_bundled_folder() / STATIC_MODEL, INPUT_LENGTH),)
        )
        self._root = Path()
        self._index: RepositoryIndex | None = None
        self._crashes: list[str] = []

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what a command says."""
        deed = getattr(self, command.pop("do"))
        found: dict[str, Any] = deed(**command)
        return found

    def open(self, root: str, folder: str) -> dict[str, Any]:
        """Open an index; a search that comes at once may find little, but does not fail."""
        self._root = Path(root)
        self._crashes = []
        self._index = RepositoryIndex(
            self._root, Path(folder), lambda: self._shelf, timings=TIMINGS
        )
        self._index.subscribe(lambda *_: None, lambda error: self._crashes.append(repr(error)))
        self._index.start(self._plan)
        return {}

    def settle(self) -> dict[str, Any]:
        """Wait until the index agrees with the files."""
        deadline = time.monotonic() + SETTLE_SECONDS
        troubles: set[str] = set()
        while time.monotonic() < deadline and not self._crashes:
            troubles.add(self._opened().get_status().trouble)
            if self._opened().is_idle:
                break
            time.sleep(LOOK_SECONDS)
        status = self._opened().get_status()
        return {
            "state": status.state,
            "chunks": status.chunks,
            "vectors": [config.chunks for config in status.configs],
            "troubles": sorted(troubles - {""}),
            "crashes": self._crashes,
        }

    def tidy(self) -> dict[str, Any]:
        """Wait until the index is compacted and its vectors have a snapshot."""
        store, deadline = self._opened().store, time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            if [*(store.folder / VECTORS_FOLDER).glob(f"*{SNAPSHOT_SUFFIX}")]:
                return {}
            time.sleep(LOOK_SECONDS)
        raise AssertionError("the vectors have no snapshot")

    def verify(self) -> dict[str, Any]:
        """Have the index compared with its checksums, as it is after an unexpected error."""
        index = self._opened()
        index.recover_from(RuntimeError("a search failed"), index.store)
        return {}

    def search(self, queries: list[str]) -> dict[str, Any]:
        """The hits of each query, or what it failed with."""
        searcher = Searcher(
            self._root, self._opened(), throttle=self._opened().throttle,
            recover=self._opened().recover_from,
        )  # fmt: skip
        found: list[Any] = []
        for query in queries:
            try:
                hits = searcher.search(query, HITS)
            except Exception as error:  # noqa: BLE001 - counted by the campaign
                expected = isinstance(error, KernelError)
                found.append(f"{'' if expected else 'UNEXPECTED '}{type(error).__name__}: {error}")
            else:
                found.append([_describe_hit(hit) for hit in hits])
        return {"found": found}

    def close(self) -> dict[str, Any]:
        """Close the index."""
        if self._index:
            self._index.close()
        self._index = None
        return {}

    def _opened(self) -> RepositoryIndex:
        if self._index is None:
            raise AssertionError("no index is open")
        return self._index


def _describe_hit(hit: Hit) -> list[Any]:
    """Path, place, score, and what of the score is the chunk's own."""
    own = [hit.signals.get(each, 0.0) for each in (Signal.LEXICAL, Signal.SEMANTIC)]
    return [hit.chunk.path, hit.chunk.begin, *(round(each, 5) for each in (hit.score, *own))]


def main() -> None:
    """Answer commands until stdin ends."""
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    child = Child()
    for line in sys.stdin:
        try:
            answer = child.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - counted by the campaign
            answer = {"error": f"{type(error).__name__}: {error}"}
        said.write(f"{json.dumps(answer)}\n")
        said.flush()


if __name__ == "__main__":
    main()
