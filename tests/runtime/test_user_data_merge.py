"""The folder of the desktop app of earlier versions is taken over once, and nothing is lost."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from codekernel.conversation.turn_store import TurnJournal
from codekernel.domain import turn_events as events
from codekernel.domain.turn import TokenUsage, TurnOutcome, TurnRequest
from codekernel.errors import VaultUnavailable
from codekernel.runtime.user_data_merge import merge_user_data
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import UserData, find_earlier_desktop_folder, has_untaken_data
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, UsageLedger
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked
from support import merged_folders
from support.environ import Environ
from support.merged_folders import (
    DAY,
    ENVIRON,
    describe,
    make_both,
    make_conversation,
    make_session,
    make_settings,
    merge,
    open_vault,
)

EXPECTED: dict[str, Any] = {
    "repositories": [
        ["same", "/x/same"],
        ["demo", "/x/here/demo"],
        ["demo-2", "/x/there/demo"],
        ["twin", "/x/there/demo"],
    ],
    "keys": {
        "model": "sk-here",
        "model (2)": "sk-there",
        "other": "sk-other",
        "shared": "sk-shared",
    },
    "usage": {"same": 11, "demo": 1, "demo-2": 10},
    "indexes": {"same": "mine", "demo-2": "of demo", "twin": "of twin"},
    "conversations": {
        "conversation-5": [5, "here"],
        "conversation-6": [6, "next"],
        "conversation-7": [7, "there"],
    },
    "sessions": {
        "conversation-5": ["here", ["edited.py"]],
        "conversation-7": ["there", ["edited.py"]],
    },
    "models": ["model", "model (2)", "only there"],
    "marked": True,
    "planned": False,
    "kept": "sk-there",
}


class MemoryKeyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}
        self.locked: set[tuple[str, str]] = set()

    def get_password(self, service: str, username: str) -> str | None:
        if (service, username) in self.locked:
            raise KeyringLocked
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


@pytest.fixture(autouse=True)
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def source(tmp_path: Path) -> UserData:
    return UserData(tmp_path / "config" / "codekernel")


@pytest.fixture
def target(tmp_path: Path) -> UserData:
    return UserData(tmp_path / "share" / "codekernel")


def test_data_of_both_folders_are_together_and_what_collides_is_renamed(
    source: UserData, target: UserData, tmp_path: Path
) -> None:
    make_both(source, target, tmp_path / "root")
    assert merge(source, target)
    assert describe(source, target, tmp_path / "root") == EXPECTED
    assert not has_untaken_data(source)
    before = json.loads((target.root / "settings-before-merge.json").read_bytes())
    assert [each["name"] for each in before["conversationSettings"]["generationModel"]] == ["model"]


def test_doing_it_again_changes_nothing(source: UserData, target: UserData, tmp_path: Path) -> None:
    make_both(source, target, tmp_path / "root")
    for _ in range(3):
        assert merge(source, target)
    assert describe(source, target, tmp_path / "root") == EXPECTED


def test_an_empty_folder_gets_everything_as_it_was(
    source: UserData, target: UserData, tmp_path: Path
) -> None:
    vault = open_vault(source)
    repo = RepoRegistry(vault).add("demo", tmp_path)
    ApiKeys(vault).set("model", "sk")
    UsageLedger(vault).record(repo.id, "m", DAY, 3, 4)
    vault.close()
    make_settings(source, "model")
    written = make_conversation(source, 9, "why?")
    os.utime(written, ns=(1, 5_000_000_000))
    make_session(source, tmp_path, "89abcdef", "task")
    assert merge(source, target)
    taken = open_vault(target)
    assert [(each.name, each.path) for each in RepoRegistry(taken).list_all()] == [
        ("demo", tmp_path)
    ]
    assert ApiKeys(taken).get("model") == "sk"
    assert UsageLedger(taken).sum_by_model(1)[0].output_tokens == 4
    taken.close()
    assert target.settings_file.read_bytes() == source.settings_file.read_bytes()
    copy = ConversationFiles(target.conversations_folder).history_path(9)
    assert copy.read_bytes() == written.read_bytes()
    assert copy.stat().st_mtime_ns == 5_000_000_000
    assert (target.agent_folder / "sessions" / "89abcdef.json").exists()
    assert (target.agent_folder / "journals" / "89abcdef").is_dir()
    assert source.key_file.read_text() != target.key_file.read_text()


def test_a_turn_that_a_crash_interrupted_there_is_saved_and_counted_once(
    source: UserData, target: UserData, tmp_path: Path
) -> None:
    vault = open_vault(source)
    repo = RepoRegistry(vault).add("demo", tmp_path)
    vault.close()
    files = ConversationFiles(source.conversations_folder)
    request = TurnRequest(
        conversation_id=3, query="why?", model_name="m", time_ms=1_700_000_000_000,
        repo_id=repo.id, repo_path=str(tmp_path),
    )  # fmt: skip
    journal = TurnJournal(request, files.journal_path(3, request.time_ms))
    journal.append(events.AnswerDelta("Because"))
    journal.append(events.TurnDone(TurnOutcome.DONE, spent=TokenUsage(7, 8)))
    journal.close()
    assert merge(source, target)
    assert merge(source, target)
    copy = ConversationFiles(target.conversations_folder).read_history(3)
    assert copy
    assert json.loads(copy)["history"][0]["answer"] == "Because"
    taken = open_vault(target)
    assert UsageLedger(taken).sum_by_model(1)[0].input_tokens == 7
    taken.close()


def test_keys_behind_a_keyring_come_along_and_a_locked_one_is_waited_for(
    source: UserData, target: UserData
) -> None:
    ring = MemoryKeyring()
    keyring.set_keyring(ring)
    for folder, key in ((source, "sk-there"), (target, "sk-here")):
        vault = open_vault(folder)
        ApiKeys(vault).set("model", key)
        vault.close()
    assert len(ring.entries) == 2
    assert not source.key_file.exists()
    found = open_vault(target)
    assert ApiKeys(found).get("model") == "sk-here"
    entry = ("codekernel", f"vault:{source.vault_id_file.read_text().strip()}")
    ring.locked.add(entry)
    with pytest.raises(VaultUnavailable):
        merge_user_data(source, target, found, {})
    assert has_untaken_data(source)
    ring.locked.clear()
    # A key of this vault alone is not tried on the other one.
    assert merge_user_data(source, target, found, {"CODEKERNEL_VAULT_KEY": "0" * 64})
    assert ApiKeys(found).get("model") == "sk-here"
    assert ApiKeys(found).get("model (2)") == "sk-there"
    found.close()
    assert source.database_file.exists()


def test_a_folder_in_use_is_left_alone(source: UserData, target: UserData, tmp_path: Path) -> None:
    make_both(source, target, tmp_path / "root")
    lock = ProcessLock(source.lock_file)
    assert lock.try_acquire()
    assert not merge(source, target)
    assert has_untaken_data(source)
    lock.release()
    assert merge(source, target)
    assert describe(source, target, tmp_path / "root") == EXPECTED


def test_what_was_added_there_after_a_failed_attempt_comes_along(
    source: UserData, target: UserData, tmp_path: Path
) -> None:
    make_both(source, target, tmp_path / "root")
    assert merge(source, target)
    source.taken_over_file.rename(source.merge_plan_file)  # as before the last step
    continued = ConversationFiles(source.conversations_folder).history_path(5)
    document = json.loads(continued.read_bytes())
    document["history"].append({"query": "And?", "retrieval": [], "answer": "Yes.", "time": 2})
    continued.write_text(json.dumps(document), encoding="utf-8")
    assert merge(source, target)
    assert describe(source, target, tmp_path / "root") == EXPECTED
    taken = ConversationFiles(target.conversations_folder).read_history(7)
    assert taken
    assert [each["query"] for each in json.loads(taken)["history"]] == ["there", "And?"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_a_kill_before_any_line_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Every ninth line of the merge, from another one in each of the nine runs of the tests."""
    step = 9
    first = 1 + os.getpid() % step
    done = subprocess.run(
        [sys.executable, merged_folders.__file__, str(tmp_path), str(first), str(step)],
        env={**os.environ, **ENVIRON, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 20, done.stderr
    for number, state in found:
        assert state == EXPECTED, f"killed before line {number}: {done.stderr}"


def test_only_the_platforms_own_folder_takes_over_and_only_from_another(
    tmp_path: Path, environ: Environ
) -> None:
    environ["XDG_DATA_HOME"] = str(tmp_path / "share")
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    if sys.platform == "win32":
        pytest.skip("Windows asks the system for its folders")
    own = UserData(tmp_path / "share" / "codekernel")
    assert find_earlier_desktop_folder(own) == UserData(tmp_path / "config" / "codekernel")
    assert find_earlier_desktop_folder(UserData(tmp_path / "chosen")) is None
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "share")
    assert find_earlier_desktop_folder(own) is None
