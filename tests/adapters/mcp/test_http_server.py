"""Over HTTP: only on loopback, only with the token, and not from any other page."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from adapters.mcp.conftest import run, text_of
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS, codekernel
from support.conversation_client import write_sources
from support.kernel_process import bare_environment

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"Accept": "application/json, text/event-stream"}


@dataclass
class HttpAddress:
    address: str
    authorization: str

    def ask(self, **headers: str) -> int:
        """The status that one request gets."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx.Client(trust_env=False) as client:
            return client.post(self.address, json=PING, headers=JSON | given).status_code


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpAddress]:
    """One server for all tests, which change nothing."""
    place = tmp_path_factory.mktemp("server")
    for name in ("userData", "demo"):
        (place / name).mkdir()
    write_sources(place / "demo")
    with subprocess.Popen(
        [*CODEKERNEL, "mcp", "--http", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=bare_environment(place / "userData"),
        cwd=place / "demo",
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        authorization = process.stdout.readline().strip().removeprefix("Authorization: ")
        yield HttpAddress(address, authorization)
        process.terminate()
        code = process.wait(TIMEOUT_SECONDS)
        assert code == 0 or os.name == "nt"  # where a process cannot handle it


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_searches_over_http(server: HttpAddress, mode: str) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool("search", {"query": "add_route"})
        assert "routing.py" in text_of(result)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        headers = {"Authorization": server.authorization}
        async with create_mcp_http_client(headers=headers) as known:
            transport = streamable_http_client(server.address, http_client=known)
            async with Client(transport, mode=mode) as client:
                yield client

    run(connect, use)


@pytest.mark.slow
def test_requests_without_the_token_are_rejected(server: HttpAddress) -> None:
    own = server.authorization
    assert server.address.startswith("http://127.0.0.1:")
    assert server.ask() == 401
    assert server.ask(Authorization="Bearer guessed") == 401
    assert server.ask(Authorization=own.removeprefix("Bearer ")) == 401
    assert server.ask(Authorization=own, Origin="http://evil.example") == 403
    assert server.ask(Authorization=own, Host="evil.example") == 421
    assert server.ask(Authorization=own) not in {401, 403, 421}


@pytest.mark.slow
def test_a_port_in_use_is_reported(server: HttpAddress, user_data: Path, project: Path) -> None:
    port = server.address.removeprefix("http://127.0.0.1:").removesuffix("/mcp")
    done = codekernel(user_data, project, "mcp", "--http", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port} cannot be used" in done.stderr
