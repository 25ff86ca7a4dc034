"""Tokens of other MCP servers for coding agents, on a copy of the same folder.

``--rivals DIR`` of mcp_tokens.py holds them as they are installed from PyPI and npm: virtual
environments ``semble`` with ``semble[mcp]`` and ``onnx``, and ``serena`` with ``serena-agent``, and
a folder ``codegraph`` in which npm installed ``@colbymchenry/codegraph``. Those that are not there
are named and left out. semble gets our static model in its own form: its own is downloaded.
"""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from rival_venv import ROOT

# A server that says nothing for so long is given up.
REPLY_TIMEOUT_SECONDS = 180.0

QUESTION = "where are lexical and semantic scores combined"

Calls = Sequence[tuple[str, dict[str, Any]]]


class McpProcess:
    """A server with its pipes."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environ,
            text=True,
            encoding="utf-8",
        )
        self._to_server = cast("TextIO", self._process.stdin)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in cast("TextIO", self._process.stdout):
            self._lines.put(line)
        self._lines.put("")

    def send(self, **message: Any) -> None:
        """Send a message."""
        self._to_server.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._to_server.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result. Raises EOFError, queue.Empty."""
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        while line := self._lines.get(timeout=REPLY_TIMEOUT_SECONDS):
            if not line.startswith("{"):
                continue
            reply = json.loads(line)
            if reply.get("id") == self._number and "method" not in reply:
                return dict(reply.get("result") or {"error": reply.get("error")})
        raise EOFError("the server has ended")

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return its text."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        return "\n".join(part.get("text", "") for part in result.get("content") or [result])

    def close(self) -> None:
        """End the server and wait for it."""
        self._to_server.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()


@dataclass(frozen=True)
class McpRival:
    """A server: its program below the folder of rivals, and typical calls about a folder."""

    name: str
    program: str
    arguments: tuple[str, ...]
    calls: Callable[[Path], Calls]
    prepare: tuple[str, ...] = ()


RIVALS = (
    McpRival(
        "semble",
        "semble/bin/semble",
        (),
        lambda root: [
            ("search", {"query": QUESTION, "repo": str(root)}),
            ("search", {"query": "MAX_UNANSWERED_BYTES", "repo": str(root)}),
            (
                "find_related",
                {"file_path": "codekernel/search/ranking.py", "line": 100, "repo": str(root)},
            ),
        ],
    ),
    McpRival(
        "serena",
        "serena/bin/serena",
        ("start-mcp-server", "--context", "ide-assistant", "--project", "."),
        lambda _: [
            ("get_symbols_overview", {"relative_path": "codekernel/search/ranking.py"}),
            ("find_symbol", {"name_path_pattern": "Searcher/run_search"}),
            ("search_for_pattern", {"substring_pattern": "raise WrongParam"}),
        ],
    ),
    McpRival(
        "codegraph",
        "codegraph/node_modules/.bin/codegraph",
        ("serve", "--mcp"),
        lambda root: [
            ("codegraph_explore", {"query": QUESTION, "projectPath": str(root)}),
            ("codegraph_explore", {"query": "fuse_scores", "projectPath": str(root)}),
        ],
        prepare=("init",),
    ),
)


def compare(rivals: Path, repo: Path, count: Callable[[str], int]) -> None:
    """Print the tokens of each rival that is there."""
    for rival in RIVALS:
        program = rivals / rival.program
        if not program.exists():
            print(f"{rival.name}: not in {rivals}")
            continue
        with tempfile.TemporaryDirectory(prefix="codekernel-rival-") as name:
            root = Path(name) / "project"
            shutil.copytree(repo, root, ignore=shutil.ignore_patterns("__pycache__"))
            try:
                _measure(rival, program, root, count)
            except (EOFError, OSError, queue.Empty, subprocess.SubprocessError) as error:
                print(f"{rival.name}: it does not run here: {error!r}")


def _measure(rival: McpRival, program: Path, root: Path, count: Callable[[str], int]) -> None:
    environ = {**os.environ, "HOME": str(root.parent), "CODEGRAPH_TELEMETRY": "0"}
    environ |= {"SEMBLE_MODEL_NAME": str(_convert_model(program, root.parent))}
    if rival.prepare:
        subprocess.run(
            [program, *rival.prepare], cwd=root, env=environ, check=True, capture_output=True
        )
    server = McpProcess([str(program), *rival.arguments], root, environ)
    try:
        client = {"name": "bench", "version": "1"}
        hello = server.request(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
        )
        server.send(method="notifications/initialized")
        tools = server.request("tools/list")["tools"]
        sent = [
            {key: tool.get(key, "") for key in ("name", "description", "inputSchema")}
            for tool in tools
        ]
        tokens = sum(
            count(json.dumps(tool, separators=(",", ":"), ensure_ascii=False)) for tool in sent
        )
        version = hello.get("serverInfo", {}).get("version", "")
        print(f"{rival.name} {version}: {len(tools)} tools, schemas {tokens} tokens", end="")
        print(f", instructions {count(hello.get('instructions') or '')}")
        for tool, arguments in rival.calls(root):
            text = server.call(tool, arguments)
            shown = {key: value for key, value in arguments.items() if value != str(root)}
            print(f"  {tool} {shown}: {count(text)} tokens")
    finally:
        server.close()


def _convert_model(program: Path, folder: Path) -> Path:
    """Write our static model in the form that semble reads, if it can be."""
    target = folder / "model"
    python = program.with_name("python")
    script = Path(__file__).with_name("rival_semble_model.py")
    if program.name == "semble":
        model = ROOT / "models" / "codekernel-static-v3"
        subprocess.run([python, script, model, target], check=False, capture_output=True)
    return target
