"""What is found is what ``git ls-files -co --exclude-standard`` lists, rule by rule."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason
from codekernel.files.walk import FileWalker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# One or two processes each; a run of 1000 found nothing more.
EXAMPLES = 60
CHECKOUT = Path(__file__).parents[2]
# What git lists and we leave out for another reason than a rule; links are files to git.
LISTED_BY_GIT = set(SkipReason) - {SkipReason.IGNORED, SkipReason.NOT_A_FILE}


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(folder))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_INDEX_FILE"):
            patch.delenv(name, raising=False)
        yield folder


def git(folder: Path, *arguments: str) -> bytes:
    options = ["-c", "safe.directory=*", "-c", "protocol.file.allow=always"]
    people = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"]
    command = ["git", *options, *people, *arguments]  # found on PATH: git is part of the test
    return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout


def listed_by_git(folder: Path) -> set[str]:
    """Files only: a nested repository is listed as a folder, a deleted file as if it were there."""
    listed = git(folder, "ls-files", "-co", "--exclude-standard", "-z").split(b"\0")
    paths = {os.fsdecode(path) for path in listed if path and not path.endswith(b"/")}
    return {path for path in paths if os.path.lexists(folder / path) and (folder / path).is_file()}


def found(root: Path) -> set[str]:
    """What is found; on the way, that each path alone has the same verdict."""
    walk = FileWalker(root)
    paths = set()
    for item in walk.iterate_files(CancelToken()):
        assert walk.check_path(item.path) == item
        if isinstance(item, FoundFile) or item.reason in LISTED_BY_GIT:
            paths.add(item.path)
    return {path for path in paths if (root / path).is_file()}


def make(root: Path, files: dict[str, str]) -> Path:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode("utf-8", "surrogateescape"))
    return root


def repository(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q")
    return make(root, files)


def bare_repository(root: Path, *, ignore_case: bool) -> Path:
    """What ``git init`` makes, as far as git needs it, without starting a process."""
    (root / ".git/objects").mkdir(parents=True)
    (root / ".git/refs").mkdir()
    config = f"[core]\nrepositoryformatversion = 0\nignoreCase = {str(ignore_case).lower()}\n"
    return make(root, {".git/HEAD": "ref: refs/heads/main\n", ".git/config": config})


TREE = [
    *("a", "b.py", "x.log", "foo", "foobar", "build/a", "build/x.py", "build/keep/x.log"),
    *("src/a", "src/foo/bar", "src/build/x.py", "src/foo/build", "src/deep/er/foo/bar/x.py"),
    *("#hash", "!bang", "blank ", "blank", "tab\t", "back\\slash", "[a]", "a]", "A", "Foo", "é"),
    *("a/b.d/c"[2:], "doc/frotz/x", "doc/a/b", "x/doc/frotz/x", "foo.d/one/bar", "foo.d/bar"),
    *(".hidden", ".cfg/a", "src/.hidden/x.py", "*", "a-b", "a_b", "a.b", "ab", "aXb", "a^b"),
]
HARD_RULES = {
    "names at any depth": "foo\n",
    "anchored at the top": "/foo\n/build\n",
    "anchored by a slash inside": "src/foo\ndoc/frotz/\n",
    "folders only": "build/\n",
    "folders only, below": "src/foo/build/\n",
    "negated": "*.py\n!x.py\n",
    "the last rule wins": "!x.py\n*.py\n",
    "negated twice": "*\n!*.py\n!src/\nx.py\n!build/\n",
    "a parent that is left out stays out": "build/\n!build/x.py\n",
    "all in a folder but one": "build/*\n!build/x.py\n",
    "all but one, deeply": "/*\n!/src\n/src/*\n!/src/foo\n",
    "stars in the middle": "src/*/bar\n",
    "star and slash": "*/foo\n",
    "two stars at the front": "**/foo\n**/foo/bar\n",
    "two stars in the middle": "src/**/bar\nfoo.d/**/bar\n",
    "two stars at the end": "src/**\n!src/a\n",
    "two stars glued to a name": "foo**/bar\nsrc**x.py\na**b\n",
    "two stars glued after": "**foo\n**/x*\n",
    "question mark": "?\n??\nfoo?\n",
    "class": "[a-c]\n[!a]b\na[-_]b\n",
    "class with bracket": "[]]\na[]]\n[[]a]\n",
    "class with a caret": "a[^X]b\na[\\^]b\n",
    "named classes": "[[:upper:]]\na[[:punct:]]b\n[[:nonsense:]]\n[[:alpha:]\n",
    "class that is never closed": "[a\nfoo[\n",
    "class with a slash": "src[/]foo\nsrc[!x]foo\n",
    "class with a dash at the end": "a[_-]b\na[\\]-_]b\n",
    "escaped": "\\#hash\n\\!bang\n\\*\n\\[a\\]\nback\\\\slash\n",
    "backslash at the end": "foo\\\nbar\\\\\n",
    "not a comment": " #hash\n#hash\n",
    "blanks at the end": "blank \nfoo   \n",
    "blank that is escaped": "blank\\ \n",
    "tab at the end": "tab\t\nfoo\t\n",
    "lines of a Windows editor": "foo\r\n*.py\r\n",
    "no end of the last line": "foo\nbar",
    "byte order mark": "\ufefffoo\nbar\n",
    "odd lines": "/\n//\n!\n!/\n\n \n/ \n*/\n",
    "everything": "*\n",
    "everything, in another way": "**\n!*.py\n",
    "beyond ASCII": "é\n",
    "question marks beyond ASCII": "??\n",
    "NUL": "foo\0bar\n",
}


@pytest.mark.parametrize("rules", HARD_RULES.values(), ids=HARD_RULES.keys())
def test_each_kind_of_rule_means_what_it_means_to_git(tmp_path: Path, rules: str) -> None:
    root = repository(tmp_path, {path: "x" for path in TREE if path.count("/") or path != "a"})
    make(root, {".gitignore": rules})
    assert found(root) == listed_by_git(root)


@pytest.mark.parametrize("rules", HARD_RULES.values(), ids=HARD_RULES.keys())
def test_each_kind_of_rule_below_the_top_too(tmp_path: Path, rules: str) -> None:
    root = repository(tmp_path, dict.fromkeys(TREE, "x"))
    make(root, {"src/.gitignore": rules, "src/deep/.gitignore": "!*\n", ".gitignore": "x.*\n"})
    assert found(root) == listed_by_git(root)


WORDS = st.sampled_from(
    [
        *("a", "b", "ab", "foo", "bar", "x.py", "\\a", "*", "**", "***", "?", "[a-b]", "[!a]"),
        *("a*", "*b", "a*b*", "f**", "*.py", "o??"),
    ]
)
PATTERNS = st.builds(
    lambda negated, front, words, back: negated + front + "/".join(words) + back,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*", " ", "\\ "]),
)
PATHS = st.lists(
    st.sampled_from(["a", "b", "ab", "foo", "bar", "x.py", "foob", "baab"]), min_size=1, max_size=4
).map("/".join)


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    paths=st.sets(PATHS, min_size=1, max_size=15),
    top=st.lists(PATTERNS, max_size=6),
    nested=st.lists(PATTERNS, max_size=4),
    nested_at=PATHS,
    exclude=st.lists(PATTERNS, max_size=2),
    tracked=st.lists(PATHS, max_size=3),
    folded=st.booleans(),
)
def test_any_tree_and_any_rules_mean_what_they_mean_to_git(  # noqa: PLR0913, PLR0917  # drawn
    paths: set[str],
    top: list[str],
    nested: list[str],
    nested_at: str,
    exclude: list[str],
    tracked: list[str],
    *,
    folded: bool,
) -> None:
    with TemporaryDirectory() as folder:
        root = bare_repository(Path(folder), ignore_case=folded)
        if folded:
            paths, tracked = {path.upper() for path in paths}, [path.upper() for path in tracked]
        for path in sorted(paths | set(tracked), key=len, reverse=True):
            if not (root / path).exists():
                make(root, {path: "x"})
        if files := [path for path in tracked if (root / path).is_file()]:
            git(root, "add", "-f", "--", *files)
        make(root, {".gitignore": "\n".join(top), ".git/info/exclude": "\n".join(exclude)})
        if (root / nested_at).is_dir():
            make(root, {f"{nested_at}/.gitignore": "\n".join(nested)})
        assert found(root) == listed_by_git(root)


def test_the_users_own_excludes_and_those_of_the_repository(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path, dict.fromkeys(["a.log", "b.tmp", "c.py", "d.bak"], "x"))
    make(root, {".git/info/exclude": "*.tmp\n!a.log\n"})
    make(home, {".config/git/ignore": "*.log\n*.bak\n"})
    assert found(root) == listed_by_git(root) == {"a.log", "c.py"}


@pytest.mark.parametrize(
    "config",
    [
        '[core]\n\texcludesFile = "~/my ignore" ; mine\n',
        "[CORE] excludesfile = ~/my\\\n ignore\n",
        "[include]\npath = more\n",
    ],
)
def test_excludes_named_in_the_users_settings(tmp_path: Path, home: Path, config: str) -> None:
    root = repository(tmp_path, dict.fromkeys(["a.log", "b.py"], "x"))
    make(home, {".gitconfig": config, "my ignore": "*.log\n"})
    make(home, {"more": "[core]\nexcludesFile = ~/my ignore\n", ".config/git/ignore": "*.py\n"})
    assert found(root) == listed_by_git(root) == {"b.py"}


def test_without_a_home_there_are_no_excludes_of_the_user(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path, {"a.log": "x"})
    make(home, {".config/git/ignore": "*.log\n"})
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("PATH")
    assert found(root) == {"a.log"}


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("split", [False, True])
def test_what_git_tracks_is_found_though_a_rule_ignores_it(
    tmp_path: Path, version: str, *, split: bool
) -> None:
    paths = ["build/a.py", "build/b.py", "build/deep/c.log", "x.log", "y.log", "é.log"]
    root = repository(tmp_path, dict.fromkeys(paths, "x"))
    git(root, "update-index", "--split-index" if split else "--no-split-index")
    git(root, "add", "build/a.py", "build/deep", "x.log")
    git(root, "update-index", "--index-version", version)
    git(root, "add", "é.log")
    if version == "3":
        git(root, "add", "-N", "y.log")  # an entry with more flags needs version 3
    make(root, {".gitignore": "build/\n*.log\n"})
    assert found(root) == listed_by_git(root)
    assert {"build/a.py", "build/deep/c.log", "x.log", "é.log"} < found(root)
    assert "build/b.py" not in found(root)


def test_sha256_repositories_are_understood(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    make(tmp_path, {"a.log": "x", "b.log": "x", ".gitignore": "*.log"})
    git(tmp_path, "add", "-f", "a.log")
    assert found(tmp_path) == listed_by_git(tmp_path) == {"a.log", ".gitignore"}


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\7cut", b"DIRC\0\0\0\x09"])
def test_a_damaged_list_of_tracked_files_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    root = repository(tmp_path, {"a.log": "x", "b": "x", ".gitignore": "*.log"})
    (root / ".git/index").write_bytes(damage)
    assert found(root) == {"b", ".gitignore"}


def test_nested_repositories_go_by_their_own_rules_and_only_those(tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": "*.log\nhidden/\n", "a.log": "x"})
    inner = repository(root / "lib/inner", {".gitignore": "*.tmp\n", "a.log": "x", "b.tmp": "x"})
    make(inner, {".git/info/exclude": "*.bak\n", "c.bak": "x"})
    repository(root / "hidden/other", {"a.py": "x"})
    assert listed_by_git(root) == {".gitignore"}
    inside = {f"lib/inner/{path}" for path in listed_by_git(inner)}
    assert found(root) == {".gitignore"} | inside
    assert inside == {"lib/inner/a.log", "lib/inner/.gitignore"}


def test_submodules_and_work_trees_are_repositories_too(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", {"a.py": "x", ".gitignore": "*.log"})
    git(library, "add", ".")
    git(library, "commit", "-qm", "first")
    root = repository(tmp_path / "root", {"b.py": "x", ".gitignore": "vendor/\n"})
    git(root, "submodule", "add", "-q", "-f", str(library), "vendor/library")
    make(root, {"vendor/library/x.log": "x", "vendor/c.py": "x"})
    inside = {f"vendor/library/{path}" for path in listed_by_git(root / "vendor/library")}
    assert found(root) == {"b.py", ".gitignore", ".gitmodules"} | inside
    assert "vendor/library/a.py" in inside
    git(library, "worktree", "add", "-q", str(tmp_path / "tree"))
    make(library, {".git/info/exclude": "*.tmp"})
    make(tmp_path / "tree", {"x.log": "x", "y.tmp": "x", "z": "x"})
    assert found(tmp_path / "tree") == listed_by_git(tmp_path / "tree")


def test_a_work_tree_inside_its_own_repository_is_not_indexed_twice(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "x"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", "trees/one")
    assert found(root) == {"a.py"}
    left_out = FileWalker(root).check_path("trees/one/a.py")
    assert isinstance(left_out, SkippedPath)
    assert "another work tree" in left_out.detail
    make(root, {".codekernelignore": "!trees/one/\n"})
    assert "trees/one/a.py" in found(root)


def test_a_root_inside_a_larger_repository_goes_by_the_rules_above_it(tmp_path: Path) -> None:
    top = repository(tmp_path, {".gitignore": "*.log\n/apps/web/dist\n", "x.py": "x"})
    make(top, {"apps/.gitignore": "!a.log\n*.tmp\n", ".codekernelignore": "secret\n"})
    paths = ["a.log", "b.log", "c.tmp", "dist/a.py", "src/dist/a.py", "main.py", "secret"]
    root = make(top / "apps/web", dict.fromkeys(paths, "x"))
    assert found(root) == listed_by_git(root) - {"secret"}
    left_out = FileWalker(root).check_path("c.tmp")
    assert left_out == SkippedPath("c.tmp", SkipReason.IGNORED, "../.gitignore line 2: *.tmp")


def test_a_root_that_the_repository_around_it_ignores_is_a_folder_without_git(
    tmp_path: Path,
) -> None:
    top = repository(tmp_path, {".gitignore": "*\n"})
    root = make(top / "project", {"a.py": "x", "b.log": "x", ".gitignore": "*.log\n"})
    assert found(root) == {"a.py", ".gitignore"}


def test_a_repository_is_found_only_by_what_makes_one(tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": "*.log", "sub/.git/x": "x", "sub/a.log": "x"})
    make(root, {"pointer/.git": "gitdir: nowhere\n", "pointer/a.log": "x", "pointer/b": "x"})
    assert found(root) == {".gitignore", "pointer/b"}


@pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="not a checkout")
def test_this_checkout_is_found_as_git_lists_it() -> None:
    assert found(CHECKOUT) == listed_by_git(CHECKOUT)
