"""Filters, ``.codekernelignore``, and the rules that hold where there is no git."""

import os
import subprocess
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason
from codekernel.files.skip_rules import (
    MAX_DATA_FILE_BYTES,
    MAX_FILE_BYTES,
    reject_by_name,
    reject_by_size,
    reject_by_text,
)
from codekernel.files.walk import FileWalker


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def make(root: Path, files: dict[str, str]) -> Path:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    return root


def with_git(root: Path) -> Path:
    (root / ".git/objects").mkdir(parents=True)
    (root / ".git/refs").mkdir()
    return make(root, {".git/HEAD": "ref: refs/heads/main\n"})


def found(root: Path) -> set[str]:
    """Code files only; on the way, that each path alone has the same verdict."""
    walk = FileWalker(root)
    items = list(walk.iterate_files(CancelToken()))
    assert [walk.check_path(item.path) for item in items] == items
    return {
        item.path for item in items if isinstance(item, FoundFile) and "ignore" not in item.path
    }


def why(root: Path, path: str) -> str:
    left_out = FileWalker(root).check_path(path)
    assert isinstance(left_out, SkippedPath)
    assert left_out.reason == SkipReason.IGNORED
    return left_out.detail


def test_it_leaves_out_more_than_git_does(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, dict.fromkeys(["a.py", "b.md", "docs/c.py", "sub/d.md"], "x")))
    make(root, {".codekernelignore": "docs/\n/*.md\n"})
    assert found(root) == {"a.py", "sub/d.md"}
    assert why(root, "b.md") == ".codekernelignore line 2: /*.md"


def test_it_leaves_out_what_git_tracks(tmp_path: Path) -> None:
    root = make(tmp_path, dict.fromkeys(["a.py", "docs/c.py"], "x"))
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=root, check=True)  # noqa: S607  # git, from PATH
    make(root, {".codekernelignore": "docs/\n"})
    assert found(root) == {"a.py"}


def test_it_wants_back_a_file_that_git_ignores(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, {".gitignore": "*.gen.py\n", "a.gen.py": "x", "b.gen.py": "x"}))
    make(root, {".codekernelignore": "!a.gen.py\n"})
    assert found(root) == {"a.gen.py"}


def test_a_folder_that_is_wanted_back_is_looked_at_by_gits_other_rules(tmp_path: Path) -> None:
    root = make(tmp_path, {".gitignore": "build/\n*.log\n", "build/a.py": "x", "build/b.log": "x"})
    with_git(make(root, {".codekernelignore": "!build/\n", "build/deep/c.py": "x"}))
    assert found(root) == {"build/a.py", "build/deep/c.py"}


def test_a_path_that_is_spelled_out_is_reached_through_folders_that_git_ignores(
    tmp_path: Path,
) -> None:
    paths = ["out/a.py", "out/api/b.py", "out/api/b.txt", "out/api/deep/c.py", "out/other/d.py"]
    root = with_git(make(tmp_path, dict.fromkeys(paths, "x")))
    make(root, {".gitignore": "out/\n", ".codekernelignore": "!out/api/*.py\n"})
    assert found(root) == {"out/api/b.py"}
    assert why(root, "out/a.py") == "in out/, which is left out: .gitignore line 1: out/"
    assert why(root, "out/other/d.py") == (
        "in out/other/, which is left out: in out/, which is left out: .gitignore line 1: out/"
    )


def test_what_it_leaves_out_cannot_be_wanted_back_from_below(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, {"a/b.py": "x", ".codekernelignore": "a/\n!a/b.py\n"}))
    assert found(root) == set()


def test_a_deeper_file_has_the_last_word(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, dict.fromkeys(["a.py", "sub/a.py", "sub/b.py"], "x")))
    make(root, {".codekernelignore": "a.py\n", "sub/.codekernelignore": "!a.py\nb.py\n"})
    assert found(root) == {"sub/a.py"}
    assert why(root, "sub/b.py") == "sub/.codekernelignore line 2: b.py"


def test_gits_own_folder_cannot_be_wanted_back(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, {".codekernelignore": "!.git/\n!**\n", ".PocketRAG/a": "x"}))
    assert found(root) == set()
    assert why(root, ".git/HEAD") == (
        "in .git/, which is left out: built-in rule: .git is never indexed"
    )


def test_without_git_the_rule_files_and_the_users_excludes_still_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make(tmp_path, {"config/git/ignore": "*.swp\n"})
    root = make(tmp_path / "root", dict.fromkeys(["a.py", "b.log", "sub/c.tmp", "d.swp"], "x"))
    make(root, {".gitignore": "*.log\n", "sub/.gitignore": "*.tmp\n"})
    assert found(root) == {"a.py"}


def test_without_git_folders_of_dependencies_are_left_out(tmp_path: Path) -> None:
    paths = [
        *("node_modules/a/b.js", "__pycache__/a.py", ".venv/a.py", "env/pyvenv.cfg", "env/a.py"),
        *("rust/Cargo.toml", "rust/target/a.rs", "target/kept.rs", "net/a.csproj", "net/obj/a.cs"),
        *("cache/CACHEDIR.TAG", "cache/a.py", "obj/kept.cs", "src/kept.py"),
    ]
    root = make(tmp_path, dict.fromkeys(paths, "x"))
    kept = {"rust/Cargo.toml", "net/a.csproj", "target/kept.rs", "obj/kept.cs", "src/kept.py"}
    assert found(root) == kept
    assert why(root, "rust/target/") == (
        "built-in rule for folders without git: target/ beside Cargo.toml"
    )
    make(root, {".codekernelignore": "!node_modules/\n"})
    assert found(root) == kept | {"node_modules/a/b.js"}
    assert "node_modules" in " ".join(found(with_git(root)))


