"""A repository in a folder, its index, and its call graph, for as long as a test needs them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from kernel.callgraph.graph import CallGraph
from kernel.domain.call_chain import Chain, ChainAnswer, ChainQuestion, ChainSteps, Direction
from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.indexing.indexer import Indexer
from kernel.storage.index_store import open_index

ENOUGH_SECONDS = 60.0


class Nobody:
    """Listens to the indexer."""

    def began(self, paths: Iterable[str]) -> None: ...

    def indexed(self, files: Sequence[tuple[int, str]]) -> None: ...

    def ended(self, path: str) -> None: ...

    def between_batches(self) -> None: ...


class World:
    """Files are written, indexed, and asked about."""

    def __init__(self, place: Path) -> None:
        self.root = place / "repo"
        self.root.mkdir(exist_ok=True)
        self.folder = place / "index"
        self.store = open_index(self.folder)
        pace = Pace(CancelToken(), Courtesy())
        self._indexer = None
        if self.store.writer:
            self._indexer = Indexer(self.root, self.store, Nobody(), pace)
            self._indexer.input_lengths = (400,)
        self.graph = CallGraph(self.store.folder, self.store.catalogue)

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
        self._indexer.sweep()

    def ask(self, method: str, direction: str = "both", depth: int = 1, **more: int) -> ChainAnswer:
        question = ChainQuestion(method, Direction(direction), depth, **more)  # type: ignore[arg-type]
        return self.graph.ask(question, CancelToken(), ENOUGH_SECONDS)

    def only(self, method: str, direction: str = "both", depth: int = 1) -> Chain:
        """The chain of the one definition that is meant."""
        (chain,) = self.ask(method, direction, depth).chains
        return chain

    def callers(self, method: str) -> dict[str, str]:
        """Who calls the one definition that is meant, and how sure that is."""
        return names_in(self.only(method, "callers").callers)

    def callees(self, method: str) -> dict[str, str]:
        """What the one definition that is meant calls."""
        return names_in(self.only(method, "callees").callees)

    def reopen(self) -> None:
        """Open the graph anew."""
        self.graph = CallGraph(self.store.folder, self.store.catalogue)

    def close(self) -> None:
        self.graph.close()
        self.store.close()


def names_in(steps: ChainSteps | None) -> dict[str, str]:
    assert steps is not None
    return {step.place.name: step.certainty for step in steps.steps}
