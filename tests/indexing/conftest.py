"""The fixture that opens a repository's index."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from codekernel.indexing.battery import is_on_battery
from codekernel.indexing.index_plan import IndexPlan, IndexTimings
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from indexing.harness import IndexHarness, Open, static_plan


@pytest.fixture
def timings() -> IndexTimings:
    """The waits of the index; a test module that cannot wait so long has its own."""
    return IndexTimings()


@pytest.fixture
def battery_probe() -> Callable[[], bool]:
    """Whether the index takes the machine to be on battery; a test module may decide it."""
    return is_on_battery


@pytest.fixture
def open_index(
    tmp_path: Path, timings: IndexTimings, battery_probe: Callable[[], bool]
) -> Iterator[Open]:
    """Opens the index of ``tmp_path/repo``; whatever is still open is closed at the end."""
    models = ModelPool()
    opened: list[IndexHarness] = []
    root, folder = tmp_path / "repo", tmp_path / "index"
    root.mkdir()

    def open_it(plan: IndexPlan | None = None, *, start: bool = True) -> IndexHarness:
        index = RepositoryIndex(
            root, folder, lambda: models, timings=timings, is_on_battery=battery_probe
        )
        harness = IndexHarness(root, folder, index)
        opened.append(harness)
        index.subscribe(harness.record_progress, harness.crashes.append)
        if start:
            index.start(plan or static_plan(1500))
        return harness

    yield open_it
    for harness in opened:
        harness.close()
        assert harness.crashes == []
