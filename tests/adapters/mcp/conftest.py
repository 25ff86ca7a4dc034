"""The official client as an agent, with ``codekernel mcp`` as its server."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, ReadResourceResult, TextContent, TextResourceContents
from support.conversation_client import ENVIRON, write_sources
from support.kernel_process import bare_environment

ClientRun = Callable[[Client], Awaitable[None]]
PATIENCE_SECONDS = 90
ROOT = Path(__file__).parents[3]


def text_of(result: CallToolResult) -> str:
    """The text of a result's first part."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def text_of_resource(result: ReadResourceResult) -> str:
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.fixture
def project(repo: Path) -> Path:
    """A repository with a class, a function and who calls it."""
    write_sources(repo)
    (repo / "main.py").write_text(
        "from routing import add_route\n\n\ndef begin():\n    add_route('/', print)\n",
        encoding="utf-8",
    )
    return repo


@pytest.fixture
def agent(user_data: Path, project: Path) -> Callable[..., None]:
    """Runs a function with a server of its own, by the protocol of today or by an older one."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codekernel", "mcp", "--repo", str(project)],
        env={**bare_environment(user_data), **ENVIRON},
        cwd=ROOT,
    )
    return lambda use, mode="auto": run(partial(Client, server, mode=mode), use)


def run(connect: Callable[[], Any], use: ClientRun) -> None:
    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with connect() as client:
                await use(client)

    anyio.run(main)
