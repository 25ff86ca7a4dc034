"""beginAgentTurn over a real kernel process and a scripted chat server."""

import threading
from pathlib import Path
from typing import Any

import pytest
from support.agent_client import SKIP, AgentClient, done, list_messages, list_tool_results
from support.chat_server import (
    ChatServer,
    SetEvent,
    WaitForDisconnect,
    delta,
    reply_calls,
    reply_error,
    reply_text,
)
from support.conversation_client import (
    SESSION,
    SOURCE,
    ConversationClient,
    conversation_kernel,
    kinds,
)
from support.kernel_process import code_of, reason_of

pytestmark = pytest.mark.slow

EDIT = ("edit_file", {"path": "session.py", "mode": "append", "content": "# end\n"})
MAKE = ("create_file", {"path": "new/made.txt", "content": "new\n"})
DELETE = ("delete_file", {"path": "routing.py"})
RUN = ("run_command", {"command": "echo heard; exit 3"})


@pytest.fixture
def window(asker: ConversationClient) -> AgentClient:
    return AgentClient(asker)


def test_a_task_is_told_in_messages_of_blocks_and_kept(
    window: AgentClient, server: ChatServer
) -> None:
    thinking = [delta(reasoning_content="Let me "), delta(reasoning_content="look.")]
    server.extend_script(
        [*thinking, *reply_calls(SKIP, ("read_file", {"path": "session.py"}), used=(50, 7))],
        reply_text("It is a ", "class.", used=(80, 5)),
    )
    replies = window.run_task("What is in there?")
    assert kinds(replies)[0] == "ack"
    first, skipped, second, read, last = list_messages(replies)
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
    (turn,) = window.client.read_history()["history"]
    assert (turn["answer"], turn["time"]) == ("It is a class.", end["time"])
    kept = [message["content"] for message in turn["agent"]["messages"]]
    assert kept == [message["content"] for message in list_messages(replies)]
    assert window.client.list_usage()[0]["total_token"] == 142


def test_a_detailed_turn_tells_all_calls_of_an_answer_and_the_data_of_each(
    window: AgentClient, server: ChatServer
) -> None:
    replace = ("Replace", {"file_path": "made.txt", "content": "new\n"})
    server.extend_script(reply_calls(SKIP, replace), reply_text("Done."))
    callback_id = window.begin("make it", detailed=True, tools=["Replace"])
    window.client.wait_for_reply(callback_id, "done")
    parts = [line["data"] for line in window.client.list_replies(callback_id) if "data" in line]
    growing = [part for part in parts if "'complete': False" in str(part)]
    assert [part["type"] for part in parts if part not in growing] == [
        "session", "round", "message", "calls", "toolData", "message", "message", "toolData",
        "message", "round", "message", "done",
    ]  # fmt: skip
    (calls,) = [part["content"] for part in parts if part["type"] == "calls"]
    assert calls == [
        {"type": "tool_use", "id": "call_1", "name": "Replace", "input": replace[1]},
    ]
    _, told = [part["content"] for part in parts if part["type"] == "toolData"]
    assert (told["toolUseId"], told["data"]["type"]) == ("call_1", "create")


def test_it_is_listed_read_and_gone_on_with_like_other_conversations(
    window: AgentClient, server: ChatServer
) -> None:
    server.extend_script(
        reply_calls(SKIP), reply_text("Done."), reply_text("A question."), reply_text("And again.")
    )
    window.run_task("Do it")
    window.client.ask_and_wait("What was that?")
    window.run_task("Go on")
    listed = window.client.kernel.request("getConversations", session=SESSION)["data"]
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
    read = window.client.kernel.request("getConversation", session=SESSION, conversationId=1)
    first, _, third = read["data"]["history"]
    assert first["agent"]["session"] == third["agent"]["session"]


