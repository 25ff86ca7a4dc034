"""Rules: what agents may do without being asked."""

from pathlib import Path

import pytest
from codekernel.agent.permission_rules import PermissionRules, describe_rule
from codekernel.agent.tool_policy import ToolPermission, ToolPermissionRequest
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
