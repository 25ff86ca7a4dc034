"""``codekernel mcp --http`` and ``ide-tools`` beside a shared kernel."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, TextContent
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.conversation_client import chat_settings, write_sources
from support.shared_kernel import ENVIRON, SharedKernel
from websockets.sync.client import connect as connect_websocket

QUERY = {"query": "how is a session closed"}


@pytest.fixture
def shared(user_data: Path, repo: Path) -> Iterator[SharedKernel]:
    write_sources(repo)
    (repo / ".git").mkdir()
    chat_settings(user_data, "http://127.0.0.1:9/v1", vectors=True)
    with SharedKernel(user_data) as kernel:
        yield kernel


@contextmanager
def serve(shared: SharedKernel, repo: Path, *words: str) -> Iterator[tuple[str, str, int]]:
    """A server on a port: its address, the header it wants, its process."""
    environ = {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(shared.user_data)}
    with subprocess.Popen(
        [*CODEKERNEL, *words], stdout=subprocess.PIPE, text=True, env=environ, cwd=repo
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        yield address, process.stdout.readline().strip().partition(": ")[2], process.pid
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) == 0


@asynccontextmanager
async def agent(address: str, authorization: str, mode: str) -> AsyncIterator[Client]:
    async with create_mcp_http_client(headers={"Authorization": authorization}) as known:
        transport = streamable_http_client(address, http_client=known)
        async with Client(transport, mode=mode) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_agents_over_http_share_the_kernel_and_do_not_notice_its_death(
    shared: SharedKernel, repo: Path, mode: str
) -> None:
    async def use(address: str, authorization: str, kill: Callable[[], None]) -> None:
        with anyio.fail_after(TIMEOUT_SECONDS):
            async with (
                agent(address, authorization, mode) as first,
                agent(address, authorization, mode) as second,
            ):
                tools = await first.list_tools()
                assert "calls" in {tool.name for tool in tools.tools}
                for _ in range(2):
                    await first.call_tool("index_status", {"wait": True})
                    files = {each.name for each in (await second.list_resources()).resources}
                    assert {"session.py", "routing.py"} <= files
                    answers = [
                        text_of(await each.call_tool("search", QUERY)) for each in (first, second)
                    ]
                    assert all("session.py" in text for text in answers)
                    assert not any("by words" in text for text in answers)
                    kill()
                refused = await second.call_tool("read", {"path": "nothing.py"})
                assert refused.is_error

    with serve(shared, repo, "mcp", "--http", "0") as (address, authorization, pid):
        clients = [(each["name"], each["pid"]) for each in shared.status()["clients"]]
        assert ("mcp", pid) in clients
        anyio.run(use, address, authorization, shared.kill)


def test_an_ide_follows_calls_in_the_kernel(shared: SharedKernel, repo: Path) -> None:
    (repo / "main.py").write_text(
        "from routing import add_route\n\n\ndef begin():\n    add_route('/', print)\n",
        encoding="utf-8",
    )
    with serve(shared, repo, "ide-tools", "--listen", "0") as (address, authorization, pid):
        assert ("ide-tools", pid) in [
            (each["name"], each["pid"]) for each in shared.status()["clients"]
        ]
        headers = {"Authorization": authorization}
        with connect_websocket(address, additional_headers=headers, proxy=None) as connection:
            from adapters.ide.conftest import BackendSide  # noqa: PLC0415 - a fixture of another folder

            backend = BackendSide(connection)
            for _ in range(2):
                chain = backend.call("call_chain", method="add_route", projectKey=repo.name)
                assert "begin" in chain["result"], chain
                os.kill(shared.status()["pid"], signal.SIGKILL)
