"""A repository, and the tools of an agent that work on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot


@pytest.fixture
def context(repo: Path, tmp_path: Path) -> Iterator[ToolContext]:
    root = WorkspaceRoot.from_path(repo)
    made = ToolContext(
        root, ChangeJournal(tmp_path / "journal", root), permissions=ALLOW_ALL_POLICY
    )
    yield made
    made.close()
