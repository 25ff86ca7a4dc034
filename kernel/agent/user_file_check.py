"""Which files of a person under userData cannot be read: conversations, sessions, journals, logs.

For ``doctor``: looks and changes nothing, unless it is told to set aside what it finds.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.agent.session_lines import ForeignSession, read_session
from kernel.conversation.history import Histories, read_journal
from kernel.errors import StorageError
from kernel.storage.conversations import ConversationFiles
from kernel.storage.quarantine import MARK, quarantine_user_file
from kernel.storage.regular_file import NotRegularFile, read_regular
from kernel.storage.user_data import UserData


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that cannot be used as it is; ``problem`` is for a person.

    ``is_quarantined``: it was set aside before, and nothing is wrong any more.
    """

    path: Path
    problem: str
    is_quarantined: bool = False


def check_user_files(user_data: UserData) -> list[Finding]:
    """Return what is damaged or was set aside, by path."""
    found = [
        *_folders(user_data),
        *_conversations(user_data.conversations),
        *_sessions(user_data.root / "agent" / "sessions"),
        *_agent_journals(user_data.root / "agent" / "journals"),
        *_plain_files(user_data.logs, "kernel.log"),
    ]
    return sorted(found, key=lambda each: str(each.path))


def set_aside_findings(findings: list[Finding]) -> list[Path]:
    """Rename everything that is damaged beside its place; return the new names.

    Conversations and sessions are left to the next question, which keeps what can be read of them.
    Raises StorageError.
    """
    return [
        quarantine_user_file(each.path)
        for each in findings
        if not each.is_quarantined and not _is_regular(each.path) and os.path.lexists(each.path)
    ]


def _folders(user_data: UserData) -> Iterator[Finding]:
    agent = user_data.root / "agent"
    places = (
        user_data.conversations,
        user_data.conversations / "unfinished",
        agent,
        agent / "sessions",
        agent / "journals",
        user_data.logs,
    )
    for folder in places:
        if os.path.lexists(folder) and not folder.is_dir():
            yield Finding(folder, "it is no folder, and will be set aside when it is needed")


def _conversations(folder: Path) -> Iterator[Finding]:
    files = ConversationFiles(folder)
    histories = Histories(files)
    try:
        numbers, journals = files.ids(), files.journals()
    except StorageError as error:
        yield Finding(folder, str(error))
        return
    for number in numbers:
        if damage := histories.damage_of(number):
            yield Finding(files.history_file(number), f"{damage}; what can be read of it is shown")
    for path in journals:
        try:
            _, damage = read_journal(path)
        except OSError as error:
            damage = error.strerror or "it cannot be read"
        if damage:
            yield Finding(path, damage)
    yield from _set_aside(folder)
    yield from _set_aside(folder / "unfinished")


def _sessions(folder: Path) -> Iterator[Finding]:
    for path in _named(folder, ".json"):
        try:
            _, is_whole = read_session(path.stem, read_regular(path))
        except ForeignSession:
            yield Finding(path, "another version has written it")
        except (ValueError, NotRegularFile):
            yield Finding(path, "it cannot be read; its agent would begin anew")
        except OSError as error:
            yield Finding(path, error.strerror or "it cannot be read")
        else:
            if not is_whole:
                yield Finding(path, "a part of it cannot be read")
    yield from _set_aside(folder)


def _agent_journals(folder: Path) -> Iterator[Finding]:
    for path in _named(folder, ""):
        if MARK in path.name:
            continue
        if not path.is_dir():
            yield Finding(path, "it is no folder of a journal")
            continue
        yield from _plain_files(path, "journal.jsonl")
    yield from _set_aside(folder)


def _plain_files(folder: Path, name: str) -> Iterator[Finding]:
    path = folder / name
    if os.path.lexists(path) and not _is_regular(path):
        yield Finding(path, "it is no regular file")
    yield from _set_aside(folder)


def _set_aside(folder: Path) -> Iterator[Finding]:
    for path in _named(folder, ""):
        if MARK in path.name:
            yield Finding(path, "it could not be read and was set aside", is_quarantined=True)


def _named(folder: Path, suffix: str) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(suffix))  # noqa: PTH208
    except OSError:
        return []


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
