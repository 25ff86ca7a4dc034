import os
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.storage.user_data import UserData, locate_user_data
from codekernel.storage.user_data_folder import locate_folder
from platformdirs import PlatformDirs


def test_everything_lies_under_the_root() -> None:
    data = UserData(Path("/data"))
    root = Path("/data")
    assert data.settings_file == root / "settings.json"
    assert data.modified_settings_file == root / "settings-modified.json"
    assert data.database_file == root / "db" / "kernel.db"
    assert data.key_file == root / "db" / "kernel.key"
    assert data.vault_id_file == root / "db" / "vault-id"
    assert data.lock_file == root / "db" / "kernel.lock"
    assert data.conversations_folder == root / "conversations"
    assert data.logs_folder == root / "logs"
    assert data.indexes_folder == root / "index"
    assert data.repo_index_folder(7) == root / "index" / "7"


def test_the_argument_wins_then_our_variable_then_the_front_ends(tmp_path: Path) -> None:
    environ = {
        "CODEKERNEL_USER_DATA": str(tmp_path / "ours"),
        "POCKETRAG_USERDATA_PATH": str(tmp_path / "theirs"),
    }
    assert locate_user_data(str(tmp_path / "argument"), environ).root == tmp_path / "argument"
    assert locate_user_data(None, environ).root == tmp_path / "ours"
    del environ["CODEKERNEL_USER_DATA"]
    assert locate_user_data(None, environ).root == tmp_path / "theirs"


def test_an_empty_string_counts_as_absent(tmp_path: Path) -> None:
    environ = {"CODEKERNEL_USER_DATA": "", "POCKETRAG_USERDATA_PATH": str(tmp_path)}
    assert locate_user_data("", environ).root == tmp_path


def test_a_relative_folder_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate_user_data("here", {}).root == tmp_path / "here"


def test_nothing_at_all_means_the_platforms_own_place() -> None:
    root = locate_user_data(None, {}).root
    assert root.is_absolute()
    assert root.name == "codekernel"


@pytest.mark.skipif(os.name == "nt", reason="Windows does not start Python without SYSTEMROOT")
def test_an_empty_environment_is_enough() -> None:
    code = (
        "from codekernel.storage.user_data import locate_user_data; "
        "print(locate_user_data(None, {}).root)"
    )
    project = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], env={}, cwd=project, capture_output=True, check=True
    )
    assert Path(os.fsdecode(done.stdout.strip())).is_absolute()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the library is asked")
def test_the_usual_place_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for home in ("/home/ann", "/home/ann/", "/"):
        monkeypatch.setenv("HOME", home)
        for data in (None, "", " ", "/data", "relative"):
            if data is None:
                monkeypatch.delenv("XDG_DATA_HOME", raising=False)
            else:
                monkeypatch.setenv("XDG_DATA_HOME", data)
            expected = PlatformDirs("codekernel", appauthor=False).user_data_path
            assert locate_user_data(None, {}).root == expected


@pytest.mark.skipif(os.name == "nt", reason="names of POSIX")
@pytest.mark.parametrize("name", ["a", "./a//b/", "/x/../y/.", "///x", "~", "a/..", "/"])
def test_a_folder_is_made_absolute_as_pathlib_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate_folder(name, {}) == str(Path(name).absolute())
