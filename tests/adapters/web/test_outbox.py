"""What is sent to a tab: conversations part by part, coalesced statuses, and slow readers."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapters.web.browsing import Browser, Tab, WebProcess
from codekernel.adapters.web.kernel_client import CallFailed, KernelReply
from codekernel.adapters.web.outbox import ConversationStream, Outbox
from support.chat_server import (
    ChatServer,
    StreamEvent,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)

SLOW_READER_CALLS = 400
LINES, LINE_LENGTH = 2000, 500
# Half of what the answers weigh together.
MAX_GROWTH_BYTES = SLOW_READER_CALLS * LINES * LINE_LENGTH // 2


def to_the_end(part: object) -> bool:
    return False


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with browser.tab() as opened:
        opened.open("demo")
        opened.index("session.py", "routing.py")
        yield opened


def answer(tab: Tab, key: int) -> str:
    return "".join(part["content"] for part in tab.parts(key) if part["type"] == "answer")


def test_a_question_is_answered_part_by_part(tab: Tab, server: ChatServer) -> None:
    server.extend_script(reply_text("It is ", "closed ", "in session.py."))
    number = tab.converse(5, "How is a session closed?")
    end = tab.read_on(5, to_the_end)
    assert tab.answer_to(number) == {"id": number, "data": None}
    assert end == {"key": 5, "isEnd": True}
    assert answer(tab, 5) == "It is closed in session.py."
    assert [part["type"] for part in tab.parts(5)][-1] == "done"
    assert tab.parts(5)[-1]["outcome"] == "done"


@pytest.mark.slow
def test_the_next_part_comes_when_the_last_was_taken(tab: Tab, server: ChatServer) -> None:
    server.extend_script(reply_text(*(f"{number} " for number in range(500))))
    tab.converse(1, "Count!")
    first = tab.wait_for(lambda told: told.get("key") == 1, "the first part")
    assert "part" in first
    # The turn ends and is on disk, but the page has not taken its first part.
    assert tab.call("getIndexStatus")
    assert len(tab.parts(1)) == 1
    end = tab.read_on(1, to_the_end)
    assert end["isEnd"]
    assert answer(tab, 1) == "".join(f"{number} " for number in range(500))
    assert len(tab.parts(1)) < 500, "pieces that waited are joined"


@pytest.mark.slow
def test_a_conversation_is_stopped_and_what_was_said_is_kept(
    tab: Tab, server: ChatServer, user_data: Path
) -> None:
    server.extend_script([delta("Well, "), WaitForDisconnect()])
    tab.converse(2, "Go on for ever", conversation=9)
    tab.read_on(2, lambda part: part["type"] == "answer")
    tab.send({"stop": 2})
    tab.send({"read": 2})
    done = tab.read_on(2, lambda part: part["type"] == "done")
    assert done["outcome"] == "stopped"
    assert server.received[0].hung_up.wait(60)
    assert "Well, " in (user_data / "conversations" / "conversation-9.json").read_text()


@pytest.mark.slow
def test_a_model_that_fails_ends_the_conversation_with_its_reason_and_done(
    tab: Tab, server: ChatServer
) -> None:
    server.extend_script([StreamEvent({"error": {"message": "out of order"}})])
    tab.converse(3, "Hello?")
    end = tab.read_on(3, to_the_end)
    assert end["failure"]["code"] == "NETWORK_ERROR"
    assert end["failure"]["done"]["type"] == "done"


@pytest.mark.slow
def test_a_question_that_is_not_accepted_ends_at_once(tab: Tab) -> None:
    tab.send(
        {"id": 99, "call": "converse", "key": 4, "fields": {"modelName": "model", "query": "?"}}
    )
    end = tab.wait_for(lambda told: told.get("key") == 4, "the end")
    assert end["isEnd"]
    assert end["failure"]["code"] == "WRONG_PARAM"


@pytest.mark.slow
def test_a_conversation_needs_a_number_and_a_repository(browser: Browser) -> None:
    with browser.tab() as tab:
        number = tab.converse(1, "Hello?")
        assert tab.answer_to(number)["failure"]["code"] == "SESSION_NOT_FOUND"
        tab.send({"id": 50, "call": "converse", "key": "one", "fields": {}})
        assert tab.answer_to(50)["failure"]["code"] == "FORBIDDEN"


@pytest.mark.slow
def test_too_many_conversations_at_a_time_are_refused(tab: Tab, server: ChatServer) -> None:
    server.extend_script([delta("Hm"), WaitForDisconnect()])
    for key in range(8):
        tab.converse(key, "Hello?", conversation=key)
    assert tab.answer_to(tab.converse(3, "again"))["failure"]["code"] == "FORBIDDEN"
    assert tab.answer_to(tab.converse(9, "more"))["failure"]["code"] == "FORBIDDEN"
    for key in range(8):
        tab.send({"stop": key})
    for key in range(8):
        assert tab.read_on(key, to_the_end)["isEnd"]
    server.extend_script(reply_text("Now."))


@pytest.mark.slow
def test_an_answer_goes_on_when_its_tab_goes_and_another_one_follows_it(
    browser: Browser, server: ChatServer
) -> None:
    go = threading.Event()
    server.extend_script([delta("Well, "), WaitForEvent(go), delta("yes."), *end_reply()])
    with browser.tab() as leaving:
        leaving.open("demo")
        leaving.converse(1, "Tell me", conversation=4)
        leaving.read_on(1, lambda part: part["type"] == "answer")
    with browser.tab() as coming:
        asked = {"conversationId": 4, "query": "Tell me", "isAgent": False, "repoName": "demo"}
        assert coming.call("getRunningTurns")["turns"] == [asked]
        coming.open("demo")
        coming.converse(2, "", conversation=4, isFollowed=True)
        task = coming.read_on(2, lambda part: part["type"] == "task")
        assert task == {"type": "task", "content": "Tell me", "isAgent": False}
        go.set()
        coming.send({"read": 2})
        assert coming.read_on(2, to_the_end)["isEnd"]
        assert answer(coming, 2) == "Well, yes."
        assert coming.call("getRunningTurns")["turns"] == []
        assert coming.call("getConversation", conversationId=4)["history"][0]["outcome"] == "done"


@pytest.mark.slow
def test_an_answer_without_a_tab_is_stopped_by_any_other(
    browser: Browser, server: ChatServer
) -> None:
    server.extend_script([delta("Well, "), WaitForDisconnect()])
    with browser.tab() as leaving:
        leaving.open("demo")
        leaving.converse(1, "Tell me", conversation=4)
        leaving.read_on(1, lambda part: part["type"] == "answer")
    with browser.tab() as coming:
        coming.open("demo")
        coming.converse(2, "", conversation=4, isFollowed=True)
        coming.read_on(2, lambda part: part["type"] == "answer")
        coming.send({"stop": 2})
        coming.send({"read": 2})
        coming.read_on(2, to_the_end)
    assert server.received[0].hung_up.wait(60)


@pytest.mark.slow
def test_closing_the_repository_ends_its_conversations(tab: Tab, server: ChatServer) -> None:
    server.extend_script([delta("Well, "), WaitForDisconnect()])
    tab.converse(1, "Tell me")
    tab.read_on(1, lambda part: part["type"] == "answer")
    tab.call("closeRepo")
    tab.send({"read": 1})
    assert tab.read_on(1, to_the_end)["failure"]["code"] == "SESSION_CLOSED"


@pytest.mark.slow
def test_two_tabs_talk_at_the_same_time(browser: Browser, server: ChatServer) -> None:
    go = threading.Event()
    server.extend_script(
        [delta("first "), WaitForEvent(go), delta("tab"), *end_reply()], reply_text("second tab")
    )
    with browser.tab() as one, browser.tab() as two:
        one.open("demo")
        two.open("demo")
        one.converse(1, "one?", conversation=1)
        one.read_on(1, lambda part: part["type"] == "answer")
        two.converse(1, "two?", conversation=2)
        assert two.read_on(1, to_the_end)["isEnd"]
        go.set()
        one.send({"read": 1})
        one.read_on(1, to_the_end)
        assert (answer(one, 1), answer(two, 1)) == ("first tab", "second tab")


def test_an_agent_works_for_a_tab_asks_it_and_is_undone(
    tab: Tab, server: ChatServer, repo: Path
) -> None:
    made = ("create_file", {"path": "made.txt", "content": "new"})
    deleted = ("delete_file", {"path": "routing.py"})
    server.extend_script(
        reply_calls(("plan", {"action": "skip"}), made, deleted), reply_text("Done.")
    )
    tab.converse(3, "Tidy up", isAgent=True)
    asked = tab.read_on(3, lambda part: part["type"] == "permission")["content"]
    tab.send({"read": 3})
    answer = {"conversationId": 1, "toolUseId": asked["toolUseId"], "decision": "deny"}
    tab.call("answerPermission", **answer)
    done = tab.read_on(3, lambda part: part["type"] == "done")
    assert done["changes"] == [{"filePath": "made.txt", "kind": "created"}]
    undone = tab.call("undoAgentTurn", conversationId=1, time=done["time"])
    assert undone == {"files": [{"filePath": "made.txt", "state": "removed"}]}
    assert (repo / "routing.py").exists()


def part_of(content: str) -> KernelReply:
    return KernelReply(None, {"type": "answer", "content": content})


def test_a_session_that_ends_ends_its_conversations() -> None:
    told: list[dict[str, object]] = []
    ended: list[bool] = []
    stream = ConversationStream(1, told.append, lambda: ended.append(True))
    stream.on_reply(KernelReply(None))
    stream.on_reply(part_of("a"))
    stream.on_reply(part_of("b"))
    stream.on_reply(part_of("c"))
    assert stream.on_reply(KernelReply(CallFailed("SESSION_CLOSED", "closed"), is_last=True))
    assert [message.get("part") for message in told] == [{"type": "answer", "content": "a"}]
    stream.on_part_read()
    stream.on_part_read()
    assert told[1] == {"key": 1, "part": {"type": "answer", "content": "bc"}}
    assert told[2]["failure"] == {
        "name": "KernelError",
        "code": "SESSION_CLOSED",
        "message": "closed",
    }
    stream.on_part_read()
    assert (len(told), ended) == (3, [True])


def memory_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_a_tab_that_does_not_read_has_to_wait_and_others_do_not(
    web: WebProcess, browser: Browser, repo: Path
) -> None:
    (repo / "wide.py").write_text(f"{'x' * (LINE_LENGTH - 1)}\n" * LINES, encoding="utf-8")
    place = {"filePath": "wide.py", "beginLine": 0, "endLine": LINES}
    with browser.tab() as slow, browser.tab() as quick:
        slow.open("demo")
        quick.open("demo")
        quick.index("session.py", "routing.py")  # so that all models are loaded
        assert len(quick.call("readLines", **place)["content"]) == LINES * LINE_LENGTH
        before = memory_of(web.process.pid)
        slow.pause()
        numbers = [slow.post("readLines", **place) for _ in range(SLOW_READER_CALLS)]
        for _ in range(200):
            assert "state" in quick.call("getIndexStatus")
        assert memory_of(web.process.pid) - before < MAX_GROWTH_BYTES
        slow.go_on()
        assert all("data" in slow.answer_to(number) for number in numbers)


def test_of_many_words_about_a_file_the_last_waits() -> None:
    outbox = Outbox()
    for progress in range(1000):
        for path in ("a.py", "b.py"):
            outbox.put_status({"filePath": path, "status": "embedding", "progress": progress})
    outbox.put_status({"filePath": "a.py", "status": "done", "progress": 1.0})
    (text,) = [next(iter(outbox))]
    assert isinstance(text, str)
    assert text.count("filePath") == 2
    assert text.index("b.py") < text.index("a.py")
    assert '"progress": 999' in text
