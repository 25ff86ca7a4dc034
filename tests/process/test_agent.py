"""beginAgentTurn over a real kernel process and a scripted chat server."""

import threading
from pathlib import Path
from typing import Any

import pytest
from support.agent_window import SKIP, AgentWindow, done, messages, results
from support.chat_server import ChatServer, Hang, Tell, called, delta, refused, said
from support.conversation_window import SESSION, SOURCE, Asker, conversation_kernel, kinds
from support.kernel_process import code_of, reason_of

pytestmark = pytest.mark.slow

EDIT = ("edit_file", {"path": "session.py", "mode": "append", "content": "# end\n"})
MAKE = ("create_file", {"path": "new/made.txt", "content": "new\n"})
DELETE = ("delete_file", {"path": "routing.py"})
RUN = ("run_command", {"command": "echo heard; exit 3"})


@pytest.fixture
def window(asker: Asker) -> AgentWindow:
    return AgentWindow(asker)


def test_a_task_is_told_in_messages_of_blocks_and_kept(
    window: AgentWindow, server: ChatServer
) -> None:
    thinking = [delta(reasoning_content="Let me "), delta(reasoning_content="look.")]
    server.then(
        [*thinking, *called(SKIP, ("read_file", {"path": "session.py"}), used=(50, 7))],
        said("It is a ", "class.", used=(80, 5)),
    )
    replies = window.worked("What is in there?")
    assert kinds(replies)[0] == "ack"
    first, skipped, second, read, last = messages(replies)
    assert first["content"][0] == {"type": "thinking", "thinking": "Let me look."}
    assert first["content"][1]["name"] == "plan"
    assert first["meta"] == {"id": "message_1", "complete": True}
    assert (skipped["role"], skipped["content"][0]["tool_use_id"]) == ("user", "call_0")
    assert second["content"][0]["input"] == {"path": "session.py"}
    assert "class Session" in read["content"][0]["content"]
    assert last["content"] == [{"type": "text", "text": "It is a class."}]
    end = done(replies)
    assert (end["outcome"], end["changes"]) == ("done", [])
    assert end["usage"] == {"input_token": 130, "output_token": 12, "exact": True}
    (turn,) = window.asker.history()["history"]
    assert (turn["answer"], turn["time"]) == ("It is a class.", end["time"])
    kept = [message["content"] for message in turn["agent"]["messages"]]
    assert kept == [message["content"] for message in messages(replies)]
    assert window.asker.usage()[0]["total_token"] == 142


def test_it_is_listed_read_and_gone_on_with_like_other_conversations(
    window: AgentWindow, server: ChatServer
) -> None:
    server.then(called(SKIP), said("Done."), said("A question."), said("And again."))
    window.worked("Do it")
    window.asker.answered("What was that?")
    window.worked("Go on")
    listed = window.asker.kernel.request("getConversations", session=SESSION)["data"]
    assert [entry["turns"] for entry in listed["conversations"]] == [3]
    asked = [
        (each["role"], each.get("content"))
        for each in server.wait_for_request(4).json["messages"]
        if each["role"] in {"user", "assistant"} and each.get("content")
    ]
    assert asked == [
        ("user", "Do it"),
        ("assistant", "Done."),
        ("user", "What was that?"),
        ("assistant", "A question."),
        ("user", "Go on"),
    ]
    read = window.asker.kernel.request("getConversation", session=SESSION, conversationId=1)
    first, _, third = read["data"]["history"]
    assert first["agent"]["session"] == third["agent"]["session"]


def test_changes_are_told_with_their_diff_and_undone(
    window: AgentWindow, server: ChatServer, repo: Path
) -> None:
    server.then(called(SKIP, EDIT, MAKE), said("Both."))
    replies = window.worked("Change something")
    diffs = [
        block["diff"]
        for message in messages(replies)
        for block in message["content"]
        if "diff" in block
    ]
    assert len(diffs) == 1
    assert "+# end" in diffs[0]
    end = done(replies)
    assert end["changes"] == [
        {"filePath": "session.py", "kind": "changed"},
        {"filePath": "new/made.txt", "kind": "created"},
    ]
    undone = window.undo(end["time"])
    assert undone["data"]["files"] == [
        {"filePath": "session.py", "state": "restored"},
        {"filePath": "new/made.txt", "state": "removed"},
    ]
    assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE
    assert not (repo / "new").exists()
    (turn,) = window.asker.history()["history"]
    assert turn["agent"]["undone"] == undone["data"]["files"]
    assert window.undo(end["time"])["data"]["files"] == []
    assert window.asker.history()["history"][0]["agent"]["undone"] == undone["data"]["files"]