def test_changes_are_told_with_their_diff_and_undone(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, EDIT, MAKE), reply_text("Both."))
    replies = window.run_task("Change something")
    diffs = [
        block["diff"]
        for message in list_messages(replies)
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
    (turn,) = window.client.read_history()["history"]
    assert turn["agent"]["undone"] == undone["data"]["files"]
    assert window.undo(end["time"])["data"]["files"] == []
    assert window.client.read_history()["history"][0]["agent"]["undone"] == undone["data"]["files"]


def test_only_the_turn_that_is_meant_is_undone_and_the_agent_is_told(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    second = ("create_file", {"path": "second.txt", "content": "2"})
    server.extend_script(
        reply_calls(SKIP, EDIT),
        reply_text("One."),
        reply_calls(second),
        reply_text("Two."),
        reply_text("Three."),
    )
    first = done(window.run_task("first"))
    window.run_task("second")
    assert len(window.undo(first["time"])["data"]["files"]) == 1
    assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE
    assert (repo / "second.txt").exists()
    window.run_task("third")
    told = [each["content"] for each in server.wait_for_request(5).json["messages"]]
    assert any("undone" in str(text) and "session.py" in str(text) for text in told)


def test_a_file_that_somebody_has_changed_since_is_kept_with_a_reason(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, EDIT, MAKE), reply_text("Both."))
    end = done(window.run_task("Change something"))
    (repo / "session.py").write_text("mine\n", encoding="utf-8")
    kept, removed = window.undo(end["time"])["data"]["files"]
    assert (kept["state"], removed["state"]) == ("kept", "removed")
    assert "session.py has been changed" in kept["reason"]
    assert (repo / "session.py").read_text(encoding="utf-8") == "mine\n"


def test_what_deletes_or_runs_waits_for_a_person(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, DELETE, RUN), reply_text("Tried."))
    task = window.begin("Tidy up")
    asked = window.wait_for_permission(task, "delete_file")
    assert asked == {
        "toolUseId": "call_1",
        "tool": "delete_file",
        "danger": "deletes",
        "input": {"path": "routing.py"},
    }
    assert code_of(window.decide(asked["toolUseId"], "deny")) == "SUCCESS"
    assert (repo / "routing.py").exists()
    ran = window.wait_for_permission(task, "run_command")
    assert ran["danger"] == "runs"
    window.decide(ran["toolUseId"], "allow")
    window.client.wait_for_reply(task, "done")
    replies = window.client.list_replies(task)
    (_, _), (denied, was_denied), (heard, failed) = list_tool_results(replies)
    assert was_denied
    assert "did not allow" in denied
    assert failed
    assert "heard" in heard
    assert "exit code 3" in heard


def test_a_permission_for_the_turn_is_for_all_of_its_kind_and_for_this_turn(
    window: AgentClient, server: ChatServer
) -> None:
    again = ("run_command", {"command": "echo again"})
    server.extend_script(
        reply_calls(SKIP, RUN, again, DELETE),
        reply_text("One."),
        reply_calls(again),
        reply_text("Two."),
    )
    task = window.begin("Run")
    window.decide(window.wait_for_permission(task, "run_command")["toolUseId"], "allowTurn")
    window.decide(window.wait_for_permission(task, "delete_file")["toolUseId"], "deny")
    window.client.wait_for_reply(task, "done")
    asked = [line for line in window.client.list_replies(task) if kinds([line]) == ["permission"]]
    assert len(asked) == 2
    later = window.begin("Again")
    window.decide(window.wait_for_permission(later)["toolUseId"], "deny")
    window.client.wait_for_reply(later, "done")


def test_a_rule_allows_the_same_command_from_now_on_until_it_is_deleted(
    window: AgentClient, server: ChatServer
) -> None:
    server.extend_script(
        reply_calls(RUN), reply_text("One."), reply_calls(RUN), reply_text("Two."),
    )  # fmt: skip
    task = window.begin("Run")
    asked = window.wait_for_permission(task, "run_command")
    assert asked["rule"] == RUN[1]["command"]
    window.decide(asked["toolUseId"], "allowRule")
    window.client.wait_for_reply(task, "done")
    again = window.run_task("Again")
    assert "permission" not in kinds(again)
    listed = window.client.kernel.request("getPermissionRules", session=SESSION)
    (rule,) = listed["data"]["rules"]
    assert (rule["danger"], rule["rule"]) == ("runs", RUN[1]["command"])
    removed = {"session": SESSION, "id": rule["id"]}
    deleted = window.client.kernel.request("deletePermissionRule", **removed)
    assert code_of(deleted) == "SUCCESS"


def test_reviewed_edits_wait_as_diffs_and_are_accepted_by_hunks(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(EDIT), reply_text("One."))
    task = window.begin("Edit", reviews=True)
    asked = window.wait_for_permission(task)
    assert asked["danger"] == "writes"
    assert "@@ -" in asked["diff"]
    assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE
    window.decide(asked["toolUseId"], "deny")
    window.client.wait_for_reply(task, "done")
    ((text, failed),) = list_tool_results(window.client.list_replies(task))
    assert failed
    assert "rejected this edit" in text
    assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE


def test_a_permission_that_nobody_waits_for_is_refused(
    window: AgentClient, server: ChatServer
) -> None:
    assert code_of(window.decide("call_1", "allow")) == "WRONG_PARAM"
    server.extend_script(reply_calls(SKIP, RUN), reply_text("One."))
    task = window.begin("Run")
    asked = window.wait_for_permission(task)["toolUseId"]
    assert code_of(window.decide("call_9", "allow")) == "WRONG_PARAM"
    assert code_of(window.decide(asked, "perhaps")) == "WRONG_PARAM"
    assert code_of(window.decide(asked, "deny")) == "SUCCESS"
    assert code_of(window.decide(asked, "allow")) == "PERMISSION_ANSWERED"
    window.client.wait_for_reply(task, "done")


