"""Run real ACP agents of npm with our client, offline: a scripted model stands for theirs.

``python scripts/check_acp_agents.py`` installs the agents into a folder of its own (``--folder``),
never into the repository, and prints a line per agent: whether it was initialized, began a session,
and, where its model can be replaced by an OpenAI-compatible address, whether it ran a turn with an
edit, a permission, our MCP server and the undo. With names it checks these alone.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "kernel"), str(ROOT / "tests")]

from codekernel.adapters.acp.agent_process import AgentLimits  # noqa: E402
from codekernel.adapters.acp.backend import AcpBackend  # noqa: E402
from codekernel.adapters.acp.turn_changes import TurnRecorder  # noqa: E402
from codekernel.agent.turn_workspace import find_latest_with_changes, undo_session  # noqa: E402
from codekernel.agent.workspace.root import WorkspaceRoot  # noqa: E402
from codekernel.domain.chat import AgentMessage  # noqa: E402
from codekernel.domain.settings import AgentCommand  # noqa: E402
from codekernel.errors import KernelError  # noqa: E402
from codekernel.sync.agents import (  # noqa: E402
    AgentUpdate,
    BackendPermission,
    McpServerCommand,
)
from support.chat_server import (  # noqa: E402
    Answer,
    ChatServer,
    ReceivedRequest,
    reply_calls,
    reply_text,
)

FILE, CONTENT = "made_by_agent.txt", "made by an agent\n"
INSTALL_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class NpmAgent:
    """An agent of npm; ``write_tool`` is its tool that writes a file, if its model is scripted."""

    package: str
    program: str
    args: tuple[str, ...] = ()
    write_tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)


AGENTS = {
    "opencode": NpmAgent(
        "opencode-ai@1.18.33", "opencode", ("acp",), "write", {"filePath": "$FILE"}
    ),
    "qwen": NpmAgent(
        "@qwen-code/qwen-code@0.24.4", "qwen", ("--acp",), "write_file", {"file_path": "$FILE"}
    ),
    "claude": NpmAgent("@agentclientprotocol/claude-agent-acp@0.99.1", "claude-agent-acp"),
    "codex": NpmAgent("@agentclientprotocol/codex-acp@2.6.0", "codex-acp"),
    "gemini": NpmAgent("@google/gemini-cli@0.61.0", "gemini", ("--acp",)),
    "copilot": NpmAgent("@github/copilot@1.0.102", "copilot", ("--acp", "--stdio")),
    "kimi": NpmAgent("@moonshot-ai/kimi-code@2.1.0", "kimi", ("acp",)),
}


def main() -> int:
    """Check the agents that are named, else all; return how many could not even be initialized."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which ones (else all): {', '.join(AGENTS)}")
    parser.add_argument("--folder", type=Path, help="where to install them (else a temporary one)")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in AGENTS]:
        parser.error(f"there is no agent {unknown[0]!r}")
    folder = args.folder or Path(tempfile.mkdtemp(prefix="acp-agents-"))
    try:
        return sum(not check(name, folder.absolute()) for name in args.names or AGENTS)
    finally:
        if args.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def check(name: str, folder: Path) -> bool:
    """Check one agent and print what came of it; false if it could not be initialized."""
    agent, place = AGENTS[name], folder / name
    install(agent, place)
    for part in ("home", "repo", "userData"):
        shutil.rmtree(place / part, ignore_errors=True)
        (place / part).mkdir(parents=True)
    (place / "repo" / "a.py").write_text("print('a')\n", encoding="utf-8")
    with ChatServer([lambda received: answer(received, agent, place / "repo")]) as server:
        program = str(place / "node_modules" / ".bin" / agent.program)
        command = AgentCommand(name, program, agent.args, build_environ(place, server.url))
        backend = AcpBackend(
            command, TurnRecorder(place / "userData"), AgentLimits(start_timeout_seconds=60.0)
        )
        try:
            return run(name, agent, backend, place)
        finally:
            backend.disconnect()


