"""The tools of an agent, ``ask`` with a chat model among them."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from adapters.mcp.conftest import text_of, text_of_resource
from mcp import Client, MCPError
from support.chat_server import (
    ChatServer,
    WaitForDisconnect,
    delta,
    reply_calls,
    reply_error,
    reply_text,
)
from support.conversation_client import chat_settings

Agent = Callable[..., None]


async def call(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert len(result.content) == 1
    return text_of(result)


async def call_failing(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_answers_and_every_mistake_is_an_error_of_the_tool(
    agent: Agent, mode: str
) -> None:
    async def run(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "search", "read", "files", "grep", "symbols", "calls", "history", "ask",
        ]  # fmt: skip
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all(tool.description and tool.input_schema["properties"] for tool in tools)

        found = await call(client, "search", query="where does a session end", limit=1)
        assert found.startswith("session.py:1-6 Session")
        assert await call(client, "read", path="session.py", start_line=4, end_line=4) == (
            "4\t    def close(self) -> None:\n[lines 4-4 of 6]"
        )
        listed = await call(client, "files")
        assert listed.splitlines() == ["main.py", "routing.py", "session.py", "[3 files]"]
        lines = await call(client, "grep", pattern="add_route(", path="*.py")
        assert lines.startswith("main.py\n5: add_route('/', print)\nrouting.py\n1: def add_route(")
        outline = await call(client, "symbols", path="session.py")
        assert outline.splitlines() == [
            "1-6 class class Session:", "  4-6 method def close(self) -> None:",
        ]  # fmt: skip
        defined = await call(client, "symbols", name="session.close")
        assert defined.startswith("session.py:4-6 method Session.close: def close(self)")
        chain = await call(client, "calls", symbol="add_route", direction="callers")
        assert "- begin main.py:4-5 calls at 5" in chain
        reached = await call(client, "calls", symbol="routing.py:1", direction="impact")
        assert "reaches 1 definitions in 1 files, within 3 calls" in reached
        assert "tests: none found" in reached
        like = await call(client, "search", like="routing.py:1")
        assert "session.py:" in like
        assert "routing.py:1-2" not in like
        # Not listed any more, for those who know it.
        chain = await call(client, "call_chain", method="add_route", direction="callers")
        assert "begin (function, main.py:4-5)" in chain
        status = await client.call_tool("index_status", {"wait": True})
        assert status.structured_content["state"] == "idle"
        assert status.structured_content["files"] == 3
        assert "Files: 3 indexed" in text_of(status)

        assert "is outside the repository" in await call_failing(client, "read", path="../secret")
        assert "Say what to look for" in await call_failing(client, "search", quest="x")
        assert "missing required field `path`" in await call_failing(client, "read", nothing="x")
        assert "is not valid" in await call_failing(client, "search", query="/(/")
        assert "No definition of nobody" in await call_failing(client, "calls", symbol="nobody")
        assert "is not in a git repository" in await call_failing(
            client, "history", place="session.py:4"
        )
        assert "There is no file nobody" in await call_failing(client, "history", place="nobody")
        assert "Nothing called nobody" in await call_failing(client, "symbols", name="nobody")
        assert "Did you mean add_route?" in await call_failing(client, "calls", symbol="ad_route")
        assert "Did you mean add_route?" in await call_failing(client, "symbols", name="add_rout")
        assert "Did you mean routing.py?" in await call_failing(
            client, "history", place="src/rooting.py:3"
        )
        assert "Did you mean routing.py?" in await call_failing(client, "read", path="rooting.py")
        assert "Say which file" in await call_failing(client, "symbols")
        assert "no chat model is set up" in await call_failing(client, "ask", question="Why?")
        with pytest.raises(MCPError, match="There is no tool sing"):
            await client.call_tool("sing", {})

    agent(run, mode)


@pytest.mark.slow
def test_files_and_the_state_of_the_index_are_resources(agent: Agent, project: Path) -> None:
    (project / "a b ü.md").write_text("# Grüße\n", encoding="utf-8")

    async def run(client: Client) -> None:
        await client.call_tool("index_status", {"wait": True})
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        assert list(listed) == [
            "codekernel://index/status",
            "codekernel://file/a%20b%20%C3%BC.md",
            "codekernel://file/main.py",
            "codekernel://file/routing.py",
            "codekernel://file/session.py",
        ]
        assert listed["codekernel://file/main.py"].mime_type == "text/x-python"
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "codekernel://file/{+path}"
        read = await client.read_resource("codekernel://file/a%20b%20%C3%BC.md")
        assert text_of_resource(read) == "# Grüße\n"
        read = await client.read_resource("codekernel://index/status")
        assert '"files": 4' in text_of_resource(read)
        for address, reason in [
            ("codekernel://file/../x", "outside the repository"),
            ("codekernel://file/none.py", "none.py"),
            ("codekernel://song", "no resource"),
        ]:
            with pytest.raises(MCPError, match=reason):
                await client.read_resource(address)

    agent(run)


@pytest.mark.slow
def test_progress_is_reported_while_the_first_index_is_built_and_never_decreases(
    agent: Agent, project: Path
) -> None:
    for number in range(1500):
        text = "".join(f"def f{number}_{line}():\n    return {line}\n" for line in range(40))
        (project / f"f{number}.py").write_text(text, encoding="utf-8")
    reports: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def run(client: Client) -> None:
        found: Any = await client.call_tool("search", {"query": "f7_3"}, progress_callback=note)
        assert not found.is_error
        status = await client.call_tool("index_status", {"wait": True}, progress_callback=note)
        assert status.structured_content["files"] == 1503
        assert "f7.py" in await call(client, "search", query="f7_3", limit=1)
        listed, cursor = [], None
        for _ in range(4):  # 1503 files, 500 a page
            page = await client.list_resources(cursor=cursor)
            listed += [each.uri for each in page.resources]
            cursor = page.next_cursor
        assert cursor is None
        assert len(set(listed)) == 1504
        with pytest.raises(MCPError, match="no cursor"):
            await client.list_resources(cursor="é")

    agent(run)
    assert any("being made" in str(message) for _, _, message in reports)
    firsts = [done for done, _, _ in reports]
    assert all(done <= total for done, total, _ in reports if total)
    assert firsts


@pytest.mark.slow
def test_secrets_are_kept_from_the_model_of_the_agent(agent: Agent, project: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (project / "deploy.py").write_text(f'DEPLOYMENT = "{secret}"\n', encoding="utf-8")

    async def run(client: Client) -> None:
        await client.call_tool("index_status", {"wait": True})
        found = await call(client, "search", query="DEPLOYMENT")
        read = await client.read_resource("codekernel://file/deploy.py")
        for text in (found, text_of_resource(read)):
            assert secret not in text
            assert "[masked: GitHub token]" in text

    agent(run)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_is_read_by_the_name_that_search_gave_even_if_that_is_no_text(
    agent: Agent, project: Path
) -> None:
    name = os.path.join(os.fsencode(project), b"caf\xe9\x9b.py")  # noqa: PTH118 - bytes
    Path(os.fsdecode(name)).write_text("def zeppelin():\n    return 1\n", encoding="utf-8")

    async def run(client: Client) -> None:
        await call(client, "index_status", wait=True)
        found = await call(client, "search", query="zeppelin()")
        assert "caf\\xe9\\x9b.py:" in found
        assert "def zeppelin" in await call(client, "read", path="caf\\xe9\\x9b.py")

    agent(run)


CLOSED = reply_text("It is closed in `session.py:4-6`,", " you see.", used=(1000, 200))


@pytest.fixture
def model(user_data: Path) -> Iterator[ChatServer]:
    with ChatServer() as running:
        chat_settings(user_data, running.url)
        yield running


@pytest.mark.slow
def test_an_answer_has_sources_and_reports_its_progress(agent: Agent, model: ChatServer) -> None:
    search_call = reply_calls(
        ("search", {"queries": ["add_route"], "purpose": "Routes?"}), used=(500, 0)
    )
    model.extend_script(search_call, CLOSED)
    reports: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message))

    async def run(client: Client) -> None:
        arguments = {"question": "How does a Session end?"}
        result = await client.call_tool("ask", arguments, progress_callback=note)
        text = text_of(result)
        assert not result.is_error, text
        assert text.startswith(
            "It is closed in `session.py:4-6`, you see.\n\nSources:\n- session.py:4-6 verified"
        )
        assert b"def close(self)" in model.received[0].body

    agent(run)
    steps = [done for done, _ in reports]
    assert steps == sorted(set(steps))


@pytest.mark.slow
def test_a_model_that_refuses_is_an_error_of_the_tool(agent: Agent, model: ChatServer) -> None:
    model.extend_script(reply_error(401, "wrong key"))

    async def run(client: Client) -> None:
        result = await client.call_tool("ask", {"question": "Why?"})
        assert result.is_error
        assert "401" in text_of(result) or "key" in text_of(result)
        result = await client.call_tool("ask", {"question": "Why?", "model": "nobody"})
        assert result.is_error
        assert "nobody" in text_of(result)

    agent(run)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_question_ends_at_the_model_and_other_calls_go_on(
    agent: Agent, model: ChatServer, mode: str
) -> None:
    model.extend_script([delta("It"), WaitForDisconnect()])

    async def run(client: Client) -> None:
        async def ask() -> None:
            await client.call_tool("ask", {"question": "Why?"})

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            received = await anyio.to_thread.run_sync(model.wait_for_request)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(received.hung_up.wait, 30)
        result = await client.call_tool("read", {"path": "routing.py"})
        assert not result.is_error

    agent(run, mode)