def test_an_agent_that_is_stopped_keeps_what_was_said(
    window: AgentClient, server: ChatServer
) -> None:
    said_half = threading.Event()
    server.extend_script([delta("Half an"), SetEvent(said_half), WaitForDisconnect()])
    task = window.begin("Go on for ever")
    assert said_half.wait(60)
    window.client.kernel.wait_for(
        lambda line: "Half an" in str(line.get("data")), "the first words"
    )
    window.client.stop()
    window.client.wait_for_reply(task, "done")
    replies = window.client.list_replies(task)
    assert done(replies)["outcome"] == "stopped"
    assert list_messages(replies)[-1]["content"] == [{"type": "text", "text": "Half an"}]
    assert window.client.read_history()["history"][0]["answer"] == "Half an"


@pytest.mark.parametrize("wanted", ["permission", "sleep"])
def test_an_agent_is_stopped_while_a_tool_waits_or_works(
    window: AgentClient, server: ChatServer, repo: Path, wanted: str
) -> None:
    command = "touch began; sleep 60" if wanted == "sleep" else "echo"
    server.extend_script(
        reply_calls(SKIP, ("run_command", {"command": command})), reply_text("Never.")
    )
    task = window.begin("Wait")
    asked = window.wait_for_permission(task)
    if wanted == "sleep":
        window.decide(asked["toolUseId"], "allow")
        window.client.kernel.wait_for(
            lambda line: line["message"].get("filePath") == "began", "the command"
        )
    window.client.stop()
    window.client.wait_for_reply(task, "done")
    replies = window.client.list_replies(task)
    assert done(replies)["outcome"] == "stopped"
    assert len(list_tool_results(replies)) == 1, "a tool that was cut off has no result"
    assert code_of(window.decide(asked["toolUseId"], "allow")) == "WRONG_PARAM"


def test_a_second_task_while_one_is_under_way_is_refused_and_so_are_undoing_and_deleting(
    window: AgentClient, server: ChatServer
) -> None:
    server.extend_script(
        reply_calls(SKIP, EDIT), reply_text("One."), reply_calls(RUN), reply_text("Two.")
    )
    end = done(window.run_task("first"))
    task = window.begin("second")
    asked = window.wait_for_permission(task)
    second = window.client.kernel.reply_to(window.begin("third"))
    assert code_of(second) == "WRONG_PARAM"
    assert "still answering" in reason_of(second)
    assert code_of(window.client.kernel.reply_to(window.client.ask("a question"))) == "WRONG_PARAM"
    assert code_of(window.undo(end["time"])) == "WRONG_PARAM"
    kernel = window.client.kernel
    deleted = kernel.request("deleteConversation", session=SESSION, conversationId=1)
    assert code_of(deleted) == "WRONG_PARAM"
    window.decide(asked["toolUseId"], "deny")
    window.client.wait_for_reply(task, "done")


def test_bad_tasks_models_and_turns_get_the_documented_errors(
    window: AgentClient, server: ChatServer
) -> None:
    def code(task: str = "do it", **fields: Any) -> str:
        number = window.begin(task, **fields)
        window.client.wait_for_reply(number, "done")
        reply_error, _ = window.client.list_replies(number)
        return code_of(reply_error)

    assert code(" ") == "WRONG_PARAM"
    assert code(conversationId=-1) == "WRONG_PARAM"
    assert code(query=5) == "WRONG_PARAM"
    assert code(modelName="nobody") == "NETWORK_ERROR"
    assert code(within=str(window.client.user_data)) == "WRONG_PARAM"
    assert code_of(window.undo(1)) == "WRONG_PARAM"
    server.extend_script(reply_text("Answered."))
    window.client.ask_and_wait("A question")
    turn = window.client.read_history()["history"][0]
    assert code_of(window.undo(turn["time"])) == "WRONG_PARAM"
    assert code_of(window.undo(turn["time"] + 1)) == "WRONG_PARAM"


def test_an_endpoint_that_fails_is_a_reply_of_its_own_before_done(
    window: AgentClient, server: ChatServer
) -> None:
    server.extend_script(reply_calls(SKIP, EDIT, used=(9, 3)), reply_error(400, "no such model"))
    replies = window.run_task("Do it")
    assert kinds(replies)[-2:] == ["NETWORK_ERROR", "done"]
    end = done(replies)
    assert end["outcome"] == "failed"
    assert end["changes"] == [{"filePath": "session.py", "kind": "changed"}]
    assert window.undo(end["time"])["data"]["files"][0]["state"] == "restored"


