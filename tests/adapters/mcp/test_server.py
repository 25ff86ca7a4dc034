"""What goes over stdin and stdout, byte by byte; how it ends; an index shared with a kernel."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from adapters.mcp.conftest import text_of
from mcp import Client
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS, codekernel
from support.conversation_client import ENVIRON
from support.kernel_process import KernelProcess, bare_environment

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def server(user_data: Path, project: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        [*CODEKERNEL, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bare_environment(user_data),
        cwd=project,
    ) as process:
        yield process
        process.kill()


def send(process: "subprocess.Popen[bytes]", *messages: object) -> None:
    assert process.stdin
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def receive(process: "subprocess.Popen[bytes]", number: int) -> dict[str, Any]:
    """The answer to a request; every line before it must be of the protocol too."""
    assert process.stdout
    for line in process.stdout:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == number:
            return dict(message)
    raise AssertionError(f"no answer to {number}")


@pytest.mark.slow
def test_nothing_but_messages_is_written_and_the_end_of_stdin_ends_it(
    server: "subprocess.Popen[bytes]",
) -> None:
    send(server, INITIALIZE)
    greeting = receive(server, 1)["result"]
    assert greeting["protocolVersion"] == "2025-06-18"
    assert greeting["serverInfo"]["name"] == "codekernel"
    assert greeting["capabilities"].keys() >= {"tools", "resources"}
    call = {"name": "search", "arguments": {"query": "add_route"}}
    send(
        server,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        b"this is no message",
        b"\xff\xfe",
        b"[" * 100_000,
        *(b"[" * depth + b"]" * depth for depth in range(850, 1000, 50)),
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such/thing"},
    )
    assert receive(server, 3)["error"]["code"] == -32601
    assert server.stdin
    assert server.stdout
    server.stdin.close()
    rest = [json.loads(line) for line in server.stdout]
    assert all(message["jsonrpc"] == "2.0" for message in rest)
    assert server.wait(TIMEOUT_SECONDS) == 0
    assert server.stderr
    assert b"Traceback" not in server.stderr.read()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_sigterm_ends_it_at_once_and_in_order(server: "subprocess.Popen[bytes]") -> None:
    send(server, INITIALIZE)
    receive(server, 1)
    server.terminate()
    assert server.wait(TIMEOUT_SECONDS) == 0


def test_a_missing_folder_is_reported_on_stderr_alone(user_data: Path, repo: Path) -> None:
    done = codekernel(user_data, repo, "mcp", "--repo", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere" in done.stderr


@pytest.mark.slow
def test_a_batch_is_answered_where_the_version_has_batches(
    server: "subprocess.Popen[bytes]",
) -> None:
    requests: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]
    params = {**INITIALIZE["params"], "protocolVersion": "2025-03-26"}  # type: ignore[dict-item]
    send(server, requests, {**INITIALIZE, "params": params})
    assert server.stdout
    refused = json.loads(server.stdout.readline())
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    receive(server, 1)
    send(server, requests)
    assert receive(server, 2)["result"]["tools"]
    assert receive(server, 3)["result"] == {}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses such names")
def test_no_control_character_of_a_file_stands_raw_in_an_answer(
    server: "subprocess.Popen[bytes]", project: Path
) -> None:
    name = "odd\x1b]0;owned\x07\x9b2J\x7f.py"
    (project / name).write_text("zeppelin = '\x1b[2J \x9b31m \u2028 \x7f'\n", encoding="utf-8")
    send(
        server,
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "read", "arguments": {"path": name}},
        },
    )
    assert server.stdout
    lines = [server.stdout.readline(), server.stdout.readline()]
    assert "zeppelin" in lines[1].decode()
    assert all(byte == 0x0A or 0x20 <= byte < 0x7F for line in lines for byte in line)


Agent = Callable[..., None]
SESSION = 7


@pytest.mark.slow
def test_an_agent_reads_what_a_kernel_keeps_and_keeps_it_after_that(
    agent: Agent, user_data: Path, project: Path
) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(project, SESSION)
        kernel.wait_for(
            lambda line: (
                line["message"]["type"] == "embeddingStatus"
                and line["message"].get("status") == "done"
            ),
            "an indexed file",
        )

        async def run(client: Client) -> None:
            result = await client.call_tool("search", {"query": "add_route"})
            text = text_of(result)
            assert "routing.py" in text
            assert "Another codekernel keeps this index" in text
            status = (await client.call_tool("index_status", {})).structured_content
            assert status["state"] == "read-only"
            chain = await client.call_tool("call_chain", {"method": "add_route"})
            assert "main.py:4-5" in text_of(chain)
            await anyio.to_thread.run_sync(kernel.stop)
            while status["state"] == "read-only":  # it looks every second
                status = (await client.call_tool("index_status", {})).structured_content
            done = await client.call_tool("index_status", {"wait": True})
            assert done.structured_content["state"] == "idle"
            (project / "new.py").write_text("def brand_new_thing():\n    pass\n", encoding="utf-8")
            text = ""
            while "new.py" not in text:  # the files are followed here now
                found = await client.call_tool("search", {"query": "brand_new_thing"})
                text = text_of(found)

        agent(run)
    assert [path.name for path in (user_data / "index").iterdir()] == ["1"]
