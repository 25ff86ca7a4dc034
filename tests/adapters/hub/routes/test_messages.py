"""Messages by the client contract: envelopes, pages, the queue."""

import threading
from typing import Any

import pytest
from codekernel.domain.chat import (
    ROLE_ASSISTANT,
    ROLE_USER,
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hub_world import DeviceClient, EventStream, HubWorld
from support.scripted_agent import WAIT_SECONDS, ScriptedTurn

PAGE_FIELDS = {
    "direction", "limit", "epoch", "reset", "nextBeforeSeq", "nextBeforeAt", "nextAfterSeq",
    "nextAfterAt", "snapshotHeadSeq", "snapshotHeadAt", "hasMore",
}  # fmt: skip


def count_to(hub: HubWorld, number: int) -> str:
    """Return a session with so many messages of the agent after one of the user."""

    def turn(of: ScriptedTurn) -> None:
        for each in range(number):
            of.say(str(each))

    hub.world.agent.turn = turn
    session = hub.world.start()
    hub.world.send(session.id, "count", "first")
    hub.world.wait_until_idle(session.id)
    return session.id


def numbers_of(page: dict[str, Any]) -> list[int]:
    return [each["seq"] for each in page["messages"]]


def test_document_004_is_told_in_envelopes(hub: HubWorld, phone: DeviceClient) -> None:
    def turn(of: ScriptedTurn) -> None:
        thinking = ThinkingContent("用户想要查看文件...")
        call = ToolUseContent("call_1", "ls", {"path": "./src"})
        of.update(AgentMessage(ROLE_ASSISTANT, (thinking, call)))
        of.update(AgentMessage(ROLE_USER, (ToolResultContent("call_1", "index.ts\nutils.ts"),)))
        of.update(AgentMessage(ROLE_ASSISTANT, (TextContent("目录中包含 index.ts 和 utils.ts。"),)))

    hub.world.agent.turn = turn
    session = hub.world.start()
    phone.post(f"/api/sessions/{session.id}/messages", {"text": "ls", "localId": "l1"})
    hub.world.wait_until_idle(session.id)
    messages = phone.get(f"/api/sessions/{session.id}/messages")["messages"]
    assert [(each["seq"], each["localId"]) for each in messages] == [
        (1, "l1"), (2, None), (3, None), (4, None),
    ]  # fmt: skip
    user, call, result, answer = (each["content"] for each in messages)
    assert user["role"] == "user"
    assert user["content"] == {"type": "text", "text": "ls"}
    assert user["meta"]["sentFrom"] == "webapp"
    assert {each["role"] for each in (call, result, answer)} == {"agent"}
    assert {each["content"]["type"] for each in (call, result, answer)} == {"output"}
    assert call["content"]["data"]["type"] == "assistant"
    assert call["content"]["data"]["message"]["content"] == [
        {"type": "thinking", "thinking": "用户想要查看文件..."},
        {"type": "tool_use", "id": "call_1", "name": "ls", "input": {"path": "./src"}},
    ]
    assert result["content"]["data"]["type"] == "user"
    assert result["content"]["data"]["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "index.ts\nutils.ts"}
    ]
    assert answer["content"]["data"]["message"]["content"][0]["text"].startswith("目录中包含")
    assert all(each["invokedAt"] for each in messages)


def test_long_texts_of_an_agent_are_cut_and_those_of_a_user_are_not(
    hub: HubWorld, phone: DeviceClient
) -> None:
    hub.world.agent.turn = lambda of: of.say("x" * 70_000)
    session = hub.world.start()
    text = "y" * 90_000
    phone.post(f"/api/sessions/{session.id}/messages", {"text": text, "localId": "l"})
    hub.world.wait_until_idle(session.id)
    user, agent = phone.get(f"/api/sessions/{session.id}/messages")["messages"]
    assert user["content"]["content"]["text"] == text
    shown = agent["content"]["content"]["data"]["message"]["content"][0]["text"]
    assert len(shown) < 62_000
    assert "truncated 8560 chars" in shown


def test_what_is_stopped_is_told_as_an_event(hub: HubWorld, phone: DeviceClient) -> None:
    began = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        began.set()
        of.cancelled.wait(WAIT_SECONDS)

    hub.world.agent.turn = turn
    session = hub.world.start()
    hub.world.send(session.id, "x")
    assert began.wait(WAIT_SECONDS)
    phone.post(f"/api/sessions/{session.id}/abort")
    hub.world.wait_until_idle(session.id)
    last = phone.get(f"/api/sessions/{session.id}/messages")["messages"][-1]["content"]
    assert last["content"]["type"] == "event"
    assert last["content"]["data"]["type"] == "message"


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 60), is_old=st.booleans())
def test_pages_backwards_have_every_message_once(
    hub: HubWorld, phone: DeviceClient, limit: int, *, is_old: bool
) -> None:
    if not hub.world.engine.list_sessions():
        count_to(hub, 120)
    session_id = hub.world.engine.list_sessions()[0].id
    query: dict[str, Any] = {"limit": limit}
    seen: list[int] = []
    while True:
        answer = phone.get(f"/api/sessions/{session_id}/messages", **query)
        page = answer["page"]
        assert set(page) == PAGE_FIELDS
        assert page["direction"] == ("before" if "beforeSeq" in query else "latest")
        seen = numbers_of(answer) + seen
        if not page["hasMore"]:
            break
        query["beforeSeq"] = page["nextBeforeSeq"]
        if not is_old:
            query["beforeAt"] = page["nextBeforeAt"]
    assert seen == list(range(1, 122))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 60), start=st.integers(0, 121), until=st.integers(1, 121))
