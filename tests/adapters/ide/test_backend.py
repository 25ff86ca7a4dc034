"""The backend end with our own plugin end, over real WebSockets."""

import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from adapters.ide.conftest import PATIENCE_SECONDS
from adapters.ide.test_tool_calls import Gate
from codekernel.adapters.ide.backend import IdeBackend, PluginClient
from codekernel.adapters.ide.plugin import BackendAddress, BackendConnector, PluginSession
from codekernel.adapters.ide.tool_calls import IdeToolExecutor
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool, ToolContext
from codekernel.agent.tools import file_access
from codekernel.agent.tools.toolsets import IDE_TOOLS
from codekernel.domain.concurrency import CancelToken
from websockets.sync.client import ClientConnection, connect
from websockets.sync.connection import Connection

SESSION = "83742e07-1111-2222-3333-444444444444"


@contextmanager
def running(backend: IdeBackend) -> Iterator[IdeBackend]:
    backend.port.start()
    try:
        yield backend
    finally:
        backend.port.stop()


@contextmanager
def plugin(
    backend: IdeBackend, executor: IdeToolExecutor, session: str = SESSION
) -> Iterator[CancelToken]:
    url = f"{backend.url}?sessionId={session}"
    address = BackendAddress.from_url(url, "autoloop", "/somewhere")
    stop = CancelToken()
    dialling = BackendConnector(address, PluginSession(executor), backend.port.token)
    thread = threading.Thread(target=dialling.run, args=(stop,))
    thread.start()
    try:
        yield stop
    finally:
        stop.cancel()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def session_of(backend: IdeBackend, session: str = SESSION) -> PluginClient:
    found = backend.wait_for_session(session, PATIENCE_SECONDS)
    assert found
    return found


@contextmanager
def connect_by_hand(backend: IdeBackend) -> Iterator[ClientConnection]:
    """A plugin that the test plays itself."""
    url = f"{backend.url}?sessionId={SESSION}&projectKey=autoloop&token={backend.port.token}"
    with connect(url, proxy=None) as connection:
        yield connection


def result(call_id: str, **data: object) -> str:
    return json.dumps({"type": "TOOL_RESULT", "data": {"toolCallId": call_id, **data}})


def test_many_calls_at_once_each_get_their_own_result(
    executor: IdeToolExecutor, project: Path
) -> None:
    for number in range(24):
        (project / f"{number}.txt").write_text(f"I am {number}\n", encoding="utf-8")
    with running(IdeBackend()) as backend, plugin(backend, executor):
        calling = session_of(backend)
        assert calling.project_key == "autoloop"
        with ThreadPoolExecutor(24) as pool:
            results = list(
                pool.map(
                    lambda number: calling.call("read_file", {"relativePath": f"{number}.txt"}),
                    range(24),
                )
            )
        assert all(f"I am {number}\n" in one.text for number, one in enumerate(results))
        assert all(one.success for one in results)
        assert len({one.id for one in results}) == 24
        assert all(re.fullmatch(r"read_file-83742e07-\d{13}", one.id) for one in results)
        failure = calling.call("read_file", {"relativePath": "none.txt"})
        assert (failure.success, failure.text) == (False, "文件不存在: none.txt")


def test_a_call_has_its_fields_at_the_root_and_names_project_and_session() -> None:
    with running(IdeBackend()) as backend, connect_by_hand(backend) as connection:
        calling = session_of(backend)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(
                calling.call, "grep_file", {"pattern": "TODO"}, project_path="/home/x"
            )
            call = json.loads(connection.recv(PATIENCE_SECONDS))
            assert call == {
                "type": "TOOL_CALL",
                "toolCallId": call["toolCallId"],
                "toolName": "grep_file",
                "params": {
                    "pattern": "TODO",
                    "projectKey": "autoloop",
                    "webSocketSessionId": SESSION,
                },
                "webSocketSessionId": SESSION,
                "projectPath": "/home/x",
            }
            connection.send(
                result(call["toolCallId"], success=True, result="found", executionTime=150)
            )
            answered = waiting.result(PATIENCE_SECONDS)
        assert (answered.success, answered.text, answered.duration_ms) == (True, "found", 150)


