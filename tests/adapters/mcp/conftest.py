"""An agent of somebody else's: the official client, with ``codekernel mcp`` as its server."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from support.conversation_window import ENVIRON, write_sources
from support.kernel_process import bare_environment

Talk = Callable[[Client], Awaitable[None]]
PATIENCE_SECONDS = 90
ROOT = Path(__file__).parents[3]


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
    """Runs a talk with a server of its own, by the protocol of today or by an older one."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codekernel", "mcp", "--repo", str(project)],
        env={**bare_environment(user_data), **ENVIRON},
        cwd=ROOT,
    )
    return lambda talk, mode="auto": run(partial(Client, server, mode=mode), talk)


def run(connect: Callable[[], Any], talk: Talk) -> None:
    async def talked() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with connect() as client:
                await talk(client)

    anyio.run(talked)
