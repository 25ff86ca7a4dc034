import os
from pathlib import Path

import pytest
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.toolsets import build_agent_tools, build_ide_tools
from codekernel.agent.workspace.root import WorkspaceRoot

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX links")

WAYS_OUT = [
    "..",
    "../secret.txt",
    "../demo-evil/secret.txt",
    "src/../../secret.txt",
    "src/../../demo/../secret.txt",
    "/etc/passwd",
    "//server/share/secret.txt",
    r"\\server\share\secret.txt",
    r"\\?\C:\secret.txt",
    r"C:\secret.txt",
    "C:secret.txt",
    "../DEMO/src/a.py",
    "link-to-file",
    "link-to-folder/secret.txt",
    "link-to-folder/new.txt",
    "link-to-link",
    "src/nothing/../../../secret.txt",
]
BAD_PATHS = ["", "a\0b", "\ud800"]
DELETING = {"op": "delete", "anchor": {"type": "exact", "pattern": "s"}}
# For each tool the field that is a path, and what else it needs.
TAKING_PATHS: list[tuple[str, str, dict[str, object]]] = [
    ("search_context", "path", {"pattern": "x"}),
    ("read_file", "path", {}),
    ("create_file", "path", {"content": "new"}),
    ("edit_file", "path", {"mode": "overwrite", "content": "new"}),
    ("edit_file", "path", {"mode": "append", "content": "new"}),
    ("edit_file", "path", {"hunks": [DELETING]}),
    ("delete_path", "path", {"recursive": True}),
    ("mkdir", "path", {"exist_ok": True}),
    ("list_directory", "path", {}),
    ("run_command", "cwd", {"command": "echo ran > ran.txt"}),
    ("start_session", "cwd", {"command": "cat"}),
    ("grep_file", "relativePath", {"pattern": "secret"}),
    ("read_file_of_ide", "relativePath", {}),
    ("apply_change", "relativePath", {"searchContent": "", "replaceContent": "new"}),
    ("apply_change", "relativePath", {"searchContent": "secret", "replaceContent": "new"}),
]  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("import os\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "demo-evil").mkdir()
    (tmp_path / "demo-evil" / "secret.txt").write_text("secret\n")
    if os.name != "nt":
        (folder / "link-to-file").symlink_to(tmp_path / "secret.txt")
        (folder / "link-to-folder").symlink_to(tmp_path)
        (folder / "link-to-link").symlink_to("link-to-file")
        (folder / "link-inside").symlink_to("src/a.py")
    return folder


def everything_outside(repo: Path) -> dict[str, bytes]:
    above = repo.parent
    return {
        str(path.relative_to(above)): path.read_bytes()
        for path in above.rglob("*")
        if path.is_file() and repo not in path.parents and above / "journal" not in path.parents
    }


@posix_only
@pytest.mark.parametrize(("tool", "field", "rest"), TAKING_PATHS)
def test_no_tool_reads_writes_or_runs_outside_the_root_in_any_way(
    tool: str, field: str, rest: dict[str, object], context: ToolContext, repo: Path
) -> None:
    before = everything_outside(repo)
    registry = build_ide_tools() if field == "relativePath" else build_agent_tools()
    for path in [*WAYS_OUT, *BAD_PATHS, str(repo.parent / "secret.txt")]:
        if tool == "grep_file" and not path:
            continue  # means the whole project
        given = {field: path, **rest}
        outcome = registry.call(tool.removesuffix("_of_ide"), given, context)
        if tool == "delete_path" and path.startswith("link-to-") and "/" not in path:
            continue  # a link that lies inside is deleted itself
        assert not outcome.success, (tool, path)
        assert "secret\n" not in outcome.text
    assert everything_outside(repo) == before
    assert context.terminals.list_open() == []


@posix_only
@pytest.mark.parametrize("path", WAYS_OUT)
def test_a_path_that_leads_out_is_refused_without_a_word_about_what_is_there(
    path: str, repo: Path
) -> None:
    with pytest.raises(ToolError, match="outside the repository"):
        WorkspaceRoot.from_path(repo).resolve(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "./src/a.py", "src/../src/a.py", "src//a.py", "src/./a.py"]
)
def test_a_path_that_stays_inside_means_what_it_says(path: str, repo: Path) -> None:
    root = WorkspaceRoot.from_path(repo)
    assert root.resolve(path) == root.folder / "src" / "a.py"


def test_an_absolute_path_inside_the_root_is_taken(repo: Path) -> None:
    root = WorkspaceRoot.from_path(repo)
    assert root.resolve(str(root.folder / "src" / "a.py")) == root.folder / "src" / "a.py"
    assert root.format_path(root.folder / "src" / "a.py") == "src/a.py"


@posix_only
def test_a_link_is_followed_but_meant_itself_when_it_is_deleted(repo: Path) -> None:
    root = WorkspaceRoot.from_path(repo)
    assert root.resolve("link-inside") == root.folder / "src" / "a.py"
    for path in ("link-inside", "link-to-folder/"):
        with root.reach_to_delete(path) as place:
            assert place.path == root.folder / path.rstrip("/")


@posix_only
def test_a_root_that_is_itself_reached_by_a_link_is_the_real_folder(
    repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(repo)
    root = WorkspaceRoot.from_path(tmp_path / "way")
    assert root.resolve("src/a.py") == repo.resolve() / "src" / "a.py"
    assert root.resolve(str(repo / "src")) == repo.resolve() / "src"


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/hooks/post-commit", "sub/.git/config", ".git./x", ".g\u200cit/x",
             "git~1/config"]
)  # fmt: skip
def test_files_of_git_are_not_written_or_deleted_however_they_are_spelt(
    path: str, repo: Path
) -> None:
    root = WorkspaceRoot.from_path(repo)
    for reach in (root.reach_to_write, root.reach_to_delete):
        with pytest.raises(ToolError, match="belongs to git"), reach(path):
            pass


@pytest.mark.parametrize("path", [".", "./", "src/.."])
def test_the_root_itself_is_not_deleted(path: str, context: ToolContext, repo: Path) -> None:
    given = {"path": path, "recursive": True}
    assert not build_agent_tools().call("delete_path", given, context).success
    assert (repo / "src" / "a.py").exists()