def test_a_result_without_a_pending_call_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    calling = PluginClient(SESSION, "autoloop")
    with caplog.at_level(logging.WARNING):
        assert calling.handle_message(result("nobody-1", success=True)) is False
        at_root = {"type": "TOOL_RESULT", "toolCallId": "at-root", "success": True}
        assert calling.handle_message(json.dumps(at_root)) is False
        assert calling.handle_message("no json") is False
    assert [record.getMessage() for record in caplog.records] == [
        "⚠️ 未找到对应的工具调用: toolCallId=nobody-1",
        "⚠️ 未找到对应的工具调用: toolCallId=",
    ]


def test_a_call_without_what_is_required_is_never_sent() -> None:
    with running(IdeBackend()) as backend, connect_by_hand(backend):
        calling = session_of(backend)
        for tool, params, said in [
            ("", {}, "toolName 字段缺失或为空"),
            ("grep_file", {}, "pattern 字段缺失或为空"),
            ("read_file", {"relativePath": ""}, "relativePath 字段缺失或为空"),
            ("read_file", {"relativePath": "a", "projectKey": ""}, "projectKey 字段缺失或为空"),
        ]:
            refused = calling.call(tool, params)
            assert (refused.id, refused.success, refused.text) == ("", False, said)
        assert "不支持的工具" in calling.call("sing", {}).text


def test_a_plugin_that_says_nothing_is_given_up_and_its_late_result_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = IdeBackend(answer_timeout_seconds=0.3)
    with running(backend), connect_by_hand(backend) as connection:
        calling = session_of(backend)
        late = calling.call("grep_file", {"pattern": "TODO"})
        assert (late.success, late.text) == (False, "工具执行超时: 0.3 秒")
        assert calling.handle_message(result(late.id, success=True, result="late")) is False
        assert connection.recv(PATIENCE_SECONDS)


def test_without_a_plugin_a_call_fails_at_once() -> None:
    calling = PluginClient(SESSION, "autoloop")
    assert calling.call("grep_file", {"pattern": "x"}).text == "IDE 插件未连接"


def test_a_plugin_comes_back_and_brings_the_result_it_could_not_send(context: ToolContext) -> None:
    gate = Gate()
    slow = ToolRegistry(
        (*(tool for tool in IDE_TOOLS if tool.name != "read_file"), _make_slow_tool(gate))
    )
    backend = IdeBackend()
    with running(backend), plugin(backend, IdeToolExecutor(slow, context)):
        calling = session_of(backend)
        first = calling._connection
        assert isinstance(first, Connection)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(calling.call, "read_file", {"relativePath": "x"})
            assert gate.entered.acquire(timeout=PATIENCE_SECONDS)
            first.socket.shutdown(2)
            gate.opened.set()
            answered = waiting.result(PATIENCE_SECONDS)
        assert (answered.success, answered.text) == (True, "late")
        assert calling._connection is not first


def _make_slow_tool(gate: Gate) -> Tool[Any]:
    reading: Tool[Any] = file_access.read_window
    return replace(reading, run=gate.run)


def test_a_restarted_backend_is_connected_to_again(executor: IdeToolExecutor) -> None:
    backend = IdeBackend(token="secret")
    number = backend.port.port_number
    with running(backend), plugin(backend, executor):
        session_of(backend)
        backend.port.stop()
        again = _reopen(number)
        with running(again):
            calling = session_of(again)
            assert calling.call("grep_file", {"pattern": "TODO"}).success


def _reopen(number: int) -> IdeBackend:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return IdeBackend(number, "secret")
        except OSError:
            assert time.monotonic() < deadline
