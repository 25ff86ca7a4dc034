"""Conversations that are stopped, cut off, refused or asked at once, over a real kernel process."""

import signal
import threading
from pathlib import Path

import pytest
from support.chat_server import (
    BodyBytes,
    ChatServer,
    CloseConnection,
    ResetConnection,
    ResponseHead,
    Step,
    StreamEvent,
    WaitForDisconnect,
    WaitForEvent,
    WholeResponse,
    delta,
    reply_calls,
    reply_error,
    reply_text,
)
from support.conversation_client import (
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
    conversation_kernel,
    kinds,
    write_sources,
)
from support.kernel_process import code_of, reason_of

pytestmark = pytest.mark.slow


def test_a_stop_hangs_up_keeps_what_was_shown_and_ends_with_done(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(
        [delta("Half an "), delta("answer"), WaitForDisconnect()], reply_text("Again.")
    )
    callback_id = asker.ask("How does a Session end?")
    asker.wait_for_reply(callback_id, "answer", "answer")
    assert code_of(asker.stop()) == "SUCCESS"
    done = asker.wait_for_reply(callback_id, "done")
    assert done["data"]["outcome"] == "stopped"
    assert done["data"]["usage"]["input_token"] > 100
    assert done["data"]["usage"]["output_token"] > 0
    assert done["data"]["usage"]["exact"] is False
    assert server.received[0].hung_up.wait(60)
    (turn,) = asker.read_history()["history"]
    assert (turn["answer"], turn["outcome"]) == ("Half an answer", "stopped")
    assert turn["retrieval"][0]["result"]
    (usage,) = asker.list_usage()
    assert usage["input_token"] == done["data"]["usage"]["input_token"]
    assert answer_of(asker.ask_and_wait("Again?")) == "Again."


def test_a_question_that_is_stopped_before_it_begins_ends_at_once(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script([WaitForDisconnect()])
    callback_id = asker.ask("How does a Session end?")
    asker.kernel.post("stopConversation", session=SESSION, conversationId=1)
    done = asker.wait_for_reply(callback_id, "done")
    assert done["data"]["outcome"] == "stopped"
    assert asker.read_history()["history"][0]["answer"] == ""


def test_a_second_question_waits_for_the_first_and_other_conversations_do_not(
    asker: ConversationClient, server: ChatServer, repo: Path
) -> None:
    go_on = threading.Event()
    server.extend_script(
        [delta("One"), WaitForEvent(go_on), *reply_text(" and done.")], reply_text("Other.")
    )
    first = asker.ask("one?")
    asker.wait_for_reply(first, "answer", "One")
    second = asker.kernel.reply_to(asker.ask("two?"))
    assert code_of(second) == "WRONG_PARAM"
    asker.kernel.open(repo, session=8)
    from_another_window = asker.kernel.reply_to(asker.ask("three?", session=8))
    assert code_of(from_another_window) == "WRONG_PARAM"
    assert answer_of(asker.ask_and_wait("other?", number=2)) == "Other."
    go_on.set()
    asker.wait_for_reply(first, "done")
    assert answer_of(asker.list_replies(first)) == "One and done."
    assert [turn["query"] for turn in asker.read_history()["history"]] == ["one?"]


def test_closing_the_window_and_stopping_the_kernel_end_an_answer_like_a_stop(
    asker: ConversationClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script([delta("Half"), WaitForDisconnect()])
    closed = asker.ask("one?", number=1)
    asker.wait_for_reply(closed, "answer")
    assert code_of(asker.kernel.request("closeRepo", sessionId=SESSION)) == "SUCCESS"
    assert asker.wait_for_reply(closed, "done")["data"]["outcome"] == "stopped"
    asker.kernel.open(repo, session=9)
    ended = asker.ask("two?", number=2, session=9)
    asker.wait_for_reply(ended, "answer")
    assert asker.kernel.stop() == 0
    assert asker.wait_for_reply(ended, "done")["data"]["outcome"] == "stopped"
    for number in (1, 2):
        assert asker.read_history(number)["history"][0]["answer"] == "Half"


REFUSED = ("ack", "NETWORK_ERROR", "done")
BROKEN = ("ack", "answer", "NETWORK_ERROR", "done")
FAULTS: dict[str, tuple[list[Step], tuple[str, ...]]] = {
    "reset": ([delta("Half"), ResetConnection()], BROKEN),
    "reset at once": ([ResetConnection()], REFUSED),
    "closed in the middle": ([delta("Half"), CloseConnection()], BROKEN),
    "garbage": ([ResponseHead(), BodyBytes(b"data: {{{{\n\n")], REFUSED),
    "401": (reply_error(401, "invalid key"), REFUSED),
    "404": (reply_error(404, "no such model"), REFUSED),
    "402": (reply_error(402, "insufficient balance"), REFUSED),
    "a page": ([WholeResponse(200, "<html>Login</html>", {"Content-Type": "text/html"})], REFUSED),
    "truncated": (
        [ResponseHead(), BodyBytes(b'data: {"choices": [{"del'), CloseConnection()],
        REFUSED,
    ),
    "an error in the stream": (
        [delta("Half"), StreamEvent({"error": {"message": "overloaded"}})],
        BROKEN,
    ),
    "nothing at all": (reply_text(), REFUSED),
}


def test_each_fault_is_told_then_done_and_the_history_is_whole(
    asker: ConversationClient, server: ChatServer
) -> None:
    for number, (name, (steps, sequence)) in enumerate(FAULTS.items(), start=1):
        server.extend_script(steps)
        replies = asker.ask_and_wait("why?", number)
        told = [kind for kind in kinds(replies) if kind not in ROUND]
        assert tuple(told) == sequence, name
        failed = next(line for line in replies if code_of(line) != "SUCCESS")
        assert "data" not in failed
        assert len(reason_of(failed)) > 20
        (turn,) = asker.read_history(number)["history"]
        assert turn["outcome"] == "failed"
        assert turn["error"] == reason_of(failed)
        assert turn["answer"] == answer_of(replies)
        server._script.clear()


ROUND = {"annotation", "search", "result", "doneRetrieval"}


def test_what_is_too_long_is_sent_again_in_short(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(
        reply_error(400, "This model's maximum context length is 4096 tokens, however you asked"),
        reply_text("Fits."),
    )
    replies = asker.ask_and_wait("Session")
    assert answer_of(replies) == "Fits."
    assert len(server.received[1].body) <= len(server.received[0].body)


def test_an_endpoint_that_nobody_serves_is_named(
    asker: ConversationClient, server: ChatServer, user_data: Path
) -> None:
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    asker.kernel.request("updateSettings")
    replies = asker.ask_and_wait("why?")
    assert kinds(replies)[-2:] == ["NETWORK_ERROR", "done"]
    assert "127.0.0.1:9" in reason_of(replies[-2])
    assert asker.list_usage() == []


@pytest.mark.parametrize("searching", [False, True])
def test_what_was_shown_before_a_kill_is_in_the_history_after_the_restart(
    server: ChatServer, user_data: Path, repo: Path, *, searching: bool
) -> None:
    write_sources(repo)
    chat_settings(user_data, server.url)
    last_seen = ("doneRetrieval",) if searching else ("answer", "said")
    begun = [reply_calls(("search", {"queries": ["add_route"]}))] if searching else []
    server.extend_script(
        reply_text("Before.", used=(10, 1)),
        *begun,
        [delta("Half "), delta("said"), WaitForDisconnect()],
    )
    with conversation_kernel(user_data, repo) as asker:
        asker.ask_and_wait("first?")
        callback_id = asker.ask("second?")
        asker.wait_for_reply(callback_id, *last_seen)
        asker.kernel.process.send_signal(signal.SIGKILL)
        asker.kernel.exit_code()
        shown = asker.list_replies(callback_id)
        assert len(asker.read_history()["history"]) == 1
    server.extend_script(reply_text("After.", used=(20, 2)))
    server._script = server._script[-1:]
    with conversation_kernel(user_data, repo, again=True) as asker:
        asker.ask_and_wait("third?")
        turns = asker.read_history()["history"]
        assert [turn["query"] for turn in turns] == ["first?", "second?", "third?"]
        assert turns[1]["answer"].startswith(answer_of(shown))
        assert bool(turns[1]["retrieval"]) is searching
        assert turns[1]["outcome"] == "interrupted"
        assert not list((user_data / "conversations/unfinished").glob("*.jsonl"))
        (usage,) = asker.list_usage()
        assert usage["input_token"] == sum(turn["usage"]["input_token"] for turn in turns)
        assert usage["output_token"] == sum(turn["usage"]["output_token"] for turn in turns)
        assert turns[1]["usage"]["input_token"] > 30


def test_many_conversations_at_once_lose_and_reorder_nothing(
    asker: ConversationClient, server: ChatServer
) -> None:
    pieces = [f"{number} " for number in range(200)]
    server.extend_script(reply_text(*pieces, used=(7, 3)))
    asked = [asker.ask("Session", number) for number in range(1, 21)]
    for callback_id in asked:
        asker.wait_for_reply(callback_id, "done")
    for number, callback_id in enumerate(asked, start=1):
        replies = asker.list_replies(callback_id)
        assert answer_of(replies) == "".join(pieces)
        assert kinds(replies)[0] == "ack"
        assert kinds(replies)[-1] == "done"
        assert asker.read_history(number)["history"][0]["answer"] == "".join(pieces)
    assert asker.list_usage()[0]["input_token"] == 7 * len(asked)
