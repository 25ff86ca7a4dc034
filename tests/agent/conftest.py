"""A repository for tools to work on, and a way to call them as a model does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent.calling import Call

from kernel.agent.context import ToolContext
from kernel.agent.danger import EVERYTHING
from kernel.agent.journal import Journal
from kernel.agent.limits import Limits
from kernel.agent.root import Root
from kernel.agent.tool import Outcome
from kernel.agent.toolbox import agent_tools


@pytest.fixture
def context(repo: Path, tmp_path: Path) -> Iterator[ToolContext]:
    root = Root.at(repo)
    made = ToolContext(
        root,
        Journal(tmp_path / "journal", root),
        permissions=EVERYTHING,
        limits=Limits(seconds=10.0, command_seconds=20.0),
    )
    yield made
    made.close()


@pytest.fixture
def call(context: ToolContext) -> Call:
    tools = agent_tools()

    def calling(name: str, within: ToolContext = context, /, **arguments: Any) -> Outcome:
        return tools.call(name, arguments, within)

    return calling