def test_an_agent_works_on_when_its_window_is_closed_and_another_one_goes_on_with_it(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    kernel = window.client.kernel
    task = window.begin("Run")
    asked = window.wait_for_permission(task)
    kernel.request("closeRepo", sessionId=SESSION)
    window.client.wait_for_reply(task, "done")
    assert done(window.client.list_replies(task))["outcome"] == "detached"
    assert code_of(window.decide(asked["toolUseId"], "allow")) == "SESSION_NOT_FOUND"
    kernel.open(repo, SESSION)
    listed = kernel.request("getConversations", session=SESSION)["data"]
    assert listed["running"] == [{"conversationId": 1, "query": "Run", "isAgent": True}]
    followed = window.follow()
    assert window.wait_for_permission(followed) == asked
    assert code_of(window.decide(asked["toolUseId"], "allow")) == "SUCCESS"
    window.client.wait_for_reply(followed, "done")
    replies = window.client.list_replies(followed)
    assert kinds(replies)[:2] == ["ack", "task"]
    assert replies[1]["data"] == {"type": "task", "content": "Run", "isAgent": True}
    assert list_messages(replies)[-1]["content"] == [{"type": "text", "text": "It ran."}]
    assert done(replies)["outcome"] == "done"
    assert "running" not in kernel.request("getConversations", session=SESSION)["data"]
    nothing = window.follow()
    window.client.wait_for_reply(nothing, "done")
    assert done(window.client.list_replies(nothing))["outcome"] == "idle"


def test_two_windows_follow_one_turn_and_see_who_has_answered(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    window.client.kernel.open(repo, SESSION + 1)
    task = window.begin("Run")
    asked = window.wait_for_permission(task)
    other = window.follow(session=SESSION + 1)
    assert window.wait_for_permission(other) == asked
    window.decide(asked["toolUseId"], "deny")
    for callback_id in (task, other):
        window.client.wait_for_reply(callback_id, "done")
    first, second = map(window.client.list_replies, (task, other))
    answered = [
        line["data"]["content"]
        for line in first
        if line.get("data", {}).get("type") == "permissionAnswered"
    ]
    assert [(it["toolUseId"], it["allowed"], it["device"]) for it in answered] == [
        (asked["toolUseId"], False, "webapp")
    ]
    assert list_messages(second) == list_messages(first)
    assert done(second) == done(first)


def test_a_turn_is_a_session_that_other_devices_see(
    window: AgentClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP), reply_text("Done."))
    window.run_task("Look around")
    (session,) = window.client.kernel.request("getAgentSessions")["data"]["sessions"]
    assert (session["name"], session["conversationId"]) == ("Look around", 1)
    assert (session["folder"], session["model"]) == (str(repo), "model")
    page = window.client.kernel.request("readAgentMessages", id=session["id"])["data"]
    assert [each["seq"] for each in page["messages"]] == list(range(1, 5))
    assert page["messages"][0]["actor"]["device"] == "webapp"
    assert page["messages"][-1]["message"]["content"] == [{"type": "text", "text": "Done."}]
    window.client.kernel.request("deleteConversation", session=SESSION, conversationId=1)
    assert window.client.kernel.request("getAgentSessions")["data"]["sessions"] == []


def test_after_a_kill_the_turn_is_there_and_can_be_undone(
    window: AgentClient, server: ChatServer, user_data: Path, repo: Path
) -> None:
    server.extend_script(
        reply_calls(SKIP, EDIT, used=(40, 9)), [delta("And now"), *reply_calls(RUN, used=(60, 4))]
    )
    window.wait_for_permission(window.begin("Do it"))
    window.client.kernel.process.kill()
    window.client.kernel.process.wait()
    with conversation_kernel(user_data, repo, again=True) as again:
        reborn = AgentClient(again)
        server._script[:] = [reply_text("Later.")]
        reborn.run_task("What happened?")
        turn = again.read_history()["history"][0]
        assert (turn["outcome"], turn["answer"]) == ("interrupted", "And now")
        assert turn["agent"]["changes"] == [{"filePath": "session.py", "kind": "changed"}]
        assert turn["usage"] == {"input_token": 100, "output_token": 13, "exact": True}
        assert reborn.undo(turn["time"])["data"]["files"][0]["state"] == "restored"
        assert (repo / "session.py").read_text(encoding="utf-8") == SOURCE


def test_a_deleted_conversation_takes_its_session_and_its_journal_along(
    window: AgentClient, server: ChatServer, user_data: Path
) -> None:
    server.extend_script(reply_calls(SKIP, EDIT), reply_text("One."))
    window.run_task("Do it")
    assert list((user_data / "agent" / "journals").iterdir())
    window.client.kernel.request("deleteConversation", session=SESSION, conversationId=1)
    assert not list((user_data / "agent" / "journals").iterdir())
    assert not list((user_data / "agent" / "sessions").glob("*.json"))
