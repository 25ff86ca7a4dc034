"""The call graph of one index.

Refresh the facts, find the subjects of a question and build their call chains breadth-first;
LiveCallGraph follows the index store across rebuilds.
"""

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from codekernel.callgraph.call_edges import CallEdge, CallEdgeFinder, CallEdges
from codekernel.callgraph.fact_cache import FactCache
from codekernel.callgraph.fact_indexer import DEFAULT_LIMITS, FactIndexer, FactIndexerLimits
from codekernel.callgraph.symbol_table import Certainty, SymbolTable
from codekernel.domain.call_graph import (
    NO_CHAIN_STEPS,
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallChainStep,
    CallChainSteps,
    CallDirection,
    DefinitionCallChain,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.storage.catalog.call_database import (
    CALLS_FILE,
    quarantine_calls_if_damaged,
    write_calls_checksums,
)
from codekernel.storage.catalog.call_store import CallReader, CallWriter, LocatedDefinition
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.engines import CatalogDamaged
from codekernel.storage.index_store import IndexStore

# Of one question, in both directions.
MAX_STEPS = 400

# Names of third-party callees that are shown.
MAX_UNRESOLVED_NAMES = 20

_MAX_STEP_SOURCE_CHARS = 500

_MAX_SUBJECT_SOURCE_CHARS = 4_000

SourceReader = Callable[[int, int, int], str]

EdgeLookup = Callable[[LocatedDefinition], CallEdges]

DefinitionKey = tuple[int, int]

# By definition: the edges that are shown, and what is said about the others.
ChildEdges = dict[DefinitionKey, tuple[list[CallEdge], CallChainSteps]]


class CallChainBuilder:
    """Builds the call chains of one question."""

    def __init__(
        self, calls: CallEdgeFinder, question: CallChainQuery, source: SourceReader
    ) -> None:
        self._calls = calls
        self._question = question
        self._source = source
        self._steps_left = MAX_STEPS

    def build(self, subject: LocatedDefinition) -> DefinitionCallChain:
        """Return the call chains of one definition."""
        query, depth = self._question, self._question.depth
        callers = callees = None
        if query.direction != CallDirection.CALLEES:
            callers = self._walk(subject, self._calls.find_callers, query.most_callers, depth)
        if query.direction != CallDirection.CALLERS:
            callees = self._walk(subject, self._calls.find_callees, query.most_callees, depth)
        return DefinitionCallChain(
            self._build_place(subject, _MAX_SUBJECT_SOURCE_CHARS), callers, callees
        )

    def _walk(
        self, subject: LocatedDefinition, neighbours: EdgeLookup, most: int, depth: int
    ) -> CallChainSteps:
        """Collect edges breadth first, so that near steps survive the limit."""
        children: ChildEdges = {}
        seen, layer = {subject.key}, [subject]
        for _ in range(depth):
            following: list[LocatedDefinition] = []
            for one in layer:
                edges, about = self._limit(neighbours(one), most)
                children[one.key] = (edges, about)
                for edge in edges:
                    certain = edge.certainty > Certainty.POSSIBLE
                    if edge.symbol and certain and edge.key not in seen:
                        seen.add(edge.key)
                        following.append(edge.symbol)
            layer = following
        return self._build_tree(subject.key, children, set())

    def _limit(self, edges: CallEdges, most: int) -> tuple[list[CallEdge], CallChainSteps]:
        shown = edges.edges[: min(most, self._steps_left)]
        self._steps_left -= len(shown)
        outside = tuple(edges.unresolved_names[:MAX_UNRESOLVED_NAMES])
        return shown, CallChainSteps(
            (), len(edges.edges) - len(shown), edges.unread_file_count, outside
        )

    def _build_tree(
        self, key: DefinitionKey, children: ChildEdges, shown: set[DefinitionKey]
    ) -> CallChainSteps:
        if key not in children:
            return NO_CHAIN_STEPS
        shown.add(key)
        edges, about = children[key]
        steps = []
        for edge in edges:
            again = edge.key in shown
            following = NO_CHAIN_STEPS if again else self._build_tree(edge.key, children, shown)
            lines = tuple(sorted({line + 1 for line in edge.lines}))
            place = CallChainNode(edge.path, "file", edge.path, lines[0], lines[-1])
            if edge.symbol:
                place = self._build_place(edge.symbol, _MAX_STEP_SOURCE_CHARS)
            certainty = edge.certainty.name.lower()
            steps.append(CallChainStep(place, certainty, lines, following, again))
        return replace(about, steps=tuple(steps))

    def _build_place(self, one: LocatedDefinition, most: int) -> CallChainNode:
        source = ""
        if self._question.with_source:
            source = self._source(one.file, one.first_line, one.last_line)
            source = source if len(source) <= most else f"{source[:most]}\n..."
        return CallChainNode(
            one.qualified_name, one.kind, one.path, one.first_line + 1, one.last_line + 1, source
        )


# Same-named definitions that are shown.
MAX_SUBJECTS = 8

# Share of the time that may go into indexing; the rest is for the answer.
INDEXING_TIME_SHARE = 0.8

_SEPARATORS = re.compile(r"::|->|#|/|\\|\.")


class CallGraph:
    """The call graph of one index; any thread may ask, one at a time is answered."""

    def __init__(
        self, folder: Path, catalog: Catalog, limits: FactIndexerLimits = DEFAULT_LIMITS
    ) -> None:
        self._path = folder / CALLS_FILE
        quarantine_calls_if_damaged(self._path)
        CallWriter(self._path).close()  # creates the file for the reader
        self._catalog = catalog
        self._reader = CallReader(self._path, catalog.path)
        self._indexer = FactIndexer(folder, catalog, self._reader, limits)
        self.cache = FactCache(self._reader)
        self._lock = threading.Lock()

    def ask(self, question: CallChainQuery, cancel: CancelToken, seconds: float) -> CallChainResult:
        """Answer within so many seconds, from the facts indexed by then."""
        with self._lock:
            behind = self._indexer.refresh(cancel, seconds * INDEXING_TIME_SHARE)
            self.cache.evict_if_changed()
            with self._reader.begin_snapshot():
                return self._build_answer(question, cancel, behind)

    def close(self) -> None:
        """Kill the workers and close the connections."""
        with self._lock:
            self._reader.close()
            self._indexer.close()
            write_calls_checksums(self._path)

    def _build_answer(
        self, question: CallChainQuery, cancel: CancelToken, behind: int
    ) -> CallChainResult:
        words = (name.strip("() ") for name in _SEPARATORS.split(question.method.strip()))
        names = [name for name in words if name]
        if not names:
            return CallChainResult(question, (), behind=behind)
        subjects = self._find_subjects(names)
        if question.path:
            subjects = [one for one in subjects if one.path == question.path]
        if not subjects:
            calling = len(self._reader.find_calling_files(names[-1]))
            return CallChainResult(question, (), behind=behind, calling_files=calling)
        chains = CallChainBuilder(CallEdgeFinder(self.cache, cancel), question, self._read_source)
        shown = tuple(chains.build(one) for one in subjects[:MAX_SUBJECTS])
        return CallChainResult(question, shown, max(0, len(subjects) - MAX_SUBJECTS), behind)

    def _find_subjects(self, names: list[str]) -> list[LocatedDefinition]:
        """Return the definitions with these names around them, or in a file so named."""
        *around, name = names
        same = [one for one in self.cache.find_definitions(name) if one.kind != "impl"]
        if not around:
            return _sort_by_location(same)
        owners = f".{'.'.join(around)}"
        of_class = self._reader.find_definitions(name, around[-1])
        exact = [one for one in of_class if f".{one.owner}".endswith(owners) and one.kind != "impl"]
        inherited = {
            found.symbol.key: found.symbol
            for one in (() if exact else self.cache.find_definitions(around[-1]))
            if one.is_class
            for found in SymbolTable(self.cache).find_members(one, name)
        }
        in_context = (one for one in same if set(around) <= _collect_context_words(one))
        return _sort_by_location(exact or inherited.values() or in_context)

    def _read_source(self, file: int, first: int, last: int) -> str:
        lines = self._catalog.read_document(file).split("\n")
        return "\n".join(lines[first : last + 1])


def _collect_context_words(placed: LocatedDefinition) -> set[str]:
    return {*placed.path.rpartition(".")[0].split("/"), *placed.owner.split(".")}


def _sort_by_location(found: Iterable[LocatedDefinition]) -> list[LocatedDefinition]:
    return sorted(found, key=lambda one: (one.path, one.first_line))


class LiveCallGraph:
    """Opens the graph of the current index store at the first question."""

    def __init__(self, store: Callable[[], IndexStore]) -> None:
        self._store = store
        self._current: tuple[IndexStore, CallGraph] | None = None
        self._lock = threading.Lock()

    def ask(self, question: CallChainQuery, cancel: CancelToken, seconds: float) -> CallChainResult:
        """Answer from the current store; a damaged graph is quarantined and rebuilt."""
        try:
            return self._open_graph().ask(question, cancel, seconds)
        except CatalogDamaged:
            self.close()
            return self._open_graph().ask(question, cancel, seconds)

    def close(self) -> None:
        """Close the graph; the next question opens it again."""
        with self._lock:
            if self._current:
                self._current[1].close()
            self._current = None

    def _open_graph(self) -> CallGraph:
        store = self._store()
        with self._lock:
            if self._current and self._current[0] is not store:
                self._current[1].close()
                self._current = None
            if self._current is None:
                self._current = store, CallGraph(store.folder, store.catalog)
            return self._current[1]