def test_pages_forwards_reach_the_head_and_always_advance(
    hub: HubWorld, phone: DeviceClient, limit: int, start: int, until: int
) -> None:
    if not hub.world.engine.list_sessions():
        count_to(hub, 120)
    record = hub.world.engine.list_sessions()[0]
    path = f"/api/sessions/{record.id}/messages"
    # The time of a message that was taken late: cursors must advance nevertheless.
    cursor = (9_000_000_000_000, start)
    seen: list[int] = []
    while True:
        answer = phone.get(
            path,
            limit=limit,
            afterSeq=cursor[1],
            afterAt=cursor[0],
            untilSeq=until,
            untilAt=9_000_000_000_001,
            epoch=record.epoch,
        )
        page = answer["page"]
        seen += numbers_of(answer)
        following = (page["nextAfterAt"], page["nextAfterSeq"])
        if not page["hasMore"]:
            break
        assert following > cursor
        assert following < (page["snapshotHeadAt"], page["snapshotHeadSeq"])
        cursor = following
    assert seen == list(range(start + 1, until + 1))


def test_another_epoch_is_answered_with_the_newest_page(hub: HubWorld, phone: DeviceClient) -> None:
    session_id = count_to(hub, 10)
    epoch = hub.world.engine.get_session(session_id).epoch
    answer = phone.get(
        f"/api/sessions/{session_id}/messages", afterSeq=5, afterAt=1, epoch=epoch + 1, limit=3
    )
    assert (answer["page"]["direction"], answer["page"]["reset"]) == ("latest", True)
    assert numbers_of(answer) == [9, 10, 11]
    assert answer["page"]["epoch"] == epoch


def test_an_empty_session_has_an_empty_page(hub: HubWorld, phone: DeviceClient) -> None:
    path = f"/api/sessions/{hub.world.start().id}/messages"
    answer = phone.get(path)
    assert (answer["messages"], answer["page"]["hasMore"]) == ([], False)
    after = phone.get(path, afterSeq=0, afterAt=0)
    assert (after["page"]["nextAfterSeq"], after["page"]["hasMore"]) == (0, False)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=201", "limit=x", "limit=-1", "afterSeq=1", "afterAt=1", "untilSeq=1",
        "beforeAt=1", "epoch=1", "afterSeq=1&afterAt=1&beforeSeq=1", "untilSeq=1&untilAt=1",
        "beforeSeq=99999999999999999999", "beforeSeq=1.5",
    ],
)  # fmt: skip
def test_wrong_cursors_are_refused(hub: HubWorld, phone: DeviceClient, query: str) -> None:
    path = f"/api/sessions/{hub.world.start().id}/messages?{query}"
    assert phone.refuse("GET", path) == (400, "invalid_request")


def test_a_local_id_is_sent_once(hub: HubWorld, phone: DeviceClient) -> None:
    session = hub.world.start()
    path = f"/api/sessions/{session.id}/messages"
    for _ in range(3):
        assert phone.post(path, {"text": "once", "localId": "same"}) == {"ok": True}
    hub.world.wait_until_idle(session.id)
    assert len(phone.get(path)["messages"]) == 2


def test_wrong_messages_are_refused(hub: HubWorld, phone: DeviceClient) -> None:
    path = f"/api/sessions/{hub.world.start().id}/messages"
    bodies: list[dict[str, Any]] = [
        {}, {"text": " "}, {"text": 1}, {"text": "x", "attachments": [{"id": "a"}]},
        {"text": "x", "scheduledAt": 1}, {"text": "x", "localId": "l" * 300},
    ]  # fmt: skip
    for body in bodies:
        assert phone.refuse("POST", path, body) == (400, "invalid_request")


def test_waiting_messages_are_shown_taken_back_and_consumed(
    hub: HubWorld, phone: DeviceClient
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def turn(of: ScriptedTurn) -> None:
        if of.text == "first":
            for number in range(30):
                of.say(str(number))
            began.set()
            go_on.wait(WAIT_SECONDS)

    hub.world.agent.turn = turn
    session = hub.world.start()
    path = f"/api/sessions/{session.id}/messages"
    stream = EventStream(phone, sessionId=session.id)
    phone.post(path, {"text": "first", "localId": "l1"})
    assert began.wait(WAIT_SECONDS)
    phone.post(path, {"text": "second", "localId": "l2"})
    phone.post(path, {"text": "third", "localId": "l3"})
    waiting = [each for each in phone.get(path)["messages"] if each["invokedAt"] is None]
    assert [each["localId"] for each in waiting] == ["l2", "l3"]
    # They are shown however small the page is.
    small = phone.get(path, limit=1)["messages"]
    assert {each["localId"] for each in small} == {"l2", "l3"}
    state = phone.post(f"{path}/queued-state", {"localIds": ["l1", "l2", "l3", "gone"]})
    assert set(state["queuedLocalIds"]) == {"l2", "l3"}
    assert [each["localId"] for each in state["invokedLocalMessages"]] == ["l1"]
    assert state["invokedLocalMessages"][0]["invokedAt"]
    cancelled = phone.http.delete(f"{path}/l2").json()
    assert cancelled == {"status": "cancelled", "localId": "l2"}
    told = stream.wait_for_type("message-cancelled").data
    assert (told["localId"], told["messageId"]) == ("l2", waiting[0]["id"])
    stream.wait_for_type("messages-invalidated")
    first = phone.get(path, limit=200)["messages"][0]
    late = phone.http.delete(f"{path}/{first['id']}").json()
    assert (late["status"], late["message"]["localId"]) == ("invoked", "l1")
    assert phone.http.delete(f"{path}/none").json() == {"status": "cancelled", "localId": None}
    go_on.set()
    consumed = stream.wait_for(lambda it: it.data.get("localIds") == ["l3"]).data
    assert consumed["type"] == "messages-consumed"
    assert consumed["invokedAt"] > 1_000_000_000_000
