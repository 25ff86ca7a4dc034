"""What the doctor says about who can read userData, and what onnxruntime once left behind."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.cli.commands.doctor import examine_privacy
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has access lists, not modes")


def findings(folder: Path) -> list[tuple[bool, str]]:
    user_data = UserData(folder)
    with closing(Vault(user_data, {}, may_quarantine=lambda: False)) as vault:
        return list(examine_privacy(user_data, vault))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return folder


def test_a_folder_that_the_next_start_closes_is_no_problem_and_stays_as_it_is(
    user_data: Path,
) -> None:
    user_data.chmod(0o755)
    ((is_problem, said),) = findings(user_data)
    assert not is_problem
    assert "the next start closes it" in said
    assert user_data.stat().st_mode & 0o777 == 0o755


def test_a_folder_that_is_shared_is_a_problem(home: Path, user_data: Path) -> None:
    home.chmod(0o755)
    ((is_problem, said),) = findings(home)
    assert is_problem
    assert "--user-data" in said
    user_data.chmod(0o700)
    assert findings(user_data) == [(False, "privacy: userData is open to its owner alone")]


def test_what_onnxruntime_left_is_named_and_not_deleted(
    home: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_data.chmod(0o700)
    left = home / ".cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    (left / "deviceid").touch()
    _, (is_problem, said) = findings(user_data)
    assert not is_problem
    assert str(left) in said
    assert (left / "deviceid").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    (home / "elsewhere" / "Microsoft" / "DeveloperTools" / ".onnxruntime").mkdir(parents=True)
    assert len(findings(user_data)) == 3
