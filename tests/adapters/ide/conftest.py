"""A project, the tools of document 002 on it, and a port where a backend can call them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.ide.plugin import PluginSession, WebSocketPort
from codekernel.adapters.ide.tool_calls import IdeToolExecutor
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import AllowListPolicy, ToolPermission
from codekernel.agent.tools.toolsets import build_ide_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.callgraph.graph import LiveCallGraph
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from websockets.sync.client import ClientConnection, connect

PATIENCE_SECONDS = 30
JAVA = """package core;

// TODO one
public class File {
    public void open() { check(); } // todo two
    private void check() {}
    // TODO three
}
"""


@pytest.fixture
def project(repo: Path) -> Path:
    folder = repo / "core" / "src"
    folder.mkdir(parents=True)
    (folder / "File.java").write_text(JAVA, encoding="utf-8")
    return repo


@pytest.fixture
def context(project: Path, tmp_path: Path) -> Iterator[ToolContext]:
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)
    index.start(IndexPlan())  # words alone
    calls = LiveCallGraph(lambda: index.store)
    root = WorkspaceRoot.from_path(project)
    yield ToolContext(
        root,
        ChangeJournal(tmp_path / "journal", root),
        permissions=AllowListPolicy((ToolPermission.READS, ToolPermission.WRITES)),
        call_chain=calls.ask,
    )
    calls.close()
    index.close()


@pytest.fixture
def executor(context: ToolContext) -> IdeToolExecutor:
    return IdeToolExecutor(build_ide_tools(), context)


class BackendSide:
    """A backend that has connect_to, and sends what it likes."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, message: object) -> None:
        text = message if isinstance(message, str | bytes) else json.dumps(message)
        self.connection.send(text)

    def receive(self) -> dict[str, Any]:
        message = json.loads(self.connection.recv(PATIENCE_SECONDS))
        assert message.keys() == {"type", "data"}
        assert message["type"] == "TOOL_RESULT"
        return dict(message["data"])

    def ask(self, message: object) -> dict[str, Any]:
        self.send(message)
        return self.receive()

    def call(self, tool: str, **params: object) -> dict[str, Any]:
        return self.ask(
            {"type": "TOOL_CALL", "toolCallId": f"{tool}-1", "toolName": tool, "params": params}
        )


@contextmanager
def open_port(executor: IdeToolExecutor) -> Iterator[WebSocketPort]:
    port = WebSocketPort(lambda socket: PluginSession(executor).serve(socket))
    port.start()
    try:
        yield port
    finally:
        port.stop()


@contextmanager
def connect_to(port: WebSocketPort) -> Iterator[BackendSide]:
    headers = {"Authorization": f"Bearer {port.token}"}
    with connect(port.url, additional_headers=headers, proxy=None) as connection:
        yield BackendSide(connection)


@pytest.fixture
def port(executor: IdeToolExecutor) -> Iterator[WebSocketPort]:
    with open_port(executor) as running:
        yield running


@pytest.fixture
def backend(port: WebSocketPort) -> Iterator[BackendSide]:
    with connect_to(port) as side:
        yield side
