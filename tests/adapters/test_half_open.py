"""``ide-tools --listen`` and ``mcp --http`` beside 400 connections that never send a request."""

import http.client
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.hostile_connections import (
    limit_descriptors,
    open_half_connections,
    parse_status,
    send_raw_request,
)
from support.kernel_process import bare_environment
from websockets.sync.client import connect

# What most systems give a process; each connection used to take four.
DESCRIPTORS = 1024
HALF_OPEN = 400
MALFORMED = b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit"),
]


class Listening:
    """A command that prints an address and the header by which one is let in."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        self.address = process.stdout.readline().strip()
        self.authorization = process.stdout.readline().strip().removeprefix("Authorization: ")
        self.port = int(self.address.rpartition(":")[2].partition("/")[0])


def is_served_by_ide_tools(listening: Listening) -> bool:
    headers = {"Authorization": listening.authorization}
    with connect(listening.address, additional_headers=headers, proxy=None) as connection:
        connection.send("[")
        return bool(json.loads(connection.recv(TIMEOUT_SECONDS))["type"] == "TOOL_RESULT")


def is_served_by_mcp(listening: Listening) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", listening.port, timeout=TIMEOUT_SECONDS)
    headers = {
        "Authorization": listening.authorization,
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    connection.request("POST", "/mcp", "[" * 100_000, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status == 400 and b"-32700" in content


@pytest.mark.parametrize(
    ("words", "is_served"),
    [
        (("ide-tools", "--listen", "0"), is_served_by_ide_tools),
        (("mcp", "--http", "0"), is_served_by_mcp),
    ],
    ids=["ide-tools", "mcp"],
)
def test_half_open_connections_block_no_other_client(
    user_data: Path, repo: Path, words: tuple[str, ...], is_served: object
) -> None:
    assert callable(is_served)
    with subprocess.Popen(
        [*CODEKERNEL, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=bare_environment(user_data),
        cwd=repo,
        preexec_fn=limit_descriptors(DESCRIPTORS),  # noqa: PLW1509 - holds nothing
    ) as process:
        listening = Listening(process)
        assert is_served(listening)
        with open_half_connections(listening.port, HALF_OPEN):
            assert is_served(listening)
        assert parse_status(send_raw_request(listening.port, MALFORMED)) == 400
        assert is_served(listening)
        process.terminate()
        said = process.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert process.returncode == 0
    assert "Traceback" not in said
