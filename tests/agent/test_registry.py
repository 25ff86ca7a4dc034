import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import (
    READ_ONLY_POLICY,
    AllowListPolicy,
    AskUserPolicy,
    ToolError,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.tools.toolsets import build_agent_tools, build_all_tools, build_ide_tools
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.protocol.tool_schema import PositiveInt


@dataclass(frozen=True, slots=True)
class Inner:
    """A part.

    kind: what it is
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Given:
    """What echo takes.

    file_path: a path
    count: how many,
        in one line
    """

    file_path: str
    count: PositiveInt = 1
    dry_run: bool = False
    parts: tuple[Inner, ...] = ()


def echoing(given: Given, _: ToolContext) -> ToolOutcome:
    return make_success(f"{given.file_path} {given.count} {given.dry_run} {len(given.parts)}")


def failing(given: Given, _: ToolContext) -> ToolOutcome:
    raise {"tool": ToolError("no such thing"), "disk": OSError(28, "No space left")}.get(
        given.file_path, RuntimeError("a mistake")
    )


ECHO = Tool("echo", "Says it again.", Given, ToolPermission.READS, echoing)
FAIL = Tool("fail", "Does not work.", Given, ToolPermission.WRITES, failing)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"file_path": "a"}, "a 1 False 0"),
        ({"filePath": "a", "count": "3", "dryRun": "true"}, "a 3 True 0"),
        ({"file_path": "null", "count": None, "parts": [{"kind": "x"}]}, "null 1 False 1"),
        ('{"file_path": "a", "webSocketSessionId": "1", "projectKey": "p"}', "a 1 False 0"),
        (b'{"file_path": "a"}', "a 1 False 0"),
    ],
)
def test_arguments_are_taken_as_models_write_them(
    given: dict[str, object] | str | bytes, text: str, context: ToolContext
) -> None:
    assert ToolRegistry([ECHO]).call("echo", given, context) == make_success(text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "missing required field `file_path`"),
        ({"file_path": 7}, "`file_path`: expected `str`, got `int`"),
        ({"file_path": None}, "`file_path`: expected `str`"),
        ({"file_path": "a", "count": 0}, "`count`: expected `int` >= 1"),
        ({"file_path": "a", "count": "many"}, "`count`: expected `int`"),
        ({"file_path": "a", "parts": [{"kind": "x"}, {}]}, "`parts[1]`: object missing required"),
        ({"file_path": "a", "dry_rum": True}, "`dry_rum` is no field of this tool: `dry_run` is"),
        ('{"file_path": ', "no valid JSON"),
        ("[1]", "must be a JSON object"),
        ('{"file_path": ' + "[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "no valid JSON"),
    ],
)
def test_wrong_arguments_fail_and_say_which_field_and_why(
    given: dict[str, object] | str | bytes, says: str, context: ToolContext
) -> None:
    outcome = ToolRegistry([ECHO]).call("echo", given, context)
    assert not outcome.success
    assert says in outcome.text


def test_every_failure_of_a_tool_is_an_outcome(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    tools = ToolRegistry([FAIL])
    texts = [tools.call("fail", {"file_path": why}, context) for why in ("tool", "disk", "bug")]
    assert [outcome.success for outcome in texts] == [False] * 3
    assert texts[0].text == "no such thing"
    assert "No space left" in texts[1].text
    assert "RuntimeError" in texts[2].text
    assert "a mistake" in caplog.text
    assert tools.call("other", {}, context).text == "There is no tool other. Tools: fail."


def test_a_cancelled_call_does_nothing(context: ToolContext) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        ToolRegistry([ECHO]).call("echo", {"file_path": "a"}, context.with_cancel(cancel))


def test_what_is_not_allowed_is_not_done(context: ToolContext) -> None:
    asked: list[ToolPermissionRequest] = []

    def answer(request: ToolPermissionRequest) -> bool:
        asked.append(request)
        return request.tool == "mkdir"

    tools = build_agent_tools()
    for permissions in (
        READ_ONLY_POLICY,
        AllowListPolicy(()),
        AskUserPolicy((ToolPermission.READS,), answer),
    ):
        careful = dataclasses.replace(context, permissions=permissions)
        for name, given in (
            ("create_file", {"path": "a", "content": ""}),
            ("delete_path", {"path": "a"}),
            ("run_command", {"command": "echo > ran"}),
        ):
            assert not tools.call(name, given, careful).success
    assert list(context.root.folder.iterdir()) == []
    assert [request.permission for request in asked] == [
        ToolPermission.WRITES,
        ToolPermission.DELETES,
        ToolPermission.RUNS,
    ]
    assert tools.call("mkdir", {"path": "made"}, careful).success
    assert tools.call("list_directory", {}, careful).success


@pytest.mark.parametrize("tools", [build_all_tools(), build_ide_tools()])
def test_every_tool_tells_a_model_what_it_takes(tools: ToolRegistry) -> None:
    for spec in tools.build_specs():
        schema: dict[str, Any] = dict(spec.parameters)
        text = json.dumps(schema)
        assert spec.description
        assert schema["type"] == "object"
        assert "$ref" not in text
        for name, field in schema["properties"].items():
            assert field.get("description"), f"{spec.name}.{name} says nothing"


def test_a_registry_is_cut_down_to_the_tools_that_are_wanted() -> None:
    tools = build_agent_tools().select(["read_file", "nobody", "plan", "read_file"])
    assert tools.names == ["read_file", "plan"]
    assert "run_command" not in tools
    with pytest.raises(ValueError, match="two tools are called echo"):
        ToolRegistry([ECHO, ECHO])


def test_the_docstring_of_the_arguments_describes_their_fields() -> None:
    (spec,) = ToolRegistry([ECHO]).build_specs()
    assert spec.parameters["description"] == "What echo takes."
    fields: Any = spec.parameters["properties"]
    assert fields["file_path"] == {"description": "a path", "type": "string"}
    assert fields["count"]["description"] == "how many, in one line"
    assert "description" not in fields["dry_run"]
    assert fields["parts"]["items"]["properties"]["kind"]["description"] == "what it is"
