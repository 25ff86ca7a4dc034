"""Tokens of other MCP servers for coding agents: the ten questions of mcp_tokens.py, same folder.

semble and serena are installed from the index that pip knows, codegraph by npm, below
``.bench-cache``; what cannot be installed is named. Each is asked with the tools it lists as it is
installed, and has a dash where none of them answers: serena asks language servers, which it fetches
with uv. semble gets our static model in its own form:
its own is downloaded.
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
from typing import Any, NamedTuple, TextIO, cast

from rival_venv import CACHE, ROOT, RivalMissing, environment

# A server that says nothing for so long is given up.
REPLY_TIMEOUT_SECONDS = 180.0

SEARCHED = "where are lexical and semantic scores combined"
CONSTANT = "MAX_UNANSWERED_BYTES"
RANKING = "codekernel/search/ranking.py"

CODEGRAPH = "@colbymchenry/codegraph@1.6.1"

# How an answer begins that is none.
_FAILURES = ("Exception", "Error", "Unknown tool")

Count = Callable[[str], int]
# A tool and its arguments; None if the server has no tool for the question.
Call = tuple[str, dict[str, Any]] | None


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

    def greet(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return what the server says of itself, and its tools."""
        client = {"name": "bench", "version": "1"}
        hello = self.request(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
        )
        self.send(method="notifications/initialized")
        return hello, self.request("tools/list")["tools"]

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


class Measured(NamedTuple):
    """What a server costs: its tools, tokens of schemas and instructions, and of each answer."""

    name: str
    tools: int
    schemas: int
    instructions: int
    answers: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class McpRival:
    """A server: how it is installed and started, and its calls for the ten questions."""

    name: str
    install: Callable[[], Path]
    arguments: tuple[str, ...]
    answer: Callable[[Path], Sequence[Call]]
    prepare: tuple[str, ...] = ()


def install_codegraph() -> Path:
    """Return the program, installed by npm when it is first needed. Raises RivalMissing."""
    folder = CACHE / "npm" / "codegraph"
    program = folder / "node_modules" / ".bin" / "codegraph"
    npm = shutil.which("npm")
    if program.exists():
        return program
    if npm is None:
        raise RivalMissing("there is no npm")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, CODEGRAPH],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode or not program.exists():
        raise RivalMissing(f"npm cannot install {CODEGRAPH}: {done.stderr.strip()[-200:]}")
    return program


def install_package(name: str, *pins: str) -> Path:
    """Return the program of a Python package. Raises RivalMissing."""
    return environment(f"{name}-mcp", pins).with_name(name)


def ask_semble(root: Path) -> Sequence[Call]:
    """Return its calls."""
    repo = str(root)
    return [
        ("search", {"query": SEARCHED, "repo": repo}),
        ("search", {"query": CONSTANT, "repo": repo}),
        ("find_related", {"file_path": RANKING, "line": 100, "repo": repo}),
        None, None, None, None,
        ("search", {"query": "Searcher.run_search", "repo": repo}),
        None, None,
    ]  # fmt: skip


def ask_serena(_: Path) -> Sequence[Call]:
    """Return its calls: code for one tool, in which its operations are functions."""

    def run(code: str) -> Call:
        return "serena_repl", {"session": "bench", "code": code}

    return [
        None,
        run(f"s.fs.search_for_pattern({CONSTANT!r})"),
        None,
        run(f"s.fs.read_file({RANKING!r}, 89, 139)"),
        run("s.fs.list_dir('.', True)"),
        run("s.fs.search_for_pattern('raise WrongParam', relative_path='codekernel/search')"),
        run(f"s.lsp.get_symbols_overview({RANKING!r})"),
        run("s.lsp.find_symbol('Searcher/run_search', include_body=True)"),
        run(f"s.lsp.find_referencing_symbols('fuse_scores', {RANKING!r})"),
        None,
    ]


def ask_codegraph(root: Path) -> Sequence[Call]:
    """Return its calls: it lists one tool, which takes any question."""

    def explore(query: str) -> Call:
        return "codegraph_explore", {"query": query, "projectPath": str(root)}

    return [
        explore(SEARCHED), explore(CONSTANT), None, None, None, None,
        explore(RANKING), explore("Searcher.run_search"),
        explore("what is affected by a change of fuse_scores"), None,
    ]  # fmt: skip


RIVALS = (
    McpRival(
        "semble", lambda: install_package("semble", "semble[mcp]==0.7.0", "onnx"), (), ask_semble
    ),
    McpRival(
        "serena",
        lambda: install_package("serena", "serena-agent==2.1.0"),
        ("start-mcp-server", "--context", "agent", "--project", "."),
        ask_serena,
    ),
    McpRival("codegraph", install_codegraph, ("serve", "--mcp"), ask_codegraph, ("init",)),
)


def measure_rivals(repo: Path, count: Count, *, show: bool) -> list[Measured]:
    """Return the figures of each rival that runs here; the others are named."""
    found: list[Measured] = []
    for rival in RIVALS:
        with tempfile.TemporaryDirectory(prefix="codekernel-rival-") as name:
            root = Path(name) / "project"
            shutil.copytree(repo, root, ignore=shutil.ignore_patterns("__pycache__"))
            try:
                found.append(_measure(rival, rival.install(), root, count, show=show))
            except RivalMissing as error:
                print(f"{rival.name}: {error}")
            except (EOFError, OSError, queue.Empty, subprocess.SubprocessError) as error:
                print(f"{rival.name}: it does not run here: {error!r}")
    return found


def _measure(rival: McpRival, program: Path, root: Path, count: Count, *, show: bool) -> Measured:
    home = root.parent
    environ = {**os.environ, "HOME": str(home), "CODEGRAPH_TELEMETRY": "0"}
    environ["CODEGRAPH_NO_DAEMON"] = "1"  # it would outlive the measurement
    environ["SEMBLE_MODEL_NAME"] = str(_convert_model(program, home))
    if rival.prepare:
        command = [str(program), *rival.prepare]
        subprocess.run(command, cwd=root, env=environ, check=True, capture_output=True)
    server = McpProcess([str(program), *rival.arguments], root, environ)
    try:
        hello, tools = server.greet()
        version = hello.get("serverInfo", {}).get("version", "")
        answers: list[int | None] = []
        for call in rival.answer(root):
            text = server.call(*call) if call else ""
            is_answer = bool(text) and not text.startswith(_FAILURES)
            answers.append(count(text) if is_answer else None)
            if show and call:
                print(f"{rival.name} {call}:\n{text}\n")
    finally:
        server.close()
    instructions = count(hello.get("instructions") or "")
    schemas = count_schemas(tools, count)
    return Measured(f"{rival.name} {version}", len(tools), schemas, instructions, answers)


def count_schemas(tools: Sequence[Mapping[str, Any]], count: Count) -> int:
    """Return the tokens of the tools as a client sends them."""
    keys = ("name", "description", "inputSchema")
    sent = [{key: tool.get(key, "") for key in keys} for tool in tools]
    return sum(count(json.dumps(each, separators=(",", ":"), ensure_ascii=False)) for each in sent)


def _convert_model(program: Path, folder: Path) -> Path:
    """Write our static model in the form that semble reads, if it can be."""
    target = folder / "model"
    python = program.with_name("python")
    script = Path(__file__).with_name("rival_semble_model.py")
    if program.name == "semble":
        model = ROOT / "models" / "codekernel-static-v3"
        subprocess.run([python, script, model, target], check=False, capture_output=True)
    return target
