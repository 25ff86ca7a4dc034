"""The body of a request to the Kode service and its folder; tool calls line by line.

Calls of ``codekernel backend --stdio`` are answered one JSON line each, in order;
``ReadBeforeWrite`` requires that a file is read before it is written.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
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
from codekernel.errors import WrongParam
from codekernel.transport.lines import Line, OversizedLine

_SURROGATE = re.compile("[\ud800-\udfff]")


class FolderNotAllowed(WrongParam):
    """The folder of a request is not below any folder of the service."""


@dataclass(frozen=True, slots=True)
class KodeChatRequest:
    """What is asked; ``is_read_only`` in mode ``ask``, ``agent_id`` goes on with a session."""

    message: str
    is_read_only: bool = False
    agent_id: str = ""
    outputs_path: str = ""
    working_dir: str = ""
    user_id: str = ""
    notebook_path: str = ""
    files: tuple[str, ...] = ()

    def build_prompt(self) -> str:
        """Return the message, and behind it the context that was sent with it."""
        context = {
            "user": self.user_id,
            "files": ", ".join(self.files),
            "notebook to work in, to be created if it is missing": self.notebook_path,
        }
        lines = [f"- {name}: {value}" for name, value in context.items() if value]
        return "\n".join([self.message, "", "Context:", *lines] if lines else [self.message])

    def choose_folder(self, roots: Sequence[WorkspaceRoot]) -> tuple[Path, WorkspaceRoot]:
        """Return the folder to work in, and the root that it is in.

        That is the first one that was named and exists, or the first root if none was named. A
        relative path begins at a root. Links are followed, but not out of the roots. Raises
        FolderNotAllowed, whether or not the folder exists, and WrongParam.
        """
        named = [path for path in (self.outputs_path, self.working_dir) if path]
        for path in named:
            if found := _find_folder(path, roots):
                return found
        if named:
            raise WrongParam(f"There is no folder {named[-1]}: make it first.")
        return roots[0].folder, roots[0]


def _find_folder(path: str, roots: Sequence[WorkspaceRoot]) -> tuple[Path, WorkspaceRoot] | None:
    """Return where a path leads, None if there is no folder. Raises FolderNotAllowed."""
    is_inside = False
    for root in roots:
        try:
            with root.reach(path) as place:
                is_inside = True
                if place.is_folder:
                    return place.path, root
        except ToolError:
            continue
    if not is_inside:
        raise FolderNotAllowed(f"{path} is not inside a folder that this service works in.")
    return None


def parse_chat_request(body: bytes) -> KodeChatRequest:
    """Parse a body. Raises WrongParam. Fields that are unknown, and null, count as left out."""
    try:
        fields = parse_json(body)
    except ValueError as error:
        raise WrongParam(f"The body is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise WrongParam("The body must be a JSON object.")
    message = _get_text(fields, "message")
    if not message.strip():
        raise WrongParam("`message` is missing or empty: say what is to be done.")
    context = fields.get("context")
    context = context if isinstance(context, dict) else {}
    return KodeChatRequest(
        message=message,
        is_read_only=fields.get("mode") == "ask",
        agent_id=_get_text(fields, "agentId"),
        outputs_path=_get_text(fields, "outputsPath"),
        working_dir=_get_text(context, "workingDir"),
        user_id=_get_text(context, "userId"),
        notebook_path=_get_text(context, "notebookPath"),
        files=tuple(_iterate_files(context.get("files"))),
    )


def _get_text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    return _check_text(value, name)


def _check_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise WrongParam(f"`{name}` must be a text.")
    if not value.isascii() and _SURROGATE.search(value):
        raise WrongParam(f"`{name}` has half of a surrogate pair in it, which is no character.")
    return value


def _iterate_files(files: object) -> Iterator[str]:
    for each in files if isinstance(files, list) else ():
        yield _check_text(each, "files")


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
