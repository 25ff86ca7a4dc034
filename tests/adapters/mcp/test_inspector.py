"""The official inspector, by its command line: what people check an MCP server with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CODEKERNEL
from support.javascript import INSPECTOR, ROOT, require_inspector
from support.kernel_process import bare_environment

PATIENCE_SECONDS = 90
Inspect = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.slow


def inspected(home: Path, target: list[str], *words: str) -> dict[str, Any]:
    """What the inspector prints of one request; fails with what it says if it complains."""
    require_inspector()
    script = INSPECTOR / "node_modules" / "@modelcontextprotocol" / "inspector"
    program = json.loads((script / "package.json").read_bytes())["bin"]["mcp-inspector"]
    done = subprocess.run(
        [str(shutil.which("node")), str(script / program), "--cli", *target, *words],
        capture_output=True,
        env={**os.environ, "HOME": str(home), "MCP_CATALOG_PATH": str(home / "catalog.json")},
        cwd=ROOT,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def over_stdio(user_data: Path, project: Path, tmp_path: Path) -> Inspect:
    given = [f"{name}={value}" for name, value in bare_environment(user_data).items()]
    options = [word for pair in given for word in ("-e", pair)]
    server = [*options, sys.executable, "-m", "codekernel", "mcp", "--repo", str(project)]
    return lambda *words: inspected(tmp_path, server, *words)


@pytest.fixture
def over_http(user_data: Path, project: Path, tmp_path: Path) -> Iterator[Inspect]:
    with subprocess.Popen(
        [*CODEKERNEL, "mcp", "--http", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=bare_environment(user_data),
        cwd=project,
    ) as process:
        assert process.stdout
        address, header = (process.stdout.readline().strip() for _ in range(2))
        server = [address, "--transport", "http", "--header", header]
        yield lambda *words: inspected(tmp_path, server, *words)
        process.terminate()


@pytest.mark.parametrize("way", ["over_stdio", "over_http"])
def test_the_inspector_finds_the_tools_and_has_nothing_to_say_against_them(
    way: str, request: pytest.FixtureRequest
) -> None:
    inspect: Inspect = request.getfixturevalue(way)
    # Strict: a schema that some client cannot read is an exit code other than 0.
    names = [tool["name"] for tool in inspect("--method", "tools/list", "--strict")["tools"]]
    listed = ["search", "read", "files", "grep", "symbols", "calls", "history", "ask"]
    assert names == listed
    call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=add_route")
    found = inspect(*call)
    assert not found["isError"]
    assert found["content"][0]["text"].startswith("routing.py:1-2 add_route\ndef add_route(")
    uri = "codekernel://file/routing.py"
    [content] = inspect("--method", "resources/read", "--uri", uri)["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/x-python")
    assert content["text"].startswith("def add_route(")
