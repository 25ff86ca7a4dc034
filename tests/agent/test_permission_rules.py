"""Rules: what agents may do without being asked."""

import dataclasses
from functools import partial
from pathlib import Path

import pytest
from agent.calling import Call
from codekernel.agent.permission_rules import PermissionRules, describe_rule, review_edit
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import PermissionReply, ToolPermission, ToolPermissionRequest
from codekernel.errors import WrongParam


def run(command: str, tool: str = "run_command") -> ToolPermissionRequest:
    return ToolPermissionRequest(tool, ToolPermission.RUNS, f'{{"command": "{command}"}}')


def delete(path: str) -> ToolPermissionRequest:
    return ToolPermissionRequest("delete_file", ToolPermission.DELETES, {"path": path})


def test_a_command_is_allowed_letter_for_letter_in_its_repository(tmp_path: Path) -> None:
    file = tmp_path / "agent" / "rules.json"
    PermissionRules(file).add(tmp_path, run("make test"))
    rules = PermissionRules(file)
    assert rules.allows(tmp_path, run("make test"))
    assert not rules.allows(tmp_path, run("make test && rm -r x"))
    assert not rules.allows(tmp_path, run("make test", tool="send_input"))
    assert not rules.allows(tmp_path / "other", run("make test"))


def test_deleting_is_allowed_below_the_folder(tmp_path: Path) -> None:
    rules = PermissionRules(tmp_path / "rules.json")
    rules.add(tmp_path, delete("build/out/a.o"))
    assert rules.allows(tmp_path, delete("build/out/b.o"))
    assert rules.allows(tmp_path, delete("build/out/deep/c.o"))
    for path in ("build/other", "build/outer/a", "build/out/../../src/a", "/build/out/a", "a"):
        assert not rules.allows(tmp_path, delete(path))


@pytest.mark.parametrize(
    "request_", [delete("a.txt"), delete("../x/y"), run("x", "send_input"), run(" ")]
)
def test_of_what_cannot_be_said_by_a_rule_none_is_made(
    request_: ToolPermissionRequest, tmp_path: Path
) -> None:
    assert describe_rule(request_) == ""
    with pytest.raises(WrongParam, match="No rule"):
        PermissionRules(tmp_path / "rules.json").add(tmp_path, request_)


def test_a_rule_is_listed_once_and_can_be_deleted(tmp_path: Path) -> None:
    rules = PermissionRules(tmp_path / "rules.json")
    rules.add(tmp_path, run("ls"))
    rules.add(tmp_path, run("ls"))
    (rule,) = rules.list_rules(tmp_path)
    assert (rule.danger, rule.rule) == ("runs", "ls")
    rules.delete(tmp_path, rule.id)
    assert not rules.allows(tmp_path, run("ls"))
    with pytest.raises(WrongParam, match="deleted already"):
        rules.delete(tmp_path, rule.id)


def test_a_damaged_file_allows_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text('[{"folder": 1}]', encoding="utf-8")
    rules = PermissionRules(file)
    assert not rules.allows(tmp_path, run("ls"))


LINES = [f"line {number}\n" for number in range(30)]


class Person:
    def __init__(self, reply: PermissionReply) -> None:
        self.reply = reply
        self.asked: list[ToolPermissionRequest] = []

    def ask(self, request: ToolPermissionRequest) -> PermissionReply:
        self.asked.append(request)
        return self.reply


def reviewed(context: ToolContext, person: Person) -> ToolContext:
    return dataclasses.replace(context, review=partial(review_edit, person.ask))


@pytest.fixture
def file(repo: Path) -> Path:
    file = repo / "a.txt"
    file.write_text("".join(LINES), encoding="utf-8", newline="")
    return file


def edit(call: Call, context: ToolContext) -> tuple[bool, str]:
    call("read_file", context, path="a.txt")
    text = "".join(LINES).replace("line 2\n", "first\n").replace("line 25\n", "second\n")
    outcome = call("edit_file", context, path="a.txt", mode="overwrite", content=text)
    return outcome.success, outcome.text


def test_an_accepted_edit_is_written_as_it_was_meant(
    file: Path, context: ToolContext, call: Call
) -> None:
    person = Person(PermissionReply(allowed=True))
    succeeded, text = edit(call, reviewed(context, person))
    assert succeeded, text
    assert "first\n" in file.read_text(encoding="utf-8")
    (asked,) = person.asked
    assert asked.permission is ToolPermission.WRITES
    assert asked.diff.count("@@ -") == 2
    assert "+second" in asked.diff


def test_of_an_edit_some_hunks_are_accepted_and_the_model_is_told(
    file: Path, context: ToolContext, call: Call
) -> None:
    person = Person(PermissionReply(allowed=True, hunks=(1,)))
    succeeded, text = edit(call, reviewed(context, person))
    assert succeeded
    assert "accepted only a part" in text
    written = file.read_text(encoding="utf-8")
    assert "second\n" in written
    assert "line 2\n" in written
    assert "rejected" in text.partition("+second")[2]


@pytest.mark.parametrize(
    "reply", [PermissionReply(allowed=False), PermissionReply(allowed=True, hunks=())]
)
def test_a_rejected_edit_changes_nothing(
    reply: PermissionReply, file: Path, context: ToolContext, call: Call
) -> None:
    succeeded, text = edit(call, reviewed(context, Person(reply)))
    assert not succeeded
    assert "rejected this edit" in text
    assert file.read_text(encoding="utf-8") == "".join(LINES)


def test_a_new_file_waits_too(repo: Path, context: ToolContext, call: Call) -> None:
    person = Person(PermissionReply(allowed=False))
    outcome = call("create_file", reviewed(context, person), path="new/b.txt", content="x\n")
    assert not outcome.success
    assert outcome.data == {"denied": True}
    assert not (repo / "new").exists()
    assert "+x" in person.asked[0].diff
