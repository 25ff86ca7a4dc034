"""Conversations listed, read and deleted over a real kernel process."""

import threading
from pathlib import Path

import pytest
from support.chat_server import ChatServer, WaitForEvent, delta, reply_text
from support.conversation_client import SESSION, ConversationClient
from support.kernel_process import Line, code_of, reason_of

pytestmark = pytest.mark.slow


def listed(asker: ConversationClient, session: int = SESSION) -> list[Line]:
    data = asker.kernel.request("getConversations", session=session)["data"]
    found: list[Line] = data["conversations"]
    return found


def ask_for(asker: ConversationClient, kind: str, number: int, session: int = SESSION) -> Line:
    return asker.kernel.request(kind, session=session, conversationId=number)


def test_conversations_are_listed_read_and_deleted(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(reply_text("One."), reply_text("Two."), reply_text("Again."))
    assert listed(asker) == []
    asker.ask_and_wait("first?", number=1)
    asker.ask_and_wait("second?", number=2)
    assert [(each["conversationId"], each["topic"]) for each in listed(asker)] == [
        (2, "second?"),
        (1, "first?"),
    ]
    asker.ask_and_wait("more?", number=1)
    newest = listed(asker)[0]
    assert (newest["conversationId"], newest["turns"]) == (1, 2)
    whole = ask_for(asker, "getConversation", 1)["data"]
    assert whole == asker.read_history(1)
    assert whole["history"][1]["time"] == newest["time"]
    usage = asker.list_usage()
    assert code_of(ask_for(asker, "deleteConversation", 1)) == "SUCCESS"
    assert [each["conversationId"] for each in listed(asker)] == [2]
    assert code_of(ask_for(asker, "getConversation", 1)) == "WRONG_PARAM"
    assert asker.list_usage() == usage


def test_a_conversation_is_not_deleted_in_any_window_while_it_is_being_answered(
    asker: ConversationClient, server: ChatServer, repo: Path
) -> None:
    go_on = threading.Event()
    server.extend_script([delta("One"), WaitForEvent(go_on), *reply_text(" and done.")])
    asked = asker.ask("one?")
    asker.wait_for_reply(asked, "answer", "One")
    (under_way,) = listed(asker)
    assert (under_way["topic"], under_way["turns"]) == ("one?", 0)
    asker.kernel.open(repo, session=8)
    for session in (SESSION, 8):
        refusal = ask_for(asker, "deleteConversation", 1, session)
        assert code_of(refusal) == "WRONG_PARAM"
        assert "is being answered" in reason_of(refusal)
    go_on.set()
    asker.wait_for_reply(asked, "done")
    assert len(asker.read_history()["history"]) == 1
    assert code_of(ask_for(asker, "deleteConversation", 1, 8)) == "SUCCESS"
    assert listed(asker) == []


def test_a_window_sees_the_conversations_of_its_own_repository(
    asker: ConversationClient, server: ChatServer, tmp_path: Path
) -> None:
    server.extend_script(reply_text("One."))
    asker.ask_and_wait("first?", number=1)
    other = tmp_path / "other"
    other.mkdir()
    asker.kernel.open(other, session=8)
    assert listed(asker, 8) == []
    for kind in ("getConversation", "deleteConversation"):
        assert code_of(ask_for(asker, kind, 1, 8)) == "WRONG_PARAM"
    assert len(listed(asker)) == 1
