"""Conversations that are stopped, cut off, refused or asked at once, over a real kernel process."""

import signal
import threading
from pathlib import Path

import pytest
from support.chat_server import (
    ChatServer,
    Close,
    Data,
    Hang,
    Raw,
    Reset,
    Start,
    Step,
    Wait,
    Whole,
    called,
    delta,
    refused,
    said,
)
from support.conversation_window import (
    SESSION,
    Asker,
    answer_of,
    chat_settings,
    conversation_kernel,
    kinds,
    write_sources,
)
from support.kernel_process import code_of, reason_of

pytestmark = pytest.mark.slow


def test_a_stop_hangs_up_keeps_what_was_shown_and_ends_with_done(
    asker: Asker, server: ChatServer
) -> None:
    server.then([delta("Half an "), delta("answer"), Hang()], said("Again."))
    callback_id = asker.ask("How does a Session end?")
    asker.until(callback_id, "answer", "answer")
    assert code_of(asker.stop()) == "SUCCESS"
    done = asker.until(callback_id, "done")
    assert done["data"]["outcome"] == "stopped"
    assert done["data"]["usage"]["input_token"] > 100
    assert done["data"]["usage"]["output_token"] > 0
    assert done["data"]["usage"]["exact"] is False
    assert server.received[0].hung_up.wait(10)
    (turn,) = asker.history()["history"]
    assert (turn["answer"], turn["outcome"]) == ("Half an answer", "stopped")
    assert turn["retrieval"][0]["result"]
    (usage,) = asker.usage()
    assert usage["input_token"] == done["data"]["usage"]["input_token"]
    assert answer_of(asker.answered("Again?")) == "Again."


def test_a_question_that_is_stopped_before_it_begins_ends_at_once(
    asker: Asker, server: ChatServer
) -> None:
    server.then([Hang()])
    callback_id = asker.ask("How does a Session end?")
    asker.kernel.post("stopConversation", session=SESSION, conversationId=1)
    done = asker.until(callback_id, "done")
    assert done["data"]["outcome"] == "stopped"
    assert asker.history()["history"][0]["answer"] == ""


def test_a_second_question_waits_for_the_first_and_other_conversations_do_not(
    asker: Asker, server: ChatServer, repo: Path
) -> None:
    go_on = threading.Event()
    server.then([delta("One"), Wait(go_on), *said(" and done.")], said("Other."))
    first = asker.ask("one?")
    asker.until(first, "answer", "One")
    second = asker.kernel.reply_to(asker.ask("two?"))
    assert code_of(second) == "WRONG_PARAM"
    asker.kernel.open(repo, session=8)
    from_another_window = asker.kernel.reply_to(asker.ask("three?", session=8))
    assert code_of(from_another_window) == "WRONG_PARAM"
    assert answer_of(asker.answered("other?", number=2)) == "Other."
    go_on.set()
    asker.until(first, "done")
    assert answer_of(asker.replies(first)) == "One and done."
    assert [turn["query"] for turn in asker.history()["history"]] == ["one?"]


def test_closing_the_window_and_stopping_the_kernel_end_an_answer_like_a_stop(
    asker: Asker, server: ChatServer, repo: Path
) -> None:
    server.then([delta("Half"), Hang()])
    closed = asker.ask("one?", number=1)
    asker.until(closed, "answer")
    assert code_of(asker.kernel.request("closeRepo", sessionId=SESSION)) == "SUCCESS"
    assert asker.until(closed, "done")["data"]["outcome"] == "stopped"
    asker.kernel.open(repo, session=9)
    ended = asker.ask("two?", number=2, session=9)
    asker.until(ended, "answer")
    assert asker.kernel.stop() == 0
    assert asker.until(ended, "done")["data"]["outcome"] == "stopped"
    for number in (1, 2):
        assert asker.history(number)["history"][0]["answer"] == "Half"


REFUSED = ("ack", "NETWORK_ERROR", "done")
BROKEN = ("ack", "answer", "NETWORK_ERROR", "done")
FAULTS: dict[str, tuple[list[Step], tuple[str, ...]]] = {
    "reset": ([delta("Half"), Reset()], BROKEN),
    "reset at once": ([Reset()], REFUSED),
    "closed in the middle": ([delta("Half"), Close()], BROKEN),
    "garbage": ([Start(), Raw(b"data: {{{{\n\n")], REFUSED),
    "401": (refused(401, "invalid key"), REFUSED),
    "404": (refused(404, "no such model"), REFUSED),
    "402": (refused(402, "insufficient balance"), REFUSED),
    "a page": ([Whole(200, "<html>Login</html>", {"Content-Type": "text/html"})], REFUSED),
    "truncated": ([Start(), Raw(b'data: {"choices": [{"del'), Close()], REFUSED),
    "an error in the stream": (
        [delta("Half"), Data({"error": {"message": "overloaded"}})],
        BROKEN,
    ),
    "nothing at all": (said(), REFUSED),
}


