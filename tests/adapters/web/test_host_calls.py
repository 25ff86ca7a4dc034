"""What the host does for its pages: settings, editors, and what it leaves to the browser."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from adapters.web.browsing import Browser, WebProcess
from codekernel import __version__
from codekernel.adapters.web.editors import (
    EDITORS,
    can_open_editor,
    find_editor_command,
    open_in_editor,
    resolve_file_inside,
)
from codekernel.adapters.web.page_calls import detect_locale
from codekernel.errors import InvalidPath, WrongParam
from support.conversation_window import chat_settings, write_sources

ROOT = Path(__file__).parents[3]


def test_the_host_says_what_it_is(shared_web: tuple[WebProcess, Browser]) -> None:
    web, known = shared_web
    with known.tab() as tab:
        said = tab.call("hostInfo")
        assert isinstance(said.pop("canOpenEditor"), bool)
        assert said == {
            "kind": "browser",
            "platform": sys.platform,
            "version": __version__,
            "locale": "",
            "canChooseFolder": False,
            "folder": str(web.user_data.parent / "demo"),
        }


@pytest.mark.parametrize("call", ["chooseFolder", "openWindow", "copyText", "restartKernel"])
def test_what_a_browser_does_by_itself_is_left_to_it(known: Browser, call: str) -> None:
    with known.tab() as tab:
        assert tab.code(call, page="repos", text="x") == "WRONG_PARAM"


def test_new_settings_are_checked_moved_and_used(browser: Browser, user_data: Path) -> None:
    with browser.tab() as tab:
        settings: dict[str, Any] = tab.call("getSettings")["settings"]
        settings["conversationSettings"]["generationModel"][0]["name"] = "renamed 模型"
        assert tab.call("saveSettings", settings=settings) is None
        assert tab.call("getGenerationModels")["modelList"] == [{"name": "renamed 模型"}]
        written = json.loads((user_data / "settings.json").read_text(encoding="utf-8"))
        assert written == settings
        assert "模型" in (user_data / "settings.json").read_text(encoding="utf-8")
        assert not (user_data / "settings-modified.json").exists()


def test_settings_that_break_a_rule_change_nothing(browser: Browser, user_data: Path) -> None:
    before = (user_data / "settings.json").read_bytes()
    with browser.tab() as tab:
        settings = tab.call("getSettings")["settings"]
        settings["searchSettings"]["searchLimit"] = -1
        failure = tab.ask("saveSettings", settings=settings)["failure"]
        assert failure["code"] == "INVALID_SETTINGS"
        assert "searchLimit" in failure["message"]
        assert tab.code("saveSettings", settings=[]) == "WRONG_PARAM"
        assert tab.code("saveSettings") == "WRONG_PARAM"
        assert tab.call("getSettings")["settings"]["searchSettings"]["searchLimit"] == 10
    assert (user_data / "settings.json").read_bytes() == before
    assert not (user_data / "settings-modified.json").exists()


@pytest.mark.slow
def test_settings_that_are_a_link_stay_one(browser: Browser, user_data: Path) -> None:
    mine = user_data.parent / "dotfiles.json"
    (user_data / "settings.json").rename(mine)
    (user_data / "settings.json").symlink_to(mine)
    with browser.tab() as tab:
        settings = tab.call("getSettings")["settings"]
        settings["searchSettings"]["searchLimit"] = 17
        tab.call("saveSettings", settings=settings)
    assert (user_data / "settings.json").is_symlink()
    assert json.loads(mine.read_bytes())["searchSettings"]["searchLimit"] == 17


def editor_in(folder: Path, name: str, told: Path) -> None:
    """A program that passes on what it was told, and the secrets that it was given."""
    folder.mkdir()
    os.mkfifo(told)
    script = folder / name
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "$CODEKERNEL_VAULT_KEY" > "{told}"\n', encoding="utf-8"
    )
    script.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the editor is a shell script")
def test_a_file_is_opened_in_the_editor_at_its_line(
    tmp_path: Path, user_data: Path, repo: Path
) -> None:
    write_sources(repo)
    chat_settings(user_data, "http://127.0.0.1:1/v1")
    told = tmp_path / "told"
    editor_in(tmp_path / "bin", "code", told)
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    with (
        WebProcess(user_data, repo, "--no-browser", environ=environ) as web,
        web.browser().tab() as tab,
    ):
        assert tab.code("openInEditor", filePath="session.py", line=4) == "SESSION_NOT_FOUND"
        tab.open("demo")
        opened = tab.call("openInEditor", filePath="session.py", line=4)
        assert opened == {"editor": "code"}
        assert told.read_text(encoding="utf-8") == f"--goto\n{repo / 'session.py'}:4\n\n"
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


def command(environ: dict[str, str], *programs: str) -> tuple[str, list[str]] | None:
    found = find_editor_command(
        "/code/a b.py", 7, environ, lambda it: f"/bin/{it}" if it in programs else None
    )
    return (found.editor, found.arguments) if found else None


def test_the_persons_own_editor_goes_before_what_is_found() -> None:
    assert command({}, "zed", "gedit") == ("zed", ["/code/a b.py:7"])
    own = {"CODEKERNEL_EDITOR": "subl --new-window", "VISUAL": "code"}
    assert command(own, "code", "subl") == ("subl", ["--new-window", "/code/a b.py:7"])
    assert command({"EDITOR": "vim"}, "vim", "code") == ("code", ["--goto", "/code/a b.py:7"])
    assert command({"EDITOR": "kate"}, "code", "kate") == ("kate", ["--line", "7", "/code/a b.py"])
    assert command({"CODEKERNEL_EDITOR": "mine -x"}, "mine") == ("mine", ["-x", "/code/a b.py"])
    assert command({"CODEKERNEL_EDITOR": "gone"}, "gvim") == ("gvim", ["+7", "/code/a b.py"])
    assert command({}) is None


def test_the_editors_are_those_of_the_desktop_app() -> None:
    source = (ROOT / "electron-bridge" / "app" / "src" / "editors.js").read_text(encoding="utf-8")
    (table,) = re.findall(r"EDITORS = new Map\(\[(.*?)\n\]\)", source, re.DOTALL)
    assert re.findall(r"^  \['([^']+)'", table, re.MULTILINE) == list(EDITORS)


@pytest.mark.parametrize(
    ("environ", "locale"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LC_ALL": "de_DE@euro", "LANG": "en_US.UTF-8"}, "de-DE"),
        ({"LANG": "C.UTF-8"}, ""),
        ({}, ""),
    ],
)
def test_the_language_is_told_as_pages_name_it(environ: dict[str, str], locale: str) -> None:
    assert detect_locale(environ) == locale


@pytest.mark.skipif(sys.platform == "win32", reason="Windows always has one")
def test_it_is_known_whether_there_is_an_editor(tmp_path: Path) -> None:
    assert not can_open_editor({"PATH": str(tmp_path)})
    editor = tmp_path / "code"
    editor.write_text("#!/bin/sh\n")
    editor.chmod(0o755)
    assert can_open_editor({"PATH": str(tmp_path)})
