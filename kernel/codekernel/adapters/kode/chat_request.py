"""The body of a request to the Kode service, and the folder that it is about."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import WrongParam

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
