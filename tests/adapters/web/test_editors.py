"""Opening a file of a repository in the user's editor."""

import os
import sys
from pathlib import Path

import pytest
from adapters.web.browsing import WebProcess
from codekernel.adapters.web.host_calls import (
    can_open_editor,
    open_in_editor,
    resolve_file_inside,
)
from codekernel.errors import InvalidPath, WrongParam
from support.conversation_client import chat_settings, write_sources


def editor_in(folder: Path, name: str, received: Path) -> None:
    """A program that passes on what it was told, and the secrets that it was given."""
    folder.mkdir()
    os.mkfifo(received)
    script = folder / name
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "$CODEKERNEL_VAULT_KEY" > "{received}"\n', encoding="utf-8"
    )
    script.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the editor is a shell script")
def test_a_file_is_opened_in_the_editor_at_its_line(
    tmp_path: Path, user_data: Path, repo: Path
) -> None:
    write_sources(repo)
    chat_settings(user_data, "http://127.0.0.1:1/v1")
    received = tmp_path / "received"
    editor_in(tmp_path / "bin", "code", received)
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    with (
        WebProcess(user_data, repo, "--no-browser", environ=environ) as web,
        web.browser().tab() as tab,
    ):
        assert tab.code("openInEditor", filePath="session.py", line=4) == "SESSION_NOT_FOUND"
        tab.open("demo")
        opened = tab.call("openInEditor", filePath="session.py", line=4)
        assert opened == {"editor": "code"}
        assert received.read_text(encoding="utf-8") == f"--goto\n{repo / 'session.py'}:4\n\n"
        assert tab.code("openInEditor", filePath="../userData/settings.json") == "INVALID_PATH"
        assert tab.code("openInEditor", filePath="gone.py") == "INVALID_PATH"
        assert tab.code("openInEditor") == "WRONG_PARAM"


def test_without_an_editor_it_says_which_were_looked_for(repo: Path) -> None:
    (repo / "a.py").touch()
    if sys.platform != "linux":
        pytest.skip("other systems have an editor of their own")
    with pytest.raises(InvalidPath, match=r"code, cursor, .*CODEKERNEL_EDITOR"):
        open_in_editor(str(repo), "a.py", 1, {"PATH": str(repo)})


def test_an_editor_that_cannot_be_started_is_named(repo: Path) -> None:
    (repo / "a.py").touch()
    broken = repo / "broken"
    broken.write_bytes(b"\0\0no program")
    broken.chmod(0o755)
    with pytest.raises(InvalidPath, match="broken cannot be started"):
        open_in_editor(str(repo), "a.py", 1, {"CODEKERNEL_EDITOR": str(broken)})


def test_a_file_must_lie_inside_the_repository(tmp_path: Path, repo: Path) -> None:
    (tmp_path / "secret.py").touch()
    (repo / "own.py").touch()
    (repo / "link.py").symlink_to(tmp_path / "secret.py")
    assert resolve_file_inside(repo, "own.py") == repo / "own.py"
    for outside in ("../secret.py", str(tmp_path / "secret.py"), "link.py", ".", "gone.py"):
        with pytest.raises(InvalidPath):
            resolve_file_inside(repo, outside)
    for nonsense in (None, "", 5, "a\0b"):
        with pytest.raises(WrongParam):
            resolve_file_inside(repo, nonsense)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows always has one")
def test_it_is_known_whether_there_is_an_editor(tmp_path: Path) -> None:
    assert not can_open_editor({"PATH": str(tmp_path)})
    editor = tmp_path / "code"
    editor.write_text("#!/bin/sh\n")
    editor.chmod(0o755)
    assert can_open_editor({"PATH": str(tmp_path)})