def test_a_hostile_rule_costs_no_time(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, {"a" * 200: "x", ".gitignore": "*a" * 60 + "b\n"}))
    assert found(root) == {"a" * 200}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_rule_file_that_is_no_file_says_nothing(tmp_path: Path) -> None:
    make(tmp_path, {"a.log": "x", "rules": "*\n", "sub/b.log": "x", "sub/c/.gitignore/x": "*"})
    os.mkfifo(tmp_path / ".gitignore")
    os.mkfifo(tmp_path / ".git")
    (tmp_path / "sub/.gitignore").symlink_to(tmp_path / "rules")
    assert found(tmp_path) == {"a.log", "rules", "sub/b.log"}


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (".gitignore", True),
        ("a/.codekernelignore", True),
        (".git/info/exclude", True),
        ("a/.git/config", True),
        ("sub/.git", True),
        (".git/index", False),
        (".git/HEAD", False),
        ("a/gitignore", False),
        ("info/exclude", False),
    ],
)
def test_rule_files_are_known(tmp_path: Path, path: str, *, is_one: bool) -> None:
    assert FileWalker(tmp_path).is_rule_file(path) is is_one


def test_changed_rules_are_read_when_told_and_by_every_walk(tmp_path: Path) -> None:
    root = with_git(make(tmp_path, {"sub/a.py": "x"}))
    walk = FileWalker(root)
    assert isinstance(walk.check_path("sub/a.py"), FoundFile)
    make(root, {"sub/.gitignore": "a.py\n"})
    walk.clear_rule_cache()
    assert isinstance(walk.check_path("sub/a.py"), SkippedPath)
    make(root, {"sub/.gitignore": ""})
    assert "sub/a.py" in {item.path for item in walk.iterate_files(CancelToken())}
    assert isinstance(walk.check_path("sub/a.py"), FoundFile)


CODE = "def add(first: int, second: int) -> int:\n    return first + second\n\n\n"


def reason_by_name(name: str) -> SkippedPath | SkipReason | None:
    skipped = reject_by_name(name)
    return skipped and skipped.reason


def reason_by_text(name: str, text: str) -> SkippedPath | SkipReason | None:
    skipped = reject_by_text(name, text)
    return skipped and skipped.reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("package-lock.json", SkipReason.GENERATED),
        ("Cargo.lock", SkipReason.GENERATED),
        ("go.sum", SkipReason.GENERATED),
        ("app.js.map", SkipReason.GENERATED),
        ("jquery.min.js", SkipReason.MINIFIED),
        ("theme-min.css", SkipReason.MINIFIED),
        ("logo.PNG", SkipReason.BINARY),
        ("a.tar.gz", SkipReason.BINARY),
        ("a.py", None),
        ("min.js", None),
        ("admin.js", None),
        ("tilemap.map", None),
        ("level.map", None),
        (".png", None),
        ("png", None),
        ("Makefile", None),
        ("a.ts", None),
        ("drawing.svg", None),
    ],
)
def test_some_names_tell(name: str, reason: SkipReason | None) -> None:
    assert reason_by_name(name) == reason


@pytest.mark.parametrize(
    ("name", "limit"), [("a.py", MAX_FILE_BYTES), ("a.JSON", MAX_DATA_FILE_BYTES)]
)
def test_a_file_may_be_as_large_as_its_limit(name: str, limit: int) -> None:
    assert reject_by_size(name, limit) is None
    skipped = reject_by_size(name, limit + 1)
    assert skipped
    assert skipped.reason == SkipReason.TOO_LARGE
    assert f"{limit:,}" in skipped.detail


@pytest.mark.parametrize(
    "head",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.",
        "# Generated by the protocol buffer compiler.  DO NOT EDIT!",
        "/**\n * @generated SignedSource<<0123>>\n */",
        "// <auto-generated>\n//   by a tool\n// </auto-generated>",
        "# -*- coding: utf-8 -*-\n# This file was automatically generated.\n#\n# Do not edit it.",
        "<!-- Autogenerated. Do not modify. -->",
        "-- @generated by sqlc",
    ],
)
def test_generated_code_that_says_so_is_left_out(head: str) -> None:
    assert reason_by_text("a.txt", f"{head}\n{CODE}") == SkipReason.GENERATED


@pytest.mark.parametrize(
    "head",
    [
        "# Looks for '@generated' in files.",
        'MARK = "@generated"',
        "# mail someone@generated.example",
        "# DO NOT EDIT this in production without asking.",
        "# The schema is generated at run time.",
        '"""Finds files that say: generated, do not edit."""',
        "\n" * 30 + "# @generated",
    ],
)
def test_a_file_that_only_mentions_it_is_kept(head: str) -> None:
    assert reason_by_text("a.py", f"{head}\n{CODE}") is None


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.py", CODE * 1000, None),
        ("a.py", CODE.replace("\n", "\r") * 1000, None),
        ("a.js", "var a=1;" * 10_000, SkipReason.MINIFIED),
        ("a.json", '{"a": 1, ' * 10_000, SkipReason.MINIFIED),
        ("a.js", "var a=1;" * 100, None),
        ("a.js", CODE * 10 + "var a=1;" * 10_000, SkipReason.MINIFIED),
        ("a.md", ("A paragraph of prose on one line. " * 30 + "\n\n") * 20, None),
        ("a.csv", "x" * 1_000_000, SkipReason.MINIFIED),
    ],
)
def test_lines_far_too_long_for_people_are_minified(
    name: str, text: str, reason: SkipReason | None
) -> None:
    assert reason_by_text(name, text) == reason
