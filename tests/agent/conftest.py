"""A repository for tools to work on, and a way to call them as a model does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY, ToolLimits
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot


@pytest.fixture
def context(repo: Path, tmp_path: Path) -> Iterator[ToolContext]:
    root = WorkspaceRoot.from_path(repo)
    made = ToolContext(
        root,
        ChangeJournal(tmp_path / "journal", root),
        permissions=ALLOW_ALL_POLICY,
        limits=ToolLimits(timeout_seconds=60.0, command_timeout_seconds=60.0),
    )
    yield made
    made.close()


@pytest.fixture
def call(context: ToolContext) -> Call:
    tools = build_agent_tools()

    def calling(name: str, within: ToolContext = context, /, **arguments: Any) -> ToolOutcome:
        return tools.call(name, arguments, within)

    return calling
