"""Find damaged and quarantined conversations, sessions, journals and logs, and quarantine them."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codekernel.agent.session_file import UnknownSessionFormat, parse_session
from codekernel.conversation.history import ConversationHistories, read_journal
from codekernel.errors import StorageError
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.quarantine import QUARANTINE_MARK, quarantine_user_file
from codekernel.storage.safe_files import NotRegularFile, read_regular
from codekernel.storage.user_data import UserData


@dataclass(frozen=True, slots=True)
class UserFileFinding:
    """A file that cannot be used; one that ``is_quarantined`` needs no action."""

    path: Path
    problem: str
    is_quarantined: bool = False


def check_user_files(user_data: UserData) -> list[UserFileFinding]:
    """Return what is damaged or quarantined, by path."""
    found = [
        *_check_folders(user_data),
        *_check_conversations(user_data.conversations_folder),
        *_check_sessions(user_data.root / "agent" / "sessions"),
        *_check_agent_journals(user_data.root / "agent" / "journals"),
        *_check_regular_file(user_data.logs_folder, "kernel.log"),
    ]
    return sorted(found, key=lambda each: str(each.path))


def quarantine_findings(findings: list[UserFileFinding]) -> list[Path]:
    """Quarantine what is no regular file; return the new names. Raises StorageError.

    Damaged conversations and sessions stay for the next question, which keeps what it can read.
    """
    return [
        quarantine_user_file(each.path)
        for each in findings
        if not each.is_quarantined
        and not _is_regular_file(each.path)
        and os.path.lexists(each.path)
    ]


def _check_folders(user_data: UserData) -> Iterator[UserFileFinding]:
    agent = user_data.root / "agent"
    places = (
        user_data.conversations_folder,
        user_data.conversations_folder / "unfinished",
        agent,
        agent / "sessions",
        agent / "journals",
        user_data.logs_folder,
    )
    for folder in places:
        if os.path.lexists(folder) and not folder.is_dir():
            yield UserFileFinding(
                folder, "it is no folder, and will be set aside when it is needed"
            )


def _check_conversations(folder: Path) -> Iterator[UserFileFinding]:
    files = ConversationFiles(folder)
    histories = ConversationHistories(files)
    try:
        numbers, journals = files.list_ids(), files.list_journals()
    except StorageError as error:
        yield UserFileFinding(folder, str(error))
        return
    for number in numbers:
        if damage := histories.describe_damage(number):
            yield UserFileFinding(
                files.history_path(number), f"{damage}; what can be read of it is shown"
            )
    for path in journals:
        try:
            _, damage = read_journal(path)
        except OSError as error:
            damage = error.strerror or "it cannot be read"
        if damage:
            yield UserFileFinding(path, damage)
    yield from _list_quarantined(folder)
    yield from _list_quarantined(folder / "unfinished")


def _check_sessions(folder: Path) -> Iterator[UserFileFinding]:
    for path in _list_files(folder, ".json"):
        try:
            _, is_whole = parse_session(path.stem, read_regular(path))
        except UnknownSessionFormat:
            yield UserFileFinding(path, "another version has written it")
        except (ValueError, NotRegularFile):
            yield UserFileFinding(path, "it cannot be read; its agent would begin anew")
        except OSError as error:
            yield UserFileFinding(path, error.strerror or "it cannot be read")
        else:
            if not is_whole:
                yield UserFileFinding(path, "a part of it cannot be read")
    yield from _list_quarantined(folder)


def _check_agent_journals(folder: Path) -> Iterator[UserFileFinding]:
    for path in _list_files(folder, ""):
        if QUARANTINE_MARK in path.name:
            continue
        if not path.is_dir():
            yield UserFileFinding(path, "it is no folder of a journal")
            continue
        yield from _check_regular_file(path, "journal.jsonl")
    yield from _list_quarantined(folder)


def _check_regular_file(folder: Path, name: str) -> Iterator[UserFileFinding]:
    path = folder / name
    if os.path.lexists(path) and not _is_regular_file(path):
        yield UserFileFinding(path, "it is no regular file")
    yield from _list_quarantined(folder)


def _list_quarantined(folder: Path) -> Iterator[UserFileFinding]:
    for path in _list_files(folder, ""):
        if QUARANTINE_MARK in path.name:
            yield UserFileFinding(
                path, "it could not be read and was set aside", is_quarantined=True
            )


def _list_files(folder: Path, suffix: str) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(suffix))  # noqa: PTH208
    except OSError:
        return []


def _is_regular_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
