"""A question to the chat model of the settings: progress, sources, and an end when cancelled."""

from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.chat_server import ChatServer, Hang, called, delta, refused, said
from support.conversation_window import chat_settings

Agent = Callable[..., None]
CLOSED = said("It is closed in `session.py:4-6`,", " you see.", used=(1000, 200))


@pytest.fixture
def model(user_data: Path) -> Iterator[ChatServer]:
    with ChatServer() as running:
        chat_settings(user_data, running.url)
        yield running


@pytest.mark.slow
def test_an_answer_has_sources_and_its_way_is_told(agent: Agent, model: ChatServer) -> None:
    wish = called(("search", {"queries": ["add_route"], "purpose": "Routes?"}), used=(500, 0))
    model.then(wish, CLOSED)
    heard: list[tuple[float, str | None]] = []

    async def hear(done: float, _whole: float | None, about: str | None) -> None:
        heard.append((done, about))

    async def talk(client: Client) -> None:
        asked = {"question": "How does a Session end?"}
        result = await client.call_tool("ask", asked, progress_callback=hear)
        text = result.content[0].text
        assert not result.is_error, text
        assert text.startswith(
            "It is closed in `session.py:4-6`, you see.\n\nSources:\n- session.py:4-6 verified"
        )
        assert b"def close(self)" in model.received[0].body

    agent(talk)
    steps = [done for done, _ in heard]
    assert steps == sorted(set(steps))


@pytest.mark.slow
def test_a_model_that_refuses_is_an_error_of_the_tool(agent: Agent, model: ChatServer) -> None:
    model.then(refused(401, "wrong key"))

    async def talk(client: Client) -> None:
        result = await client.call_tool("ask", {"question": "Why?"})
        assert result.is_error
        assert "401" in result.content[0].text or "key" in result.content[0].text
        result = await client.call_tool("ask", {"question": "Why?", "model": "nobody"})
        assert result.is_error
        assert "nobody" in result.content[0].text

    agent(talk)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_question_ends_at_the_model_and_other_calls_go_on(
    agent: Agent, model: ChatServer, mode: str
) -> None:
    model.then([delta("It"), Hang()])

    async def talk(client: Client) -> None:
        async def ask() -> None:
            await client.call_tool("ask", {"question": "Why?"})

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            received = await anyio.to_thread.run_sync(model.wait_for_request)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(received.hung_up.wait, 30)
        result = await client.call_tool("read", {"path": "routing.py"})
        assert not result.is_error

    agent(talk, mode)
