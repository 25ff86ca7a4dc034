"""A project, the tools of document 002 on it, and a port where a backend can call them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from kernel.agent.context import ToolContext
from kernel.agent.danger import Allowed, Danger
from kernel.agent.journal import Journal
from kernel.agent.root import Root
from kernel.agent.toolbox import ide_tools
from kernel.callgraph.current import CurrentCalls
from kernel.doors.ide.executor import Executor
from kernel.doors.ide.listening import listening
from kernel.doors.ide.port import Port, Wanted
from kernel.indexing.plan import IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf

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
    index = RepositoryIndex(project, tmp_path / "index", Shelf)
    index.start(IndexPlan())  # words alone
    calls = CurrentCalls(lambda: index.store)
    root = Root.at(project)
    yield ToolContext(
        root,
        Journal(tmp_path / "journal", root),
        permissions=Allowed((Danger.READS, Danger.WRITES)),
        calls=calls.ask,
    )
    calls.close()
    index.close()


@pytest.fixture
def executor(context: ToolContext) -> Executor:
    return Executor(ide_tools(), context)


class BackendSide:
    """A backend that has dialled, and sends what it likes."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, message: object) -> None:
        text = message if isinstance(message, str | bytes) else json.dumps(message)
        self.connection.send(text)

    def hear(self) -> dict[str, Any]:
        message = json.loads(self.connection.recv(PATIENCE_SECONDS))
        assert message.keys() == {"type", "data"}
        assert message["type"] == "TOOL_RESULT"
        return dict(message["data"])

    def ask(self, message: object) -> dict[str, Any]:
        self.send(message)
        return self.hear()

    def call(self, tool: str, **params: object) -> dict[str, Any]:
        return self.ask(
            {"type": "TOOL_CALL", "toolCallId": f"{tool}-1", "toolName": tool, "params": params}
        )


@contextmanager
def port_of(executor: Executor) -> Iterator[Port]:
    port = listening(lambda: executor, Wanted())
    port.start()
    try:
        yield port
    finally:
        port.stop()


@contextmanager
def dialled(port: Port) -> Iterator[BackendSide]:
    headers = {"Authorization": f"Bearer {port.token}"}
    with connect(port.address, additional_headers=headers, proxy=None) as connection:
        yield BackendSide(connection)


@pytest.fixture
def port(executor: Executor) -> Iterator[Port]:
    with port_of(executor) as running:
        yield running


@pytest.fixture
def backend(port: Port) -> Iterator[BackendSide]:
    with dialled(port) as side:
        yield side
