"""``codekernel backend --stdio`` as a program starts it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.kernel_process import bare_environment


def backend(
    user_data: Path, folder: Path, *words: str, calls: list[dict[str, Any]]
) -> tuple[int, list[dict[str, Any]], bytes]:
    """Run it over these calls; its exit code, what it said, what it wrote to stderr."""
    lines = "".join(
        json.dumps({"tool_use_id": f"t{number}", **call}) + "\n"
        for number, call in enumerate(calls)
    )
    done = subprocess.run(
        [*CODEKERNEL, "backend", "--stdio", *words],
        input=lines.encode(),
        capture_output=True,
        env=bare_environment(user_data),
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def replacing(path: str) -> dict[str, Any]:
    return {"tool_name": "Replace", "input": {"file_path": path, "content": "x\n"}}


def test_calls_are_answered_until_stdin_ends(user_data: Path, repo: Path) -> None:
    code, said, stderr = backend(
        user_data, repo.parent, "--root", str(repo), calls=[replacing("a"), replacing("../b")]
    )
    assert (code, stderr) == (0, b"")
    assert [message["type"] for message in said] == ["backend_only", "backend_only", "tool_result"]
    assert said[0]["data"]["filePath"] == str(repo.resolve() / "a")
    assert (repo / "a").read_bytes() == b"x\n"
    assert not (repo.parent / "b").exists()


def test_what_deletes_and_runs_must_be_allowed(user_data: Path, repo: Path) -> None:
    (repo / "a").write_bytes(b"x")
    calls = [{"tool_name": "delete_file", "input": {"path": "a"}}]
    _, said, _ = backend(user_data, repo, calls=calls)
    assert "not allowed" in said[-1]["result"]
    assert (repo / "a").exists()
    _, said, _ = backend(user_data, repo, "--allow", "deletes", calls=calls)
    assert [message["type"] for message in said] == ["backend_only"]
    assert not (repo / "a").exists()


def test_files_must_be_read_first_if_requested(user_data: Path, repo: Path) -> None:
    (repo / "a").write_bytes(b"old\n")
    reading = {"tool_name": "read_file", "input": {"path": "a"}}
    calls = [replacing("a"), reading, replacing("a")]
    _, said, _ = backend(user_data, repo, "--read-first", calls=calls)
    assert [message["type"] for message in said] == [
        "backend_only", "tool_result", "backend_only", "backend_only",
    ]  # fmt: skip
    assert "has not been read" in said[1]["result"]


def test_a_root_that_is_no_folder_is_an_error_line(user_data: Path, repo: Path) -> None:
    code, said, _ = backend(user_data, repo, "--root", "none", calls=[replacing("a")])
    assert code == 1
    [message] = said
    assert message["type"] == "error"
    assert "none is no folder" in message["message"]


def test_calls_of_tools_have_one_root(user_data: Path, repo: Path) -> None:
    code, said, stderr = backend(user_data, repo, "--root", ".", "--root", "..", calls=[])
    assert (code, said) == (2, [])
    assert b"--stdio has one --root" in stderr
