"""Take over another userData folder, once: that of the desktop app before all shared one.

Repositories, keys and usage are merged, conversations and agent sessions get new ids where theirs
are in use, indexes and undo journals are moved. Each step can be repeated after a crash. The other
folder stays, with a marker in it.
"""

import errno
import itertools
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.agent.workspace.atomic_write import TemporaryFileLog
from codekernel.conversation.conversations import count_tokens
from codekernel.conversation.turn_store import TurnStore
from codekernel.errors import KernelError, StorageError
from codekernel.protocol.envelope import load_json
from codekernel.protocol.history_file import ConversationHistory, UnreadableHistoryError
from codekernel.settings.merging import merge_settings
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import (
    NotRegularFile,
    make_private_folder,
    read_regular,
    translate_os_errors,
    write_bytes_atomically,
)
from codekernel.storage.user_data import UserData, has_untaken_data
from codekernel.storage.vault.merging import VaultMerge, merge_vault
from codekernel.storage.vault.vault import UsageLedger, Vault
from codekernel.storage.vault.vault_key import VAULT_KEY_VARIABLE

logger = logging.getLogger(__name__)

_NOTHING = VaultMerge({}, {})

_UNFINISHED_SUFFIX = ".unfinished"


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The id here of each conversation and agent session there; on disk before the first is copied.

    So a second attempt does not take for somebody else's what the first one has copied.
    """

    conversations: dict[int, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)


def merge_user_data(
    source: UserData, target: UserData, vault: Vault, environ: Mapping[str, str]
) -> bool:
    """Take over ``source``; false if it is in use. ``vault`` is that of ``target``.

    Raises KernelError if it could not be completed; the next attempt goes on.
    """
    lock = ProcessLock(source.lock_file)
    if not has_untaken_data(source):
        return True
    if not lock.try_acquire():
        logger.info("%s is in use; it is taken over later", source.root)
        return False
    try:
        _merge_locked(source, target, vault, environ)
    except OSError as error:
        raise StorageError(f"{source.root} cannot be taken over yet: {error}") from error
    finally:
        lock.release()
    return True


def _merge_locked(
    source: UserData, target: UserData, vault: Vault, environ: Mapping[str, str]
) -> None:
    logger.info("taking over %s", source.root)
    make_private_folder(target.root)
    TemporaryFileLog.from_user_data(source.root).remove_stale()
    merged = _NOTHING
    if source.database_file.exists() or source.repo_list_file.exists():
        with closing(_open_vault(source, environ)) as other:
            _recover_turns(source, other)
            merged = merge_vault(other, vault, str(source.root))
    _merge_settings(source, target, merged.key_names)
    plan = _make_plan(source, target)
    _copy_conversations(source, target, plan)
    _take_over_sessions(source, target, plan)
    _move_indexes(source, target, merged.repo_ids)
    source.merge_plan_file.replace(source.taken_over_file)
    logger.info(
        "%s is taken over: %d repositories, %d conversations; it is kept and not used any more",
        source.root,
        len(merged.repo_ids),
        len(plan.conversations),
    )


def _open_vault(source: UserData, environ: Mapping[str, str]) -> Vault:
    """Open the other vault with its own key, if it has one, and not with that of this one."""
    if source.key_file.exists() or source.vault_id_file.exists():
        environ = {name: value for name, value in environ.items() if name != VAULT_KEY_VARIABLE}
    return Vault(source, environ, may_quarantine=lambda: VAULT_KEY_VARIABLE not in environ)


def _recover_turns(source: UserData, vault: Vault) -> None:
    """Save the turns that crashes have interrupted, so that there is no journal left."""
    files = ConversationFiles(source.conversations_folder)
    if files.list_journals():
        TurnStore(files, UsageLedger(vault), count_tokens).recover_journals()
    if left := files.list_journals():
        raise StorageError(f"{next(iter(left))} cannot be recovered yet")


def _merge_settings(source: UserData, target: UserData, key_names: Mapping[str, str]) -> None:
    """Copy settings.json, or add its models to the one that is there, which is kept beside it."""
    theirs, ours = _read(source.settings_file), _read(target.settings_file)
    if theirs is None:
        return
    if ours is None:
        write_bytes_atomically(target.settings_file, theirs)
    elif merged := merge_settings(ours, theirs, key_names):
        before = target.settings_file.with_name("settings-before-merge.json")
        if not before.exists():
            write_bytes_atomically(before, ours)
        write_bytes_atomically(target.settings_file, merged)


def _make_plan(source: UserData, target: UserData) -> MergePlan:
    """Read the plan of an attempt before, and add what is new; written before it is used."""
    plan = _read_plan(source.merge_plan_file)
    theirs, ours = (ConversationFiles(each.conversations_folder) for each in (source, target))
    numbers = {*theirs.list_ids()}
    taken = {*ours.list_ids(), *plan.conversations.values()}
    for number in sorted(numbers - {*plan.conversations}):
        is_same = _read(theirs.history_path(number)) == _read(ours.history_path(number))
        free = number
        if number in taken and not is_same:
            free = next(each for each in itertools.count(number) if each not in taken | numbers)
        taken.add(free)
        plan.conversations[number] = free
    for name in _list_sessions(source):
        if name not in plan.sessions:
            plan.sessions[name] = _choose_session_id(name, source, target)
    content = {
        "into": str(target.root),
        "conversations": plan.conversations,
        "sessions": plan.sessions,
    }
    write_bytes_atomically(source.merge_plan_file, json.dumps(content, indent=1).encode())
    return plan


def _read_plan(path: Path) -> MergePlan:
    content = _read(path)
    if content is None:
        return MergePlan()
    try:
        document = load_json(content)
        return MergePlan(
            {int(old): int(new) for old, new in document["conversations"].items()},
            {str(old): str(new) for old, new in document["sessions"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{path} is damaged; delete it to take over everything anew") from error


def _list_sessions(folder: UserData) -> list[str]:
    sessions, journals = folder.agent_folder / "sessions", folder.agent_folder / "journals"
    names = {path.stem for path in sessions.glob("*.json")}
    return sorted(names | {path.name for path in journals.glob("*") if path.is_dir()})


def _choose_session_id(name: str, source: UserData, target: UserData) -> str:
    session = Path("sessions", f"{name}.json")
    theirs, ours = (_read(each.agent_folder / session) for each in (source, target))
    has_journal = (target.agent_folder / "journals" / name).exists()
    is_free = (ours is None and not has_journal) or (ours is not None and ours == theirs)
    return name if is_free else secrets.token_hex(4)


def _copy_conversations(source: UserData, target: UserData, plan: MergePlan) -> None:
    theirs, ours = (ConversationFiles(each.conversations_folder) for each in (source, target))
    for old, new in plan.conversations.items():
        path, wanted = theirs.history_path(old), ours.history_path(new)
        content = _read(path)
        if content is None:  # not a file
            continue
        content = _renumber(content, old, new, plan.sessions)
        existing = _read(wanted)
        if existing is not None:
            content = _merge_turns(existing, content, new)
        if content == existing:
            continue
        ours.write_history(new, content)
        with suppress(OSError):  # they are listed by when they were written
            os.utime(wanted, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))


def _renumber(content: bytes, old: int, new: int, sessions: Mapping[str, str]) -> bytes:
    """Return a history with new ids; as it is if nothing changes, or if it cannot be read."""
    renamed = {name: other for name, other in sessions.items() if name != other}
    if old == new and not any(name.encode() in content for name in renamed):
        return content
    try:
        history = ConversationHistory.from_bytes(content, new)
    except UnreadableHistoryError:
        return content
    for turn in history.raw_turns:
        agent: dict[str, Any] = turn.get("agent") or {}
        if agent.get("session") in renamed:
            agent["session"] = renamed[agent["session"]]
    return history.to_bytes()


def _merge_turns(existing: bytes, content: bytes, number: int) -> bytes:
    """Return the history here with the turns that were added there since it was copied."""
    try:
        ours, theirs = (
            ConversationHistory.from_bytes(each, number) for each in (existing, content)
        )
    except UnreadableHistoryError:
        return existing
    merged = ours.merge(theirs)
    return existing if merged is ours else merged.to_bytes()


def _take_over_sessions(source: UserData, target: UserData, plan: MergePlan) -> None:
    theirs, ours = source.agent_folder, target.agent_folder
    for old, new in plan.sessions.items():
        content, wanted = _read(theirs / "sessions" / f"{old}.json"), ours / "sessions"
        if content is not None and not (wanted / f"{new}.json").exists():
            make_private_folder(wanted)
            write_bytes_atomically(wanted / f"{new}.json", content)
        _move(theirs / "journals" / old, ours / "journals" / new)
    logs = theirs / "unfinished"
    for log in logs.glob("*.jsonl"):  # of files on disks that are away
        _move(log, ours / "unfinished" / log.name)


def _move_indexes(source: UserData, target: UserData, repo_ids: Mapping[int, int]) -> None:
    """Move each index to its repository, unless that has one; they can be made again."""
    moves = [
        (source.repo_index_folder(old), target.repo_index_folder(new))
        for old, new in repo_ids.items()
    ]
    folders: Iterable[Path] = source.indexes_folder.glob("folder-*")
    moves += [(each, target.indexes_folder / each.name) for each in folders]
    for path, wanted in moves:
        try:
            _move(path, wanted)
        except (OSError, KernelError) as error:
            logger.warning("the index %s is not taken over: %s", path, error)


def _move(path: Path, wanted: Path) -> None:
    """Move a file or folder, whole or not at all, unless there is something at its new place."""
    if not path.exists() or wanted.exists():
        return
    make_private_folder(wanted.parent)
    with translate_os_errors(path):
        try:
            path.rename(wanted)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            unfinished = wanted.with_name(wanted.name + _UNFINISHED_SUFFIX)
            shutil.rmtree(unfinished, ignore_errors=True)
            if path.is_dir():
                shutil.copytree(path, unfinished, symlinks=True)
            else:
                shutil.copy2(path, unfinished)
            unfinished.rename(wanted)


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except (FileNotFoundError, NotADirectoryError, NotRegularFile):
        return None
