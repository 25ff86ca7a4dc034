"""A folder is swapped for a link to the outside before any step of a tool: nothing escapes.

Every call that a tool makes to the system is counted; before the n-th, for each n, another process
would have swapped the folder and the link, and before the next one it may have swapped them back.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.ide.tool_calls import IdeToolCall, IdeToolExecutor
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY, ToolError
from codekernel.agent.tools.toolsets import build_all_tools, build_ide_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SourceText
from codekernel.errors import InvalidPath
from codekernel.files.reading import read_lines, read_source_file
from codekernel.files.walk import FileWalker
from support.undoing import undo_last

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX links")

CANARY = "canary"
TOUCHES = (
    "open", "stat", "lstat", "scandir", "readlink", "rename", "replace", "link", "unlink", "rmdir",
    "mkdir", "chmod", "chown",
)  # fmt: skip
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": "x"}], "metadata": {}, "nbformat": 4}'
HUNK = {"op": "replace", "anchor": {"type": "exact", "pattern": "needle"}, "content": "x"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read": ("read_file", {"path": "sub/a.txt"}),
    "search a folder": ("search_context", {"path": "sub", "pattern": "needle"}),
    "search a file": ("search_context", {"path": "sub/a.txt", "pattern": "needle"}),
    "search deep": ("search_context", {"path": "sub/deep", "pattern": "needle"}),
    "list": ("list_directory", {"path": "sub", "recursive": True}),
    "list all": ("list_directory", {"path": ".", "recursive": True}),
    "create": ("create_file", {"path": "sub/fresh/new.txt", "content": "x"}),
    "overwrite": ("edit_file", {"path": "sub/a.txt", "mode": "overwrite", "content": "x"}),
    "patch": ("edit_file", {"path": "sub/a.txt", "hunks": [HUNK]}),
    "make folders": ("mkdir", {"path": "sub/fresh/er"}),
    "delete a file": ("delete_file", {"path": "sub/a.txt"}),
    "delete a folder": ("delete_path", {"path": "sub/deep", "recursive": True}),
    "replace": ("Replace", {"file_path": "sub/a.txt", "content": "x\n"}),
    "replace nothing": ("Replace", {"file_path": "sub/new.txt", "content": "x\n"}),
    "edit": ("Edit", {"file_path": "sub/a.txt", "old_string": "needle", "new_string": "x"}),
    "edit much": (
        "MultiEdit",
        {"file_path": "sub/a.txt", "edits": [{"old_string": "needle", "new_string": "x"}]},
    ),
    "edit a notebook": (
        "NotebookEditCell",
        {"notebook_path": "sub/n.ipynb", "cell_number": 0, "new_source": "y"},
    ),
    "grep a file": ("grep_file", {"relativePath": "sub/a.txt", "pattern": "needle"}),
    "grep all": ("grep_file", {"pattern": "needle"}),
    "read lines": ("ide read_file", {"relativePath": "sub/a.txt"}),
    "apply a change": (
        "apply_change",
        {"relativePath": "sub/a.txt", "searchContent": "needle", "replaceContent": "x"},
    ),
    "project": ("ide project", {"relativePath": "a.txt", "pattern": "needle"}),
    "lines of a page": ("read_lines", {}),
    "index": ("walk", {}),
    "run a command": ("run_command", {"cwd": "sub", "command": "cat a.txt; ls"}),
    "undo an edit": (
        "undo",
        {"edit_file": {"path": "sub/a.txt", "mode": "append", "content": "x"}},
    ),
    "undo a file": ("undo", {"create_file": {"path": "sub/one/new.txt", "content": "x"}}),
    "undo folders": ("undo", {"mkdir": {"path": "sub/one/two"}}),
    "undo a deletion": ("undo", {"delete_path": {"path": "sub/deep", "recursive": True}}),
}


class World:
    """A repository whose folder ``sub`` can be swapped with a link to a twin outside."""

    def __init__(self, place: Path) -> None:
        self.repo, self.outside = place / "repo", place / "outside"
        for folder, mark in ((self.repo / "sub", "inside"), (self.outside, CANARY)):
            (folder / "deep").mkdir(parents=True)
            (folder / "a.txt").write_text(f"needle {mark}\n")
            (folder / "deep" / "b.txt").write_text(f"needle {mark}\n")
            (folder / "n.ipynb").write_text(NOTEBOOK.replace("x", mark))
        (self.outside / f"{CANARY}.txt").write_text("needle")
        (self.repo / "way").symlink_to(self.outside)
        root = WorkspaceRoot.from_path(self.repo)
        journal = ChangeJournal(place / "journal", root)
        self.context = ToolContext(root, journal, permissions=ALLOW_ALL_POLICY)

    def swap(self) -> None:
        sub, way, aside = (self.repo / name for name in ("sub", "way", "aside"))
        swapped = ((sub, aside), (way, sub), (aside, way))
        for one, other in swapped:
            REAL["rename"](one, other)

    def state(self) -> dict[str, tuple[int, ...]]:
        """Of everything outside; the time of a folder tells of what came and went."""
        found: dict[str, tuple[int, ...]] = {}
        for path in [self.outside, *self.outside.rglob("*")]:
            status = path.lstat()
            found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns)
        return found


REAL: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in TOUCHES}


@pytest.fixture
def swapping(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """``[world, step, last step, steps so far]``; no world, no swapping."""
    state: list[Any] = [None, 0, 0, 0]

    def before(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            world, first, last, _ = state
            if world is not None:
                state[3] += 1
                if state[3] in {first, last}:
                    world.swap()
            return REAL[name](*given, **named)

        return call

    for name in TOUCHES:
        monkeypatch.setattr(os, name, before(name))
    yield state
    state[0] = None


def prepare(world: World, name: str, given: dict[str, Any]) -> Callable[[], str]:
    """What must be there first is done; the call itself is returned."""
    context = world.context
    if name == "undo":
        for tool, arguments in given.items():
            assert build_all_tools().call(tool, arguments, context).success
        return lambda: str(undo_last(context.journal))
    if name == "read_lines":
        return lambda: read_lines(world.repo, "sub/a.txt", 0, 9).content
    if name == "walk":
        return lambda: indexed(world.repo)
    if name == "ide project":
        call = IdeToolCall("1", "grep_file", given, "", str(world.repo / "sub"))
        return lambda: IdeToolExecutor(build_ide_tools(), context).execute(call, CancelToken()).text
    tools = (
        build_ide_tools() if "relativePath" in given or name == "grep_file" else build_all_tools()
    )
    tool = name.removeprefix("ide ")
    return lambda: "{0.text} {0.data}".format(tools.call(tool, given, context))


def indexed(root: Path) -> str:
    taken = []
    for found in FileWalker(root).iterate_files(CancelToken()):
        taken.append(found.path)
        if isinstance(found, FoundFile):
            source = read_source_file(root, found)
            taken.append(source.text if isinstance(source, SourceText) else "")
    return "\n".join(taken)


@pytest.fixture
def place() -> Iterator[Path]:
    """In memory, where there are no flushes to wait for."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_nothing_escapes_when_a_folder_is_swapped_for_a_link_before_any_step(
    call: str, times: int, place: Path, swapping: list[Any]
) -> None:
    step, steps = 0, 1
    while step < steps:
        step += 1
        world = World(place / str(step))
        run = prepare(world, *CALLS[call])
        before = world.state()
        swapping[:] = [world, step, step + times - 1, 0]
        try:
            said = run()
        except (ToolError, InvalidPath, OSError) as error:
            said = str(error)
        steps = max(steps, swapping[3])
        swapping[0] = None
        assert CANARY not in said, f"read after a swap before step {step}"
        assert world.state() == before, f"changed after a swap before step {step}"
    assert steps > 3
