"""A repository, and the tools of an agent that work on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.agent.context import ToolContext
from kernel.agent.danger import EVERYTHING
from kernel.agent.journal import Journal
from kernel.agent.root import Root


@pytest.fixture
def context(repo: Path, tmp_path: Path) -> Iterator[ToolContext]:
    root = Root.at(repo)
    made = ToolContext(root, Journal(tmp_path / "journal", root), permissions=EVERYTHING)
    yield made
    made.close()
