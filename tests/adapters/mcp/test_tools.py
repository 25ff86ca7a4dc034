"""What an agent gets from each tool and resource, over stdin and stdout."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

Agent = Callable[..., None]


async def said(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (content,) = result.content
    return str(content.text)


async def refused(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_answers_and_every_mistake_is_an_error_of_the_tool(
    agent: Agent, mode: str
) -> None:
    async def talk(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "search", "read", "symbols", "call_chain", "ask", "index_status",
        ]  # fmt: skip
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all(tool.description and tool.input_schema["properties"] for tool in tools)

        found = await said(client, "search", query="where does a session end", limit=1)
        assert found.startswith("session.py:1-6 Session")
        assert await said(client, "read", path="session.py", start_line=4, end_line=4) == (
            "    def close(self) -> None:\n"
        )
        outline = await said(client, "symbols", path="session.py")
        assert outline.splitlines() == [
            "1-6 class class Session:", "  4-6 method def close(self) -> None:",
        ]  # fmt: skip
        defined = await said(client, "symbols", name="session.close")
        assert defined.startswith("session.py:4-6 method Session.close: def close(self)")
        chain = await said(client, "call_chain", method="add_route", direction="callers")
        assert "begin (function, main.py:4-5)" in chain
        status = await client.call_tool("index_status", {"wait": True})
        assert status.structured_content["state"] == "idle"
        assert status.structured_content["files"] == 3
        assert "Files: 3 indexed" in status.content[0].text

        assert "is outside the repository" in await refused(client, "read", path="../secret")
        assert "missing required field `query`" in await refused(client, "search", quest="x")
        assert "is not valid" in await refused(client, "search", query="/(/")
        assert "No definition of nobody" in await refused(client, "call_chain", method="nobody")
        assert "Nothing called nobody" in await refused(client, "symbols", name="nobody")
        assert "Say which file" in await refused(client, "symbols")
        assert "no chat model is set up" in await refused(client, "ask", question="Why?")
        with pytest.raises(MCPError, match="There is no tool sing"):
            await client.call_tool("sing", {})

    agent(talk, mode)


@pytest.mark.slow
def test_files_and_the_state_of_the_index_are_resources(agent: Agent, project: Path) -> None:
    (project / "a b ü.md").write_text("# Grüße\n", encoding="utf-8")

    async def talk(client: Client) -> None:
        await client.call_tool("index_status", {"wait": True})
        listed = {one.uri: one for one in (await client.list_resources()).resources}
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
        (content,) = (await client.read_resource("codekernel://file/a%20b%20%C3%BC.md")).contents
        assert content.text == "# Grüße\n"
        (content,) = (await client.read_resource("codekernel://index/status")).contents
        assert '"files": 4' in content.text
        for address, reason in [
            ("codekernel://file/../x", "outside the repository"),
            ("codekernel://file/none.py", "none.py"),
            ("codekernel://song", "no resource"),
        ]:
            with pytest.raises(MCPError, match=reason):
                await client.read_resource(address)

    agent(talk)


@pytest.mark.slow
def test_progress_is_told_while_the_first_index_is_made_and_never_goes_back(
    agent: Agent, project: Path
) -> None:
    for number in range(1500):
        text = "".join(f"def f{number}_{line}():\n    return {line}\n" for line in range(40))
        (project / f"f{number}.py").write_text(text, encoding="utf-8")
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, whole: float | None, about: str | None) -> None:
        heard.append((done, whole, about))

    async def talk(client: Client) -> None:
        found: Any = await client.call_tool("search", {"query": "f7_3"}, progress_callback=hear)
        assert not found.is_error
        status = await client.call_tool("index_status", {"wait": True}, progress_callback=hear)
        assert status.structured_content["files"] == 1503
        assert "f7.py" in await said(client, "search", query="f7_3", limit=1)
        listed, cursor = [], None
        for _ in range(4):  # 1503 files, 500 a page
            page = await client.list_resources(cursor=cursor)
            listed += [one.uri for one in page.resources]
            cursor = page.next_cursor
        assert cursor is None
        assert len(set(listed)) == 1504
        with pytest.raises(MCPError, match="no cursor"):
            await client.list_resources(cursor="é")

    agent(talk)
    assert any("being made" in str(about) for _, _, about in heard)
    firsts = [done for done, _, _ in heard]
    assert all(done <= whole for done, whole, _ in heard if whole)
    assert firsts


@pytest.mark.slow
def test_secrets_are_kept_from_the_model_of_the_agent(agent: Agent, project: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (project / "deploy.py").write_text(f'DEPLOYMENT = "{secret}"\n', encoding="utf-8")

    async def talk(client: Client) -> None:
        await client.call_tool("index_status", {"wait": True})
        found = await said(client, "search", query="DEPLOYMENT")
        (content,) = (await client.read_resource("codekernel://file/deploy.py")).contents
        for text in (found, content.text):
            assert secret not in text
            assert "[masked: GitHub token]" in text

    agent(talk)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_is_read_by_the_name_that_search_gave_even_if_that_is_no_text(
    agent: Agent, project: Path
) -> None:
    name = os.path.join(os.fsencode(project), b"caf\xe9\x9b.py")  # noqa: PTH118 - bytes
    Path(os.fsdecode(name)).write_text("def zeppelin():\n    return 1\n", encoding="utf-8")

    async def talk(client: Client) -> None:
        await said(client, "index_status", wait=True)
        found = await said(client, "search", query="zeppelin()")
        assert "caf\\xe9\\x9b.py:" in found
        assert "def zeppelin" in await said(client, "read", path="caf\\xe9\\x9b.py")

    agent(talk)
