"""The calls of the campaign ``races``: every tool that touches files, and every other reader."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codekernel.adapters.ide.tool_calls import IdeToolCall, IdeToolExecutor
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools.toolsets import build_all_tools, build_ide_tools
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SourceText
from codekernel.errors import KernelError
from codekernel.files.reading import read_lines, read_source_file
from codekernel.files.walk import FileWalker
from trust_races_world import Cell

_AGENT, _IDE = build_all_tools(), build_ide_tools()
_TEXT = "written by a tool\n"
_HUNK = {"op": "replace", "anchor": {"type": "exact", "pattern": "needle"}, "content": "thread"}
# Tool, the field that takes the path, which paths, what else it takes.
_FILES = ("a.txt", "b.txt", "deep/er/c.txt")
_NEW = ("new.txt", "fresh/er/new.txt", "deep/new.txt")
_FOLDERS = ("", "deep", "deep/er")
TOOL_CALLS: tuple[tuple[ToolRegistry, str, str, tuple[str, ...], dict[str, Any]], ...] = (
    (_AGENT, "read_file", "path", _FILES, {}),
    (_AGENT, "read_file", "path", _FILES, {"with_metadata": True}),
    (_AGENT, "search_context", "path", _FOLDERS, {"pattern": "needle"}),
    (_AGENT, "search_context", "path", _FILES, {"pattern": "needle"}),
    (_AGENT, "list_directory", "path", _FOLDERS, {"recursive": True}),
    (_AGENT, "list_directory", "path", _FOLDERS, {}),
    (_AGENT, "create_file", "path", _NEW, {"content": _TEXT}),
    (_AGENT, "edit_file", "path", _FILES, {"mode": "overwrite", "content": _TEXT}),
    (_AGENT, "edit_file", "path", _FILES, {"mode": "append", "content": _TEXT}),
    (_AGENT, "edit_file", "path", _NEW, {"mode": "overwrite", "content": _TEXT}),
    (_AGENT, "edit_file", "path", _FILES, {"hunks": [_HUNK]}),
    (_AGENT, "mkdir", "path", ("made", "made/er/deep", "deep/made"), {}),
    (_AGENT, "delete_file", "path", _FILES, {}),
    (_AGENT, "delete_path", "path", _FILES, {}),
    (_AGENT, "delete_path", "path", ("deep", "deep/er", ""), {"recursive": True}),
    (_AGENT, "Replace", "file_path", (*_FILES, *_NEW), {"content": _TEXT}),
    (_AGENT, "Edit", "file_path", _FILES, {"old_string": "needle four", "new_string": "x"}),
    (_AGENT, "Edit", "file_path", _NEW, {"old_string": "", "new_string": _TEXT}),
    (
        _AGENT,
        "MultiEdit",
        "file_path",
        _FILES,
        {"edits": [{"old_string": "needle", "new_string": "pin"}]},
    ),
    (
        _AGENT,
        "MultiEdit",
        "file_path",
        ("new.txt", "deep/new.txt"),
        {"edits": [{"old_string": "", "new_string": _TEXT}]},
    ),
    (
        _AGENT,
        "NotebookEditCell",
        "notebook_path",
        ("n.ipynb",),
        {"cell_number": 0, "new_source": "x = 1"},
    ),
    (_IDE, "grep_file", "relativePath", _FILES, {"pattern": "needle", "contextLines": 1}),
    (_IDE, "read_file", "relativePath", _FILES, {}),
    (
        _IDE,
        "apply_change",
        "relativePath",
        _FILES,
        {"searchContent": "needle four", "replaceContent": _TEXT},
    ),
    (_IDE, "apply_change", "relativePath", _NEW, {"searchContent": "", "replaceContent": _TEXT}),
)


CRASHED = "crashed with"
# The name of a call, all it said, and whether it succeeded.
Said = tuple[str, str, bool]


class Caller:
    """Makes one call after the other in a cell, chosen by chance; what each says is returned."""

    def __init__(self, cell: Cell, context: ToolContext, chance: random.Random) -> None:
        self._cell = cell
        self._context = context
        self._chance = chance
        others: list[Callable[[], Said]] = [
            self._undo,
            self._undo,
            self._read_lines,
            self._walk,
            self._grep_all,
            self._in_project,
        ]
        self._calls = [*(self._tool(*each) for each in TOOL_CALLS), *others]

    def call(self) -> Said:
        """One call; an exception that no caller expects is said as ``CRASHED``."""
        try:
            return self._chance.choice(self._calls)()
        except Exception as error:  # noqa: BLE001 - told by the campaign
            return "a call", f"{CRASHED}: {error!r}", False

    def _path(self, paths: tuple[str, ...]) -> str:
        return f"{self._cell.files}/{self._chance.choice(paths)}".rstrip("/")

    def _tool(
        self,
        tools: ToolRegistry,
        name: str,
        field: str,
        paths: tuple[str, ...],
        rest: dict[str, Any],
    ) -> Callable[[], Said]:
        def call() -> Said:
            path = self._path(paths)
            outcome = tools.call(name, {field: path, **rest}, self._context)
            return f"{name} {path}", _describe_outcome(outcome), outcome.success

        return call

    def _undo(self) -> Said:
        journal = self._context.journal
        last = journal.changes[-1:]
        try:
            for change in last:
                journal.undo(change)
            return "undo", str(last), True
        except KernelError as error:
            return "undo", str(error), False

    def _read_lines(self) -> Said:
        path = self._path(_FILES)
        try:
            return f"readLines {path}", read_lines(self._root, path, 0, 9).content, True
        except KernelError as error:
            return f"readLines {path}", str(error), False

    def _walk(self) -> Said:
        """What an indexer would take in."""
        taken = []
        try:
            for found in FileWalker(self._root).iterate_folder(self._cell.name, CancelToken()):
                taken.append(found.path)
                if isinstance(found, FoundFile):
                    source = read_source_file(self._root, found)
                    taken.append(source.text if isinstance(source, SourceText) else "")
        except OSError as error:
            taken.append(str(error))
        return "walk", "\n".join(taken), True

    def _grep_all(self) -> Said:
        given = {"pattern": "needle", "limit": 500}
        outcome = _IDE.call("grep_file", given, self._context)
        return "grep_file in all", _describe_outcome(outcome), outcome.success

    def _in_project(self) -> Said:
        """A call of an IDE whose project is the folder that is swapped."""
        name, given = self._chance.choice(
            (
                ("read_file", {"relativePath": "a.txt"}),
                ("grep_file", {"pattern": "needle"}),
                ("apply_change", {"relativePath": "new.txt", "replaceContent": _TEXT}),
            )
        )
        call = IdeToolCall("1", name, given, "", str(self._root / self._cell.files))
        outcome = IdeToolExecutor(_IDE, self._context).execute(call, CancelToken())
        return f"{name} in project", _describe_outcome(outcome), outcome.success

    @property
    def _root(self) -> Path:
        return self._cell.root


def _describe_outcome(outcome: ToolOutcome) -> str:
    return f"{outcome.text}\n{outcome.data}"
