"""The desktop app and the kernel find the same userData folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.storage.user_data import locate_user_data
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows, get_win_folder_from_env_vars
from support.javascript import BRIDGE, require_node

ASK = """
import { locateUserData } from './src/user_data.js';
process.stdout.write(JSON.stringify(locateUserData(JSON.parse(process.argv[1]))));
"""
HOME = "/home/somebody"


def ask_bridge(**options: object) -> str:
    require_node()
    words = [str(shutil.which("node")), "--input-type=module", "--eval", ASK, json.dumps(options)]
    done = subprocess.run(words, cwd=BRIDGE, capture_output=True, check=True, timeout=60)
    return str(json.loads(done.stdout))


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"XDG_DATA_HOME": "/data"},
        {"XDG_DATA_HOME": "relative"},
        {"XDG_DATA_HOME": ""},
        {"CODEKERNEL_USER_DATA": "/chosen", "POCKETRAG_USERDATA_PATH": "/other"},
        {"CODEKERNEL_USER_DATA": "", "POCKETRAG_USERDATA_PATH": "/other"},
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_both_agree_on_this_machine(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", HOME)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = ask_bridge(environ=environ, home=HOME, platform=sys.platform)
    assert Path(found) == locate_user_data(None, os.environ).root


@pytest.mark.parametrize("data_home", ["", "/data"])
@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_both_agree_on_linux_and_macos(data_home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("XDG_DATA_HOME", data_home)
    environ = {"XDG_DATA_HOME": data_home}
    for platform, rules in (("linux", Unix), ("darwin", MacOS)):
        expected = rules("codekernel", appauthor=False).user_data_dir
        assert ask_bridge(environ=environ, home=HOME, platform=platform) == expected


def test_both_agree_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    local = "C:\\Users\\somebody\\AppData\\Local"
    monkeypatch.setenv("LOCALAPPDATA", local)
    assert get_win_folder_from_env_vars("CSIDL_LOCAL_APPDATA") == local
    # The folder's name follows without that of an author.
    assert Windows("codekernel", appauthor=False)._append_parts("") == "codekernel"
    for environ in ({"LOCALAPPDATA": local}, {}):
        found = ask_bridge(environ=environ, home="C:\\Users\\somebody", platform="win32")
        assert found == f"{local}\\codekernel"