def test_each_fault_is_told_then_done_and_the_history_is_whole(
    asker: Asker, server: ChatServer
) -> None:
    for number, (name, (steps, sequence)) in enumerate(FAULTS.items(), start=1):
        server.then(steps)
        replies = asker.answered("why?", number)
        told = [kind for kind in kinds(replies) if kind not in ROUND]
        assert tuple(told) == sequence, name
        failed = next(line for line in replies if code_of(line) != "SUCCESS")
        assert "data" not in failed
        assert len(reason_of(failed)) > 20
        (turn,) = asker.history(number)["history"]
        assert turn["outcome"] == "failed"
        assert turn["error"] == reason_of(failed)
        assert turn["answer"] == answer_of(replies)
        server._script.clear()


ROUND = {"annotation", "search", "result", "doneRetrieval"}


def test_what_is_too_long_is_sent_again_in_short(asker: Asker, server: ChatServer) -> None:
    server.then(
        refused(400, "This model's maximum context length is 4096 tokens, however you asked"),
        said("Fits."),
    )
    replies = asker.answered("Session")
    assert answer_of(replies) == "Fits."
    assert len(server.received[1].body) <= len(server.received[0].body)


def test_an_endpoint_that_nobody_serves_is_named(
    asker: Asker, server: ChatServer, user_data: Path
) -> None:
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    asker.kernel.request("updateSettings")
    replies = asker.answered("why?")
    assert kinds(replies)[-2:] == ["NETWORK_ERROR", "done"]
    assert "127.0.0.1:9" in reason_of(replies[-2])
    assert asker.usage() == []


@pytest.mark.parametrize("searching", [False, True])
def test_what_was_shown_before_a_kill_is_in_the_history_after_the_restart(
    server: ChatServer, user_data: Path, repo: Path, *, searching: bool
) -> None:
    write_sources(repo)
    chat_settings(user_data, server.url)
    last_seen = ("doneRetrieval",) if searching else ("answer", "said")
    begun = [called(("search", {"queries": ["add_route"]}))] if searching else []
    server.then(said("Before.", used=(10, 1)), *begun, [delta("Half "), delta("said"), Hang()])
    with conversation_kernel(user_data, repo) as asker:
        asker.answered("first?")
        callback_id = asker.ask("second?")
        asker.until(callback_id, *last_seen)
        asker.kernel.process.send_signal(signal.SIGKILL)
        asker.kernel.exit_code()
        shown = asker.replies(callback_id)
        assert len(asker.history()["history"]) == 1
    server.then(said("After.", used=(20, 2)))
    server._script = server._script[-1:]
    with conversation_kernel(user_data, repo, again=True) as asker:
        asker.answered("third?")
        turns = asker.history()["history"]
        assert [turn["query"] for turn in turns] == ["first?", "second?", "third?"]
        assert turns[1]["answer"].startswith(answer_of(shown))
        assert bool(turns[1]["retrieval"]) is searching
        assert turns[1]["outcome"] == "interrupted"
        assert not list((user_data / "conversations/unfinished").glob("*.jsonl"))
        (usage,) = asker.usage()
        assert usage["input_token"] == sum(turn["usage"]["input_token"] for turn in turns)
        assert usage["output_token"] == sum(turn["usage"]["output_token"] for turn in turns)
        assert turns[1]["usage"]["input_token"] > 30


def test_many_conversations_at_once_lose_and_reorder_nothing(
    asker: Asker, server: ChatServer
) -> None:
    pieces = [f"{number} " for number in range(200)]
    server.then(said(*pieces, used=(7, 3)))
    asked = [asker.ask("Session", number) for number in range(1, 21)]
    for callback_id in asked:
        asker.until(callback_id, "done")
    for number, callback_id in enumerate(asked, start=1):
        replies = asker.replies(callback_id)
        assert answer_of(replies) == "".join(pieces)
        assert kinds(replies)[0] == "ack"
        assert kinds(replies)[-1] == "done"
        assert asker.history(number)["history"][0]["answer"] == "".join(pieces)
    assert asker.usage()[0]["input_token"] == 7 * len(asked)
