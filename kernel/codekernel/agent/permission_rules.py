"""What agents may do without being asked, because a person allowed it for good: a file of rules.

A rule is about one repository: a command, letter for letter, or deleting below a folder.
"""

import hashlib
import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from codekernel.agent.tool_policy import ToolPermission, ToolPermissionRequest
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
