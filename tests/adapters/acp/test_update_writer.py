"""Messages of document 004 as the updates of an ACP agent."""

from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.acp.update_writer import (
    MessageWriter,
    find_kind,
    make_plan_update,
    make_title,
    parse_diff,
)
from codekernel.agent.workspace.text_file import compute_diff
from codekernel.domain.agent_sessions import Actor, PlanEntry, SessionMessage
from codekernel.domain.chat import (
    ROLE_ASSISTANT,
    ROLE_USER,
    AgentMessage,
    ContentBlock,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from hypothesis import given
from hypothesis import strategies as st

FOLDER = Path("/work")
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "- x\n", "+ y\n", "@@ z\n", "--- a/q\n"]))


def message(name: str, *blocks: ContentBlock, role: str = ROLE_ASSISTANT) -> SessionMessage:
    return SessionMessage(name, "s", 1, 0, AgentMessage(role, blocks), Actor("agent"))


def write(writer: MessageWriter, sent: SessionMessage) -> list[dict[str, Any]]:
    return [
        update.model_dump(mode="json", by_alias=True, exclude_none=True)
        for update in writer.write(sent)
    ]


def test_a_growing_message_is_sent_as_what_was_added() -> None:
    writer = MessageWriter(FOLDER)
    sent = [
        *write(writer, message("m1", ThinkingContent("let"))),
        *write(writer, message("m1", ThinkingContent("let me"), TextContent("Hel"))),
        *write(writer, message("m1", ThinkingContent("let me"), TextContent("Hello"))),
        *write(writer, message("m2", TextContent("Hello"))),
    ]
    assert [(each["sessionUpdate"], each["content"]["text"]) for each in sent] == [
        ("agent_thought_chunk", "let"),
        ("agent_thought_chunk", " me"),
        ("agent_message_chunk", "Hel"),
        ("agent_message_chunk", "lo"),
        ("agent_message_chunk", "Hello"),
    ]


def test_a_tool_use_and_its_result_are_a_call_and_its_update() -> None:
    writer = MessageWriter(FOLDER)
    use = ToolUseContent("c1", "edit_file", {"path": "src/a.py", "content": "x"})
    diff = compute_diff("src/a.py", "one\n", "two\n").text
    (start,) = write(writer, message("m1", use))
    assert start == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "edit_file: src/a.py",
        "kind": "edit",
        "status": "in_progress",
        "rawInput": {"path": "src/a.py", "content": "x"},
        "locations": [{"path": "/work/src/a.py"}],
    }
    assert write(writer, message("m1", use)) == []
    result = message("m2", ToolResultContent("c1", "done", diff=diff), role=ROLE_USER)
    (end,) = write(writer, result)
    assert end == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "status": "completed",
        "content": [
            {"type": "diff", "path": "/work/src/a.py", "oldText": "one\n", "newText": "two\n"}
        ],
    }


def test_a_failed_call_has_its_text() -> None:
    result = message("m1", ToolResultContent("c1", "no such file", is_error=True), role=ROLE_USER)
    (end,) = write(MessageWriter(FOLDER), result)
    assert end["status"] == "failed"
    assert end["content"] == [
        {"type": "content", "content": {"type": "text", "text": "no such file"}}
    ]


def test_what_another_device_says_is_a_message_of_the_user() -> None:
    said = message("m1", TextContent("go on"), role=ROLE_USER)
    (update,) = write(MessageWriter(FOLDER), said)
    assert (update["sessionUpdate"], update["content"]["text"]) == ("user_message_chunk", "go on")


def test_a_new_file_has_no_old_text() -> None:
    (edit,) = parse_diff(compute_diff("a b.py", "", "x\ny\n").text, FOLDER)
    assert (edit.path, edit.old_text, edit.new_text) == ("/work/a b.py", None, "x\ny\n")


def test_each_file_and_each_hunk_is_an_edit() -> None:
    many = "".join(f"{number}\n" for number in range(40))
    diff = (
        compute_diff("a", many, many.replace("3\n", "three\n", 1).replace("38\n", "x\n")).text
        + compute_diff("b", "old\n", "").text
    )
    edits = list(parse_diff(diff, FOLDER))
    assert [edit.path for edit in edits] == ["/work/a", "/work/a", "/work/b"]
    assert (edits[2].old_text, edits[2].new_text) == ("old\n", "")


@given(LINES, LINES)
def test_the_texts_of_the_hunks_are_those_of_the_files(old: list[str], new: list[str]) -> None:
    """Short texts are one hunk, with all of its context."""
    before, after = "".join(old[:6]), "".join(new[:6])
    edits = list(parse_diff(compute_diff("a", before, after).text, FOLDER))
    for edit in edits:
        assert (edit.old_text or "") in before
        assert edit.new_text in after
    assert bool(edits) == (before != after)


@pytest.mark.parametrize(
    ("tool", "danger", "kind"),
    [
        ("read_file", "", "read"),
        ("search", "", "search"),
        ("run_command", "", "execute"),
        ("delete_file", "", "delete"),
        ("create_file", "", "edit"),
        ("plan", "", "think"),
        ("execute", "", "execute"),
        ("whatever", "", "other"),
        ("whatever", "runs", "execute"),
    ],
)
def test_the_kind_of_a_tool_is_what_it_does(tool: str, danger: str, kind: str) -> None:
    assert find_kind(tool, danger) == kind


def test_a_title_is_one_short_line() -> None:
    assert make_title("run_command", {"command": "a\nb"}) == "run_command: a b"
    assert len(make_title("run_command", {"command": "x" * 1000})) < 130
    assert make_title("plan", {}) == "plan"


def test_a_plan_is_sent_whole() -> None:
    update = make_plan_update([PlanEntry("look", "in_progress"), PlanEntry("odd", "unheard of")])
    assert [(entry.content, entry.status) for entry in update.entries] == [
        ("look", "in_progress"),
        ("odd", "pending"),
    ]
