"""beginConversation over a real kernel process and a scripted chat server."""

import html
import threading
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer, WaitForEvent, reply_calls, reply_error, reply_text
from support.conversation_client import (
    ConversationClient,
    answer_of,
    chat_settings,
    kinds,
)
from support.kernel_process import Line, code_of, reason_of

pytestmark = pytest.mark.slow


def test_a_question_is_acknowledged_retrieved_for_answered_and_kept(
    asker_with_vectors: ConversationClient, server: ChatServer
) -> None:
    asker = asker_with_vectors
    server.extend_script(
        reply_calls(("search", {"purpose": "Who closes?", "queries": ["Session close", "routes"]})),
        reply_text("It is closed in `session.py:4-6`", ", you see.", used=(100, 20)),
    )
    replies = asker.ask_and_wait("How does a Session end?")
    assert kinds(replies)[0] == "ack"
    assert "data" not in replies[0]
    assert kinds(replies)[1:3] == ["annotation", "search"]
    rounds = " ".join(kinds(replies)).split("doneRetrieval")
    assert len(rounds) == 3
    assert rounds[1].split()[:2] == ["annotation", "search"]
    assert rounds[2].split() == ["answer", "answer", "done"]
    done = replies[-1]["data"]
    assert done["content"] == ""
    assert done["citations"] == [
        {
            "text": "session.py:4-6",
            "filePath": "session.py",
            "begin": 4,
            "end": 6,
            "state": "verified",
        }
    ]
    result = next(line["data"] for line in replies if kinds([line]) == ["result"])["content"]
    assert set(result) == {
        "content",
        "metadata",
        "beginLine",
        "endLine",
        "filePath",
        "score",
        "chunkId",
        "highlightedContent",
    }
    assert "<mark>Session</mark>" in result["highlightedContent"]
    shown = [line["data"]["content"] for line in replies if kinds([line]) == ["result"]]
    for each in shown:
        plain = each["highlightedContent"].replace("<mark>", "").replace("</mark>", "")
        assert html.unescape(plain) == each["content"]
    history = asker.read_history()
    assert history["conversationId"] == 1
    assert history["topic"] == "How does a Session end?"
    (turn,) = history["history"]
    assert turn["query"] == history["topic"]
    assert turn["answer"] == answer_of(replies) == "It is closed in `session.py:4-6`, you see."
    assert [one["annotation"] for one in turn["retrieval"]][1] == "Who closes?"
    shown = [line["data"]["content"] for line in replies if kinds([line]) == ["result"]]
    assert [found for one in turn["retrieval"] for found in one["result"]] == shown
    assert turn["time"] > 1_600_000_000_000
    assert not list((asker.user_data / "conversations" / "unfinished").glob("*.jsonl"))


