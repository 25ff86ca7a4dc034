"""What ``codekernel share`` prints, and what doctor says of the store."""

import json
from argparse import Namespace
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.cli.commands.doctor import run_doctor
from codekernel.cli.commands.share import run_share
from codekernel.sharing.team import SALT_NAME
from codekernel.sharing.vector_speeds import MeasuredSpeed
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, CommandVault
from support.shared_kernel import ENVIRON


def set_up(
    user_data: Path, store: Path | None, monkeypatch: pytest.MonkeyPatch, *, has_salt: bool = True
) -> None:
    monkeypatch.setenv("CODEKERNEL_VAULT_KEY", ENVIRON["CODEKERNEL_VAULT_KEY"])
    sharing = {"sharing": {"store": str(store), "mode": "read-write"}} if store else {}
    (user_data / "settings.json").write_text(json.dumps(sharing), encoding="utf-8")
    if has_salt:
        with closing(CommandVault(UserData(user_data), ENVIRON)) as vault:
            ApiKeys(vault).set(SALT_NAME, "a salt of this team")


def share(user_data: Path, action: str, **options: object) -> int:
    return run_share(
        Namespace(
            user_data=str(user_data),
            action=action,
            **{"json": False, "yes": True, "base": ""} | options,
        )
    )


def test_status_says_that_nothing_is_shared(
    user_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(user_data, None, monkeypatch, has_salt=False)
    assert share(user_data, "status") == 0
    assert "nothing is shared" in capsys.readouterr().out


def test_status_lists_what_leaves_and_what_is_there(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path, monkeypatch)
    assert share(user_data, "status") == 0
    printed = capsys.readouterr().out
    assert "vectors and salted hashes of the texts embedded here leave" in printed
    assert "no vectors yet" in printed


def test_status_says_of_which_models_the_store_is_not_asked(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path, monkeypatch)
    for model, rate in (("ab" * 8, 9_000.0), ("cd" * 8, 30.0)):
        speed = MeasuredSpeed(UserData(user_data).sharing_folder, model)
        speed.note_computed(rate)
        speed.save()
    assert share(user_data, "status") == 0
    printed = capsys.readouterr().out
    assert "computed here: 9000 a second; from the store: not timed yet; it is not asked" in printed
    assert "computed here: 30 a second; from the store: not timed yet; it is asked" in printed
    assert share(user_data, "status", json=True) == 0
    assert json.loads(capsys.readouterr().out)["speeds"]["ab" * 8]["computed"] == 9_000


def test_status_names_the_problem_also_for_programs(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path / "gone", monkeypatch)
    assert share(user_data, "status") == 1
    assert "PROBLEM: The team's store" in capsys.readouterr().out
    assert share(user_data, "status", json=True) == 1
    assert "is it mounted?" in json.loads(capsys.readouterr().out)["problem"]


def test_status_misses_the_salt_and_makes_no_vault(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path, monkeypatch, has_salt=False)
    assert share(user_data, "status") == 1
    assert f"codekernel key set {SALT_NAME}" in capsys.readouterr().out
    assert not UserData(user_data).database_file.exists()


def test_forget_says_how_much_it_deleted(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path, monkeypatch)
    assert share(user_data, "forget") == 0
    assert "deleted: 0 vectors" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "code"), [("", 0), ("gone", 1)])
def test_doctor_tries_the_store(  # noqa: PLR0913, PLR0917
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    code: int,
) -> None:
    set_up(user_data, tmp_path / name, monkeypatch)
    assert run_doctor(Namespace(user_data=str(user_data), fix=False)) == code
    verdict = "PROBLEM: sharing: " if code else "ok: sharing: "
    assert verdict in capsys.readouterr().out


def test_send_says_how_much_it_sent(
    user_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up(user_data, tmp_path, monkeypatch)
    assert share(user_data, "send") == 0
    assert "sent: 0 vectors" in capsys.readouterr().out
