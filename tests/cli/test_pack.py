"""What ``codekernel pack`` prints."""

import json
from argparse import Namespace
from pathlib import Path

import pytest
from cli.test_share import set_up, share
from codekernel.cli.commands.pack import run_pack
from codekernel.errors import StorageError, WrongParam
from codekernel.packs.signatures import SigningKey
from codekernel.sharing.team import SIGNING_KEY_VARIABLE
from support.git_history import GitHistory


def pack(user_data: Path, action: str, **options: object) -> int:
    defaults = {
        "repo": None,
        "commit": "HEAD",
        "label": None,
        "force": False,
        "days": 30,
        "keep": 3,
        "json": False,
        "dry_run": False,
        "standalone": True,
    }
    return run_pack(Namespace(user_data=str(user_data), action=action, **defaults | options))


@pytest.mark.slow
def test_packs_are_built_listed_pulled_and_forgotten(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    set_up(user_data, store, monkeypatch)
    history = GitHistory(tmp_path / "demo")
    history.commit("begin", {"hello.py": "def hello():\n    return 1\n"})
    repo = str(history.folder)
    empty = GitHistory(tmp_path / "empty")
    assert pack(user_data, "build", repo=[repo, str(empty.folder)]) == 1
    told = capsys.readouterr()
    assert "1 files, 1 chunks" in told.out
    assert f"{empty.folder} has no pack: {empty.folder} has no commits yet" in told.err
    assert pack(user_data, "build", repo=[repo, repo]) == 0
    assert "has a pack already" in capsys.readouterr().out
    assert pack(user_data, "build", repo=[repo], force=True) == 0
    assert "sent the index" in capsys.readouterr().out
    assert pack(user_data, "list", json=True) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["label"], listed["files"], listed["problem"]) == ("demo", 1, "")
    assert pack(user_data, "pull", repo=repo) == 0
    assert "Your team's index was found: ready in" in capsys.readouterr().out
    assert pack(user_data, "pull", repo=repo) == 0
    assert "has an index already" in capsys.readouterr().out
    assert pack(user_data, "clean", days=0, keep=1) == 0
    assert "no pack is old enough" in capsys.readouterr().out
    assert share(user_data, "status") == 0
    assert "whole indexes: 1" in capsys.readouterr().out
    assert share(user_data, "forget") == 0
    assert "and 1 whole indexes" in capsys.readouterr().out
    assert pack(user_data, "list") == 0
    assert "the team has no packs yet" in capsys.readouterr().out


def test_a_repository_without_a_pack_is_explained(
    user_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    set_up(user_data, store, monkeypatch)
    history = GitHistory(tmp_path / "demo")
    history.commit("begin", {"hello.py": "def hello():\n    return 1\n"})
    with pytest.raises(StorageError, match="your team has no pack of"):
        pack(user_data, "pull", repo=str(history.folder))


def test_one_label_is_for_one_repository(
    user_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(user_data, tmp_path, monkeypatch)
    with pytest.raises(WrongParam, match="are for one --repo"):
        pack(user_data, "build", repo=[str(tmp_path), str(tmp_path)], label="x")


def test_without_a_store_it_is_said_what_to_do(
    user_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(user_data, None, monkeypatch)
    with pytest.raises(StorageError, match=r"sharing\.store"):
        pack(user_data, "pull", repo=str(tmp_path))
    with pytest.raises(StorageError, match=r"sharing\.store"):
        pack(user_data, "list")


@pytest.mark.slow
def test_a_key_is_made_and_its_packs_are_listed_as_signed(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert pack(user_data, "key") == 0
    public, secret = (line.rsplit(": ", 1)[1] for line in capsys.readouterr().out.splitlines())
    assert SigningKey.parse(secret).public.encode() == public
    (tmp_path / "store").mkdir()
    set_up(user_data, tmp_path / "store", monkeypatch)
    history = GitHistory(tmp_path / "demo")
    history.commit("begin", {"hello.py": "def hello():\n    return 1\n"})
    assert pack(user_data, "build", repo=[str(history.folder)]) == 0
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, secret)
    assert pack(user_data, "build", repo=[str(history.folder)]) == 0
    capsys.readouterr()
    assert pack(user_data, "list") == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.endswith(", signed") for line in listed] == [True, False], "the newest first"
