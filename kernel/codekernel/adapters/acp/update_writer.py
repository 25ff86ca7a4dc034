"""Translate messages of document 004 into the updates of an ACP agent: pure, but for what was sent.

A message that grows is sent as what was added to it; a result's unified diff becomes the texts
before and after each hunk, as editors draw them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from acp import schema

from codekernel.agent.tool_policy import ToolPermission
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.domain.agent_sessions import PlanEntry, SessionMessage
from codekernel.domain.chat import (
    ROLE_USER,
    ContentBlock,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
)

ToolKind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]

PlanStatus = Literal["pending", "in_progress", "completed"]

_KINDS_BY_PERMISSION: dict[ToolPermission, ToolKind] = {
    ToolPermission.READS: "read",
    ToolPermission.WRITES: "edit",
    ToolPermission.DELETES: "delete",
    ToolPermission.RUNS: "execute",
}

_KINDS_BY_DANGER: dict[str, ToolKind] = {
    str(each): kind for each, kind in _KINDS_BY_PERMISSION.items()
}

_SEARCH_TOOLS = frozenset({"search", "search_context", "grep_file", "call_chain"})

_PLAN_TOOL, _CREATE_TOOL = "plan", "create_file"

# The argument that says most, for the title of a call.
_TITLE_KEYS = ("title", "command", "path", "file_path", "filePath", "query", "pattern", "files")

_PATH_KEYS = ("path", "file_path", "filePath")

_MAX_TITLE_CHARACTERS = 120

_FILE_HEADER = re.compile(r"\+\+\+ b/(.*)")

_HUNK_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def find_kind(tool: str, danger: str = "") -> ToolKind:
    """Return the kind of a tool; foreign agents name their tools by it."""
    if tool in get_args(ToolKind):
        return tool  # type: ignore[return-value]
    if tool in _SEARCH_TOOLS:
        return "search"
    if tool == _PLAN_TOOL:
        return "think"
    if danger in _KINDS_BY_DANGER:
        return _KINDS_BY_DANGER[danger]
    return _list_own_kinds().get(tool, "other")


@cache
def _list_own_kinds() -> dict[str, ToolKind]:
    return {tool.name: _KINDS_BY_PERMISSION[tool.permission] for tool in build_agent_tools()}


def make_title(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a line about a call."""
    value = next((arguments[key] for key in _TITLE_KEYS if arguments.get(key)), "")
    text = " ".join(str(value).split())
    title = f"{tool}: {text}" if text else tool
    return title if len(title) <= _MAX_TITLE_CHARACTERS else f"{title[:_MAX_TITLE_CHARACTERS]}..."


def list_locations(arguments: Mapping[str, Any], folder: Path) -> list[schema.ToolCallLocation]:
    """Return the file that a call is about, absolute."""
    named = next((arguments[key] for key in _PATH_KEYS if arguments.get(key)), None)
    return [schema.ToolCallLocation(path=str(folder / named))] if isinstance(named, str) else []


def parse_diff(diff: str, folder: Path) -> Iterator[schema.FileEditToolCallContent]:
    """Yield the texts of each hunk of a unified diff; the old one is None for a new file."""
    path, old, new = "", list[str](), list[str]()
    is_new = False
    left_old = left_new = 0
    for line in diff.splitlines(keepends=True):
        if left_old <= 0 and left_new <= 0:
            if named := _FILE_HEADER.match(line):
                path = named[1]
            if hunk := _HUNK_HEADER.match(line):
                left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
                is_new, old, new = hunk[1] == "0" and not left_old, [], []
            continue
        mark, rest = line[:1], line[1:]
        if mark in " -":
            old.append(rest)
            left_old -= 1
        if mark in " +":
            new.append(rest)
            left_new -= 1
        if left_old <= 0 and left_new <= 0:
            yield schema.FileEditToolCallContent(
                type="diff",
                path=str(folder / path),
                old_text=None if is_new else "".join(old),
                new_text="".join(new),
            )


def make_plan_update(plan: Sequence[PlanEntry]) -> schema.AgentPlanUpdate:
    """Return the whole plan."""
    known = get_args(PlanStatus)
    entries = [
        schema.PlanEntry(
            content=each.text,
            priority="medium",
            status=each.status if each.status in known else "pending",  # type: ignore[arg-type]
        )
        for each in plan
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


def make_text_block(text: str) -> schema.TextContentBlock:
    """Return a block of text."""
    return schema.TextContentBlock(type="text", text=text)


class MessageWriter:
    """The messages of one session; remembers how much of the one that grows was sent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._message_id = ""
        self._sent: list[int] = []  # characters of each block of that message
        self._shown_edits: set[str] = set()  # calls whose edits were shown with them

    def write(self, sent: SessionMessage) -> Iterator[Update]:
        """Yield the updates of a message, whole or growing."""
        message = sent.message
        if message.role == ROLE_USER:
            yield from self._write_user_blocks(message.content)
            return
        if sent.id != self._message_id:
            self._message_id, self._sent = sent.id, []
        for number, block in enumerate(message.content):
            if number == len(self._sent):
                self._sent.append(0)
            yield from self._write_block(number, block)

    def _write_block(self, number: int, block: ContentBlock) -> Iterator[Update]:
        match block:
            case ToolUseContent(name, tool, arguments):
                if not self._sent[number]:
                    self._sent[number] = 1
                    yield self._start_call(name, tool, arguments)
            case TextContent(text):
                if added := self._take_added(number, text):
                    yield schema.AgentMessageChunk(
                        session_update="agent_message_chunk",
                        content=make_text_block(added),
                        message_id=self._message_id,
                    )
            case ThinkingContent(thinking):
                if added := self._take_added(number, thinking):
                    yield schema.AgentThoughtChunk(
                        session_update="agent_thought_chunk",
                        content=make_text_block(added),
                        message_id=self._message_id,
                    )

    def _start_call(
        self, name: str, tool: str, arguments: Mapping[str, Any]
    ) -> schema.ToolCallStart:
        locations = list_locations(arguments, self._folder)
        text = arguments.get("content")
        edits: list[Any] = []
        if tool == _CREATE_TOOL and locations and isinstance(text, str):
            path = locations[0].path
            edits = [schema.FileEditToolCallContent(type="diff", path=path, new_text=text)]
            self._shown_edits.add(name)
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=name,
            title=make_title(tool, arguments),
            kind=find_kind(tool),
            status="in_progress",
            raw_input=dict(arguments),
            locations=locations,
            content=edits or None,
        )

    def _take_added(self, number: int, text: str) -> str:
        added, self._sent[number] = text[self._sent[number] :], len(text)
        return added

    def _write_user_blocks(self, blocks: Sequence[ContentBlock]) -> Iterator[Update]:
        for block in blocks:
            if isinstance(block, TextContent):
                yield schema.UserMessageChunk(
                    session_update="user_message_chunk", content=make_text_block(block.text)
                )
            elif isinstance(block, ToolResultContent):
                yield self._end_call(block)

    def _end_call(self, result: ToolResultContent) -> schema.ToolCallProgress:
        content: list[Any] | None = [*parse_diff(result.diff, self._folder)]
        if not content and result.tool_use_id in self._shown_edits and not result.is_error:
            content = None  # as it was shown with the call
        elif not content:
            text = make_text_block(result.text)
            content = [schema.ContentToolCallContent(type="content", content=text)]
        return schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=result.tool_use_id,
            status="failed" if result.is_error else "completed",
            content=content,
        )
