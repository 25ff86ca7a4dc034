"""A session as a chat follows it, over a real engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.chat.session_feed import SessionFeed
from codekernel.domain.agent_sessions import MessagePage
from support.scripted_agent import EngineWorld, open_world


@pytest.fixture
def world(user_data: Path) -> Iterator[EngineWorld]:
    with open_world(user_data) as opened:
        yield opened


def test_what_was_shown_while_the_messages_were_read_does_not_come_back(
    world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = world.start()
    world.send(session.id, "first")
    world.wait_until_idle(session.id)
    feed = SessionFeed(world.engine, session.id, 0)
    feed.load()
    read_messages = world.engine.read_messages

    def show_meanwhile(*args: Any, **fields: Any) -> MessagePage:
        page = read_messages(*args, **fields)
        feed.forget_shown([1])
        return page

    monkeypatch.setattr(world.engine, "read_messages", show_meanwhile)
    feed.load()
    state = feed.read_state()
    assert state is not None
    assert state.turns == ()


def test_events_that_were_missed_are_read(world: EngineWorld) -> None:
    session = world.start()
    feed = SessionFeed(world.engine, session.id, 0)
    feed.load()
    world.send(session.id, "first")
    world.wait_until_idle(session.id)
    world.send(session.id, "second")
    world.wait_until_idle(session.id)
    world.engine.update_session(session.id, name="named")
    event = world.wait_for(lambda it: it.session is not None and it.session.name == "named")
    feed.apply(event)
    state = feed.read_state()
    assert state is not None
    assert [turn.first_seq for turn in state.turns] == [1, 3]
