"""Host calls of a tab: settings, host info, and what is left to the browser."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from adapters.web.browsing import Browser, WebProcess
from codekernel import __version__
from codekernel.adapters.web.host_calls import can_open_editor, detect_locale


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
        models = tab.call("getGenerationModels")["modelList"]
        assert [model["name"] for model in models] == ["renamed 模型"]
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folder of a process")
def test_a_folder_that_was_deleted_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert not can_open_editor({})
    monkeypatch.chdir(tmp_path)  # another test may start a process