def test_only_the_turn_that_is_meant_is_undone_and_the_agent_is_told(
    window: AgentWindow, server: ChatServer, repo: Path
) -> None:
    second = ("create_file", {"path": "second.txt", "content": "2"})
    server.then(called(SKIP, EDIT), said("One."), called(second), said("Two."), said("Three."))
    first = done(window.worked("first"))
    window.worked("second")
    assert len(window.undo(first["time"])["data"]["files"]) == 1
    assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE
    assert (repo / "second.txt").exists()
    window.worked("third")
    told = [each["content"] for each in server.wait_for_request(5).json["messages"]]
    assert any("undone" in str(text) and "session.py" in str(text) for text in told)


def test_a_file_that_somebody_has_changed_since_is_kept_with_a_reason(
    window: AgentWindow, server: ChatServer, repo: Path
) -> None:
    server.then(called(SKIP, EDIT, MAKE), said("Both."))
    end = done(window.worked("Change something"))
    (repo / "session.py").write_text("mine\n", encoding="utf-8")
    kept, removed = window.undo(end["time"])["data"]["files"]
    assert (kept["state"], removed["state"]) == ("kept", "removed")
    assert "session.py has been changed" in kept["reason"]
    assert (repo / "session.py").read_text(encoding="utf-8") == "mine\n"


def test_what_deletes_or_runs_waits_for_a_person(
    window: AgentWindow, server: ChatServer, repo: Path
) -> None:
    server.then(called(SKIP, DELETE, RUN), said("Tried."))
    task = window.begin("Tidy up")
    asked = window.question(task, "delete_file")
    assert asked == {
        "toolUseId": "call_1",
        "tool": "delete_file",
        "danger": "deletes",
        "input": {"path": "routing.py"},
    }
    assert code_of(window.decide(asked["toolUseId"], "deny")) == "SUCCESS"
    assert (repo / "routing.py").exists()
    ran = window.question(task, "run_command")
    assert ran["danger"] == "runs"
    window.decide(ran["toolUseId"], "allow")
    window.asker.until(task, "done")
    replies = window.asker.replies(task)
    (_, _), (denied, was_denied), (heard, failed) = results(replies)
    assert was_denied
    assert "did not allow" in denied
    assert failed
    assert "heard" in heard
    assert "exit code 3" in heard


def test_a_permission_for_the_turn_is_for_all_of_its_kind_and_for_this_turn(
    window: AgentWindow, server: ChatServer
) -> None:
    again = ("run_command", {"command": "echo again"})
    server.then(called(SKIP, RUN, again, DELETE), said("One."), called(again), said("Two."))
    task = window.begin("Run")
    window.decide(window.question(task, "run_command")["toolUseId"], "allowTurn")
    window.decide(window.question(task, "delete_file")["toolUseId"], "deny")
    window.asker.until(task, "done")
    asked = [line for line in window.asker.replies(task) if kinds([line]) == ["permission"]]
    assert len(asked) == 2
    later = window.begin("Again")
    window.decide(window.question(later)["toolUseId"], "deny")
    window.asker.until(later, "done")


def test_a_permission_that_nobody_waits_for_is_refused(
    window: AgentWindow, server: ChatServer
) -> None:
    assert code_of(window.decide("call_1", "allow")) == "WRONG_PARAM"
    server.then(called(SKIP, RUN), said("One."))
    task = window.begin("Run")
    asked = window.question(task)["toolUseId"]
    assert code_of(window.decide("call_9", "allow")) == "WRONG_PARAM"
    assert code_of(window.decide(asked, "perhaps")) == "WRONG_PARAM"
    assert code_of(window.decide(asked, "deny")) == "SUCCESS"
    assert code_of(window.decide(asked, "allow")) == "WRONG_PARAM"
    window.asker.until(task, "done")


def test_an_agent_that_is_stopped_keeps_what_was_said(
    window: AgentWindow, server: ChatServer
) -> None:
    said_half = threading.Event()
    server.then([delta("Half an"), Tell(said_half), Hang()])
    task = window.begin("Go on for ever")
    assert said_half.wait(10)
    window.asker.kernel.wait_for(lambda line: "Half an" in str(line.get("data")), "the first words")
    window.asker.stop()
    window.asker.until(task, "done")
    replies = window.asker.replies(task)
    assert done(replies)["outcome"] == "stopped"
    assert messages(replies)[-1]["content"] == [{"type": "text", "text": "Half an"}]
    assert window.asker.history()["history"][0]["answer"] == "Half an"


@pytest.mark.parametrize("wanted", ["permission", "sleep"])
def test_an_agent_is_stopped_while_a_tool_waits_or_works(
    window: AgentWindow, server: ChatServer, repo: Path, wanted: str
) -> None:
    command = "touch began; sleep 60" if wanted == "sleep" else "echo"
    server.then(called(SKIP, ("run_command", {"command": command})), said("Never."))
    task = window.begin("Wait")
    asked = window.question(task)
    if wanted == "sleep":
        window.decide(asked["toolUseId"], "allow")
        window.asker.kernel.wait_for(
            lambda line: line["message"].get("filePath") == "began", "the command"
        )
    window.asker.stop()
    window.asker.until(task, "done")
    replies = window.asker.replies(task)
    assert done(replies)["outcome"] == "stopped"
    assert len(results(replies)) == 1, "a tool that was cut off has no result"
    assert code_of(window.decide(asked["toolUseId"], "allow")) == "WRONG_PARAM"


