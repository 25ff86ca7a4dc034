"""What agents may do without being asked, and edits that wait for a person.

A rule is kept because a person allowed something for good. It is about one repository: a command,
letter for letter, or deleting below a folder. An edit is held back as a diff until it is accepted,
whole or by hunks.
"""

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from codekernel.agent.tool_policy import (
    PermissionReply,
    ToolError,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.workspace.text_file import compute_diff
from codekernel.domain.diff import apply_hunks, compute_structured_patch
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import WrongParam
from codekernel.protocol.envelope import dump_json
from codekernel.storage import safe_files

logger = logging.getLogger(__name__)

# A command that is longer is a script, which nobody allows for good by looking at it.
MAX_RULE_CHARACTERS = 2_000

# Tools whose whole effect is said by the command; input for a running program is not.
_COMMAND_TOOLS = frozenset({"run_command", "start_session"})


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """``rule`` is the command, or the folder with a slash at its end."""

    folder: str
    danger: str
    rule: str

    @property
    def id(self) -> str:
        """A name for it; equal rules have the same one."""
        return hashlib.sha256(dump_json([self.folder, self.danger, self.rule])).hexdigest()[:16]


def describe_rule(request: ToolPermissionRequest) -> str:
    """Return what a rule for a call would allow; empty if there can be none."""
    given = _read_arguments(request.arguments)
    rule = ""
    if request.permission is ToolPermission.RUNS and request.tool in _COMMAND_TOOLS:
        rule = given.get("command", "")
    elif request.permission is ToolPermission.DELETES:
        rule = _find_folder(given.get("path", ""))
    is_usable = isinstance(rule, str) and rule.strip() and len(rule) <= MAX_RULE_CHARACTERS
    return rule if is_usable else ""


class PermissionRules:
    """The rules of all repositories in one file; safe to use from any thread."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def list_rules(self, folder: Path) -> list[PermissionRule]:
        """Return the rules of a repository, oldest first."""
        return [rule for rule in self._read() if rule.folder == str(folder)]

    def allows(self, folder: Path, request: ToolPermissionRequest) -> bool:
        """Return whether a rule allows a call."""
        wanted = describe_rule(request)
        rules = [
            each.rule
            for each in (self.list_rules(folder) if wanted else ())
            if each.danger == request.permission
        ]
        if request.permission is ToolPermission.DELETES:
            return any(wanted.startswith(rule) for rule in rules)
        return wanted in rules

    def add(self, folder: Path, request: ToolPermissionRequest) -> None:
        """Allow from now on what a call does. Raises WrongParam if no rule can say it."""
        rule = describe_rule(request)
        if not rule:
            raise WrongParam(f"No rule can be made of this use of {request.tool}.")
        added = PermissionRule(str(folder), str(request.permission), rule)
        with self._lock:
            self._write([*(each for each in self._read() if each != added), added])

    def delete(self, folder: Path, rule_id: str) -> None:
        """Delete a rule of a repository. Raises WrongParam if there is none."""
        with self._lock:
            rules = self._read()
            kept = [each for each in rules if (each.folder, each.id) != (str(folder), rule_id)]
            if len(kept) == len(rules):
                raise WrongParam("There is no such rule; it was deleted already.")
            self._write(kept)

    def _read(self) -> list[PermissionRule]:
        """Return the rules; none of a file that cannot be read: then everything is asked."""
        try:
            entries = parse_json(safe_files.read_regular(self._file))
            return [PermissionRule(it["folder"], it["danger"], it["rule"]) for it in entries]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.warning("%s cannot be read, so its rules do not count: %s", self._file, error)
            return []

    def _write(self, rules: list[PermissionRule]) -> None:
        content = dump_json([asdict(rule) for rule in rules])
        safe_files.write_bytes_atomically(self._file, content)


def _read_arguments(arguments: object) -> Mapping[str, Any]:
    if isinstance(arguments, str | bytes):
        try:
            arguments = parse_json(arguments)
        except ValueError:
            return {}
    return arguments if isinstance(arguments, Mapping) else {}


def _find_folder(path: object) -> str:
    """Return the folder that a path is in; empty unless that is below the root for certain."""
    if not isinstance(path, str) or "\\" in path:
        return ""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or parts.parent == PurePosixPath():
        return ""
    return f"{parts.parent}/"


AskPerson = Callable[[ToolPermissionRequest], PermissionReply]


class EditRejected(ToolError):
    """The person rejected the whole edit; the file is as it was."""


class EditTrimmed(ToolError):
    """The person accepted a part of the edit, which is in the file now."""


def review_edit(ask: AskPerson, tool: str, path: str, before: str | None, after: str) -> str:
    """Return the text that a person accepts. Raises EditRejected if that is none of it."""
    old = before or ""
    hunks = compute_structured_patch(old, after)
    diff = compute_diff(path, old, after).text
    request = ToolPermissionRequest(tool, ToolPermission.WRITES, {"path": path}, diff)
    reply = ask(request)
    accepted = set(range(len(hunks)) if reply.hunks is None else reply.hunks)
    if not reply.allowed or (hunks and not accepted):
        raise EditRejected(
            f"The person rejected this edit; {path} is as it was. Do not try it again; ask what"
            " to do instead.",
            {"denied": True},
        )
    # A new file is made whole or not at all.
    return after if before is None else apply_hunks(old, hunks, accepted)


def explain_trimmed(path: str, before: str, wanted: str, written: str) -> EditTrimmed:
    """Return what the model is told of an edit that was accepted in parts."""
    diff = compute_diff(path, before, written)
    left_out = compute_diff(path, written, wanted)
    return EditTrimmed(
        f"The person accepted only a part of this edit. {path} was changed so:\n{diff.text}\n"
        f"This part was rejected; do not try it again:\n{left_out.text}",
        {"diff": diff.text},
    )