def test_the_model_reads_numbered_lines_and_what_came_before(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(reply_text("First answer."), reply_text("Second answer."))
    asker.ask_and_wait("What is add_route?")
    asker.ask_and_wait("And who calls it?")
    first, second = (request.json["messages"] for request in server.received)
    assert "    1 | def add_route(path, handler):" in first[-1]["content"]
    assert [message["content"] for message in second[1:]] == [
        "What is add_route?",
        "First answer.",
        "And who calls it?",
    ]
    assert len(asker.read_history()["history"]) == 2
    assert asker.read_history()["topic"] == "What is add_route?"


def test_usage_is_the_providers_count_with_its_cost_and_days(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(reply_text("One.", used=(1000, 100)), reply_text("Two.", used=(2000, 50)))
    assert asker.ask_and_wait("one?")[-1]["data"]["usage"] == {
        "input_token": 1000,
        "output_token": 100,
        "exact": True,
    }
    asker.ask_and_wait("two?", number=2)
    (usage,) = asker.list_usage()
    assert (usage["input_token"], usage["output_token"], usage["total_token"]) == (3000, 150, 3150)
    assert usage["modelName"] == usage["model_name"] == "scripted-1"
    assert usage["cost"] == pytest.approx((3000 * 2 + 150 * 10) / 1e6)
    assert [day["input_token"] for day in usage["days"]] == [3000]


def test_a_model_without_tools_searches_by_a_block_of_text(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(
        reply_error(400, "tools are not supported by this model"),
        reply_text("```sea", "rch\n# Who routes?\nadd_route\n", "```", "\nRESULT: invented"),
        reply_text("By `routing.py:1-2`."),
    )
    replies = asker.ask_and_wait("How does a Session end?")
    assert answer_of(replies) == "By `routing.py:1-2`."
    purposes = [line["data"]["content"] for line in replies if kinds([line]) == ["annotation"]]
    assert purposes[1:] == ["Who routes?"]
    assert "tools" not in server.received[1].json


def test_secrets_stay_on_the_machine_and_are_counted(
    asker: ConversationClient, server: ChatServer, repo: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (repo / "deploy.py").write_text(f'GITHUB = "{secret}"  # deployment\n', encoding="utf-8")
    asker.kernel.wait_for(lambda _: asker.is_indexed(repo), "the index")
    server.extend_script(reply_text("There is one."))
    replies = asker.ask_and_wait("GITHUB deployment")
    assert secret.encode() not in server.received[0].body
    assert b"[masked: GitHub token]" in server.received[0].body
    assert replies[-1]["data"]["masked"] == 1
    shown = [line["data"]["content"]["content"] for line in replies if kinds([line]) == ["result"]]
    assert any(secret in content for content in shown)


def test_what_cannot_be_asked_is_refused_in_the_first_reply_and_done_follows(
    asker: ConversationClient, server: ChatServer, user_data: Path
) -> None:
    def refusal(**fields: Any) -> tuple[str, str]:
        values: Line = {"modelName": "model", "conversationId": 1, "query": "why?"} | fields
        number = asker.kernel.post("beginConversation", session=7, **values)
        end = asker.wait_for_reply(number, "done")
        assert code_of(end) == "SUCCESS"
        assert end["data"]["outcome"] == "failed"
        reply_error, last = asker.list_replies(number)
        assert last == end
        assert "data" not in reply_error
        return code_of(reply_error), reason_of(reply_error)

    code, reason = refusal(modelName="nobody")
    assert code == "NETWORK_ERROR"
    assert '"nobody"' in reason
    assert '"model"' in reason
    for number in (-1, 2**53, 10**30, "1", "../1", 1.5, None, True):
        assert refusal(conversationId=number)[0] == "WRONG_PARAM"
    for query in ("", " \n", "x" * 1_000_000, 5):
        assert refusal(query=query)[0] == "WRONG_PARAM"
    assert not (user_data / "conversations").exists()
    assert server.received == []
    assert code_of(asker.stop(99)) == "SUCCESS"


def test_without_a_key_the_first_reply_says_so(
    asker: ConversationClient, server: ChatServer, user_data: Path
) -> None:
    chat_settings(user_data, server.url, model={"setApiKey": True})
    asker.kernel.post("setApiKey", name="model", apiKey="sk-invented")
    assert code_of(asker.kernel.request("updateSettings")) == "SUCCESS"
    asker.kernel.request("setApiKey", name="model", apiKey="")
    before = len(asker.kernel.lines)
    reply, done = asker.ask_and_wait("why?")
    assert code_of(reply) == "NETWORK_ERROR"
    assert "API key" in reason_of(reply)
    assert kinds([done]) == ["done"]
    asker.kernel.request("getRepos")
    assert len(asker.kernel.lines) == before + 3


def test_a_conversation_that_is_still_answering_or_has_no_session_ends_with_done_too(
    asker: ConversationClient, server: ChatServer
) -> None:
    gate = threading.Event()
    server.extend_script([WaitForEvent(gate), *reply_text("At last.")])
    first = asker.ask("first?")
    asker.wait_for_reply(first, "doneRetrieval")
    assert kinds(asker.ask_and_wait("second?")) == ["WRONG_PARAM", "done"]
    assert kinds(asker.ask_and_wait("why?", session=99)) == ["SESSION_NOT_FOUND", "done"]
    assert kinds(asker.list_replies(first))[-1] != "done"
    gate.set()
    asker.wait_for_reply(first, "done")
    assert kinds(asker.list_replies(first)).count("done") == 1


def test_a_damaged_history_is_set_aside_and_a_marked_one_keeps_its_marks(
    asker: ConversationClient, server: ChatServer, user_data: Path
) -> None:
    folder = user_data / "conversations"
    folder.mkdir()
    (folder / "conversation-1.json").write_bytes(b'{"conversationId": 1, "hist')
    server.extend_script(reply_text("One."))
    asker.ask_and_wait("one?")
    (aside,) = folder.glob("conversation-1.json.unreadable-*")
    assert aside.read_bytes() == b'{"conversationId": 1, "hist'
    path = folder / "conversation-1.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"topic"', '"starred": true, "topic"'),
        encoding="utf-8",
    )
    asker.ask_and_wait("two?")
    assert asker.read_history()["starred"] is True
    assert [turn["query"] for turn in asker.read_history()["history"]] == ["one?", "two?"]