def test_a_second_task_while_one_is_under_way_is_refused_and_so_are_undoing_and_deleting(
    window: AgentWindow, server: ChatServer
) -> None:
    server.then(called(SKIP, EDIT), said("One."), called(RUN), said("Two."))
    end = done(window.worked("first"))
    task = window.begin("second")
    asked = window.question(task)
    second = window.asker.kernel.reply_to(window.begin("third"))
    assert code_of(second) == "WRONG_PARAM"
    assert "still answering" in reason_of(second)
    assert code_of(window.asker.kernel.reply_to(window.asker.ask("a question"))) == "WRONG_PARAM"
    assert code_of(window.undo(end["time"])) == "WRONG_PARAM"
    kernel = window.asker.kernel
    deleted = kernel.request("deleteConversation", session=SESSION, conversationId=1)
    assert code_of(deleted) == "WRONG_PARAM"
    window.decide(asked["toolUseId"], "deny")
    window.asker.until(task, "done")


def test_bad_tasks_models_and_turns_get_the_documented_errors(
    window: AgentWindow, server: ChatServer
) -> None:
    def code(task: str = "do it", **fields: Any) -> str:
        number = window.begin(task, **fields)
        window.asker.until(number, "done")
        refused, _ = window.asker.replies(number)
        return code_of(refused)

    assert code(" ") == "WRONG_PARAM"
    assert code(conversationId=-1) == "WRONG_PARAM"
    assert code(query=5) == "WRONG_PARAM"
    assert code(modelName="nobody") == "NETWORK_ERROR"
    assert code_of(window.undo(1)) == "WRONG_PARAM"
    server.then(said("Answered."))
    window.asker.answered("A question")
    turn = window.asker.history()["history"][0]
    assert code_of(window.undo(turn["time"])) == "WRONG_PARAM"
    assert code_of(window.undo(turn["time"] + 1)) == "WRONG_PARAM"


def test_an_endpoint_that_fails_is_a_reply_of_its_own_before_done(
    window: AgentWindow, server: ChatServer
) -> None:
    server.then(called(SKIP, EDIT, used=(9, 3)), refused(400, "no such model"))
    replies = window.worked("Do it")
    assert kinds(replies)[-2:] == ["NETWORK_ERROR", "done"]
    end = done(replies)
    assert end["outcome"] == "failed"
    assert end["changes"] == [{"filePath": "session.py", "kind": "changed"}]
    assert window.undo(end["time"])["data"]["files"][0]["state"] == "restored"


def test_closing_the_repository_ends_the_agent(window: AgentWindow, server: ChatServer) -> None:
    server.then(called(SKIP, RUN), said("Never."))
    task = window.begin("Run")
    asked = window.question(task)
    window.asker.kernel.request("closeRepo", sessionId=SESSION)
    window.asker.until(task, "done")
    assert done(window.asker.replies(task))["outcome"] == "stopped"
    assert code_of(window.decide(asked["toolUseId"], "allow")) == "SESSION_NOT_FOUND"


def test_after_a_kill_the_turn_is_there_and_can_be_undone(
    window: AgentWindow, server: ChatServer, user_data: Path, repo: Path
) -> None:
    server.then(called(SKIP, EDIT, used=(40, 9)), [delta("And now"), *called(RUN, used=(60, 4))])
    window.question(window.begin("Do it"))
    window.asker.kernel.process.kill()
    window.asker.kernel.process.wait()
    with conversation_kernel(user_data, repo, again=True) as again:
        reborn = AgentWindow(again)
        server._script[:] = [said("Later.")]
        reborn.worked("What happened?")
        turn = again.history()["history"][0]
        assert (turn["outcome"], turn["answer"]) == ("interrupted", "And now")
        assert turn["agent"]["changes"] == [{"filePath": "session.py", "kind": "changed"}]
        assert turn["usage"] == {"input_token": 100, "output_token": 13, "exact": True}
        assert reborn.undo(turn["time"])["data"]["files"][0]["state"] == "restored"
        assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE


def test_a_deleted_conversation_takes_its_session_and_its_journal_along(
    window: AgentWindow, server: ChatServer, user_data: Path
) -> None:
    server.then(called(SKIP, EDIT), said("One."))
    window.worked("Do it")
    assert list((user_data / "agent" / "journals").iterdir())
    window.asker.kernel.request("deleteConversation", session=SESSION, conversationId=1)
    assert not list((user_data / "agent" / "journals").iterdir())
    assert not list((user_data / "agent" / "sessions").glob("*.json"))