def install(agent: NpmAgent, place: Path) -> None:
    """Install an agent, unless it is there."""
    if (place / "node_modules" / ".bin" / agent.program).exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}', encoding="utf-8")
    subprocess.run(
        [str(shutil.which("npm")), "install", "--no-audit", "--no-fund", agent.package],
        cwd=place,
        check=True,
        capture_output=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
    )


def build_environ(place: Path, url: str) -> dict[str, str]:
    """Return variables that give an agent a home of its own, and the scripted model."""
    home, model = place / "home", {"name": "scripted", "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": "none"},
        "models": {"scripted": model},
    }
    opencode = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"edit": "ask", "bash": "ask"},
    }
    return {
        "HOME": str(home),
        **{f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "DATA", "CACHE", "STATE")},
        "OPENCODE_CONFIG_CONTENT": json.dumps(opencode),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": "scripted",
        "QWEN_TELEMETRY_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }


def answer(received: ReceivedRequest, agent: NpmAgent, repo: Path) -> Answer:
    """Have a file written in the first round of a task; then say that it is done."""
    body = received.json
    tools = [each["function"]["name"] for each in body.get("tools", [])]
    if agent.write_tool not in tools:
        return reply_text("A title")
    if any(each["role"] == "tool" for each in body["messages"]):
        has_search = any("codekernel" in name and "search" in name for name in tools)
        # Some agents show the tools of MCP servers only to those who look for them.
        where = "there" if has_search else "deferred" if "tool_search" in tools else "missing"
        return reply_text(f"Done. Our search is {where}.", used=(9, 3))
    given = {key: str(repo / FILE) for key in agent.arguments}
    return reply_calls((agent.write_tool, {**given, "content": CONTENT}))


def run(name: str, agent: NpmAgent, backend: AcpBackend, place: Path) -> bool:
    """Begin a session and, if the model is scripted, run a turn and undo it."""
    repo, user_data = place / "repo", place / "userData"
    words = ("-m", "codekernel", "mcp", "--standalone", "--repo", str(repo))
    server = McpServerCommand("codekernel", sys.executable, (*words, "--user-data", str(user_data)))
    started = time.monotonic()
    try:
        session = backend.new_session(repo, [server])
    except KernelError as error:
        print(f"{name}: {' '.join(str(error).split())[:300]}", flush=True)
        return "wants you to sign in" in str(error) or " failed: " in str(error)
    seconds = time.monotonic() - started
    print(f"{name}: initialized, session {session} after {seconds:.1f} s", flush=True)
    if agent.write_tool:
        run_turn(name, backend, session, place)
    return True


def run_turn(name: str, backend: AcpBackend, session: str, place: Path) -> None:
    """Run a turn, and undo it."""
    asked: list[BackendPermission] = []
    updates: list[AgentUpdate] = []

    def allow(permission: BackendPermission) -> None:
        asked.append(permission)
        backend.respond_to_permission(permission.id, allowed=True, option_id="")

    backend.on_permission_request(allow)
    stop = backend.prompt(session, f"Write {FILE}.", updates.append)
    blocks: list[dict[str, Any]] = [
        block.to_json()
        for it in updates
        if isinstance(it, AgentMessage) and it.meta.get("complete", True)
        for block in it.content
    ]
    made = place / "repo" / FILE
    root = WorkspaceRoot.from_path(place / "repo")
    is_made = made.exists() and made.read_text(encoding="utf-8") == CONTENT
    undone = undo_session(
        place / "userData", find_latest_with_changes(place / "userData", root) or "", root
    )
    text = " ".join(each["text"] for each in blocks if each["type"] == "text")
    print(
        f"{name}: stop {stop}; tools {[it['name'] for it in blocks if it['type'] == 'tool_use']};"
        f" asked {[(it.tool, it.danger) for it in asked]}; said {text!r}; file made {is_made};"
        f" undone {[(it.path, str(it.state)) for it in undone]}; gone {not made.exists()}",
        flush=True,
    )


if __name__ == "__main__":
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    sys.exit(main())
