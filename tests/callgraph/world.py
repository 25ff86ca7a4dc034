"""A repository in a folder, its index, and its call graph, for as long as a test needs them."""

from pathlib import Path
from typing import Any

from codekernel.callgraph.fact_indexer import DEFAULT_LIMITS, FactIndexerLimits
from codekernel.callgraph.graph import CallGraph
from codekernel.domain.call_graph import (
    CallChainQuery,
    CallChainResult,
    CallChainSteps,
    CallDirection,
    DefinitionCallChain,
)
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.indexing.indexer import Indexer
from codekernel.storage.index_store import open_index

ENOUGH_SECONDS = 60.0


class World:
    """Files are written, indexed, and asked about."""

    def __init__(self, place: Path) -> None:
        self.root = place / "repo"
        self.root.mkdir(exist_ok=True)
        self.folder = place / "index"
        self.store = open_index(self.folder)
        control = WorkControl(CancelToken(), BackgroundThrottle())
        self._indexer = None
        if self.store.writer:
            self._indexer = Indexer(self.root, self.store, control)
            self._indexer.chunk_sizes = (400,)
        self.open_graph()

    def write(self, **files: str) -> None:
        """Files by their names, with __ for . and ___ for /."""
        for name, text in files.items():
            self.put(name.replace("___", "/").replace("__", "."), text)
        self.index()

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def index(self) -> None:
        assert self._indexer is not None
        for _ in self._indexer.scan_repository():
            pass

    def ask(
        self, method: str, direction: str = "both", depth: int = 1, **more: Any
    ) -> CallChainResult:
        question = CallChainQuery(method, CallDirection(direction), depth, **more)
        return self.graph.ask(question, CancelToken(), ENOUGH_SECONDS)

    def only(self, method: str, direction: str = "both", depth: int = 1) -> DefinitionCallChain:
        """The chain of the one definition that is meant."""
        (chain,) = self.ask(method, direction, depth).chains
        return chain

    def callers(self, method: str) -> dict[str, str]:
        """Who calls the one definition that is meant, and how sure that is."""
        return names_in(self.only(method, "callers").callers)

    def callees(self, method: str) -> dict[str, str]:
        """What the one definition that is meant calls."""
        return names_in(self.only(method, "callees").callees)

    def reopen(self, limits: FactIndexerLimits) -> None:
        """Open the graph anew."""
        self.graph.close()
        self.open_graph(limits)

    def open_graph(self, limits: FactIndexerLimits = DEFAULT_LIMITS) -> None:
        self.graph = CallGraph(self.store.folder, self.store.catalog, limits)

    def close(self) -> None:
        self.graph.close()
        self.store.close()


def names_in(steps: CallChainSteps | None) -> dict[str, str]:
    assert steps is not None
    return {step.place.name: step.certainty for step in steps.steps}
