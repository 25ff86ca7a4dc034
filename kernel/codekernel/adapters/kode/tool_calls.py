"""Tool calls line by line, for ``codekernel backend --stdio``.

Calls are answered one JSON line each, in order; ``ReadBeforeWrite`` requires that a file is read
before it is written.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.adapters.kode.stream import (
    KodeMessage,
    make_backend_only_message,
    make_tool_result_message,
)
from codekernel.agent.registry import ToolRegistry, decode_arguments
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    PermissionPolicy,
    ToolError,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.domain.untrusted_text import parse_json
from codekernel.transport.lines import Line, OversizedLine

# The arguments in which the tools of the document take the file that they change.
_PATH_FIELDS = ("file_path", "notebook_path")


@dataclass(frozen=True, slots=True)
class ReadBeforeWrite:
    """Other permissions, and no change of a file that was not read as it is now."""

    permissions: PermissionPolicy
    registry: ToolRegistry
    root: WorkspaceRoot
    file_states: FileStates

    def get_refusal(self, request: ToolPermissionRequest) -> str | None:
        """Return the reason if the file was not read or has changed since."""
        changed = self._find_changed_file(request)
        if changed is not None and not self.file_states.has_state(changed[0]):
            return "File has not been read yet. Read it first before writing to it."
        if changed is not None and self.file_states.is_stale(*changed):
            return "File has been modified since it was read. Read it again before writing to it."
        return self.permissions.get_refusal(request)

    def _find_changed_file(
        self, request: ToolPermissionRequest
    ) -> tuple[Path, os.stat_result] | None:
        """Return the existing file that would be changed, and its status."""
        given = request.arguments
        if request.permission is not ToolPermission.WRITES or not isinstance(
            given, dict | str | bytes
        ):
            return None
        try:
            arguments = decode_arguments(self.registry[request.tool].arguments, given)
            paths = (getattr(arguments, name, None) for name in _PATH_FIELDS)
            path = next(filter(None, paths), None)
            if not path:
                return None
            with self.root.reach(path) as place:
                return (place.path, place.status) if place.status else None
        except ToolError:  # the tool itself reports it
            return None


# The fields of a call, their types and what these are called.
_CALL_FIELDS = (
    ("tool_name", str, "a text"), ("tool_use_id", str, "a text"), ("input", dict, "an object")
)  # fmt: skip


def answer_lines(
    lines: Iterable[Line], registry: ToolRegistry, context: ToolContext
) -> Iterator[KodeMessage]:
    """Yield the messages that answer the lines, in order. Raises Cancelled if the context is."""
    for line in lines:
        fields, mistake = _parse_fields(line)
        given_id = fields.get("tool_use_id")
        call_id = given_id if isinstance(given_id, str) else ""
        if mistake:
            yield make_tool_result_message(call_id, mistake)
        else:
            tool, arguments = fields["tool_name"], fields["input"]
            yield from execute_call(tool, call_id, arguments, registry, context)


def execute_call(
    tool: str,
    call_id: str,
    arguments: dict[str, Any],
    registry: ToolRegistry,
    context: ToolContext,
) -> Iterator[KodeMessage]:
    """Execute a call and yield the messages about it."""
    outcome = registry.call(tool, arguments, context)
    yield make_backend_only_message(tool, call_id, outcome)
    if not outcome.success:
        yield make_tool_result_message(call_id, outcome.text)


def _parse_fields(line: Line) -> tuple[dict[str, Any], str]:
    """Return the fields of a line, and what is wrong with them, if anything is."""
    if isinstance(line, OversizedLine):
        return {}, f"The line is too long: {line.length:,} bytes."
    try:
        request = parse_json(line)
    except ValueError as error:
        return {}, f"The line is no JSON: {error}."
    if not isinstance(request, dict):
        return {}, "The line is no JSON object."
    fields = {"input": {}, **request}
    for name, type_, kind in _CALL_FIELDS:
        if not isinstance(fields.get(name), type_):
            return fields, f"`{name}` is missing or not {kind}."
    return fields, ""
