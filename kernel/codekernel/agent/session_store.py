"""Agent sessions on disk (userData/agent/sessions).

The format of a file; load, save, lock, quarantine; a writer that appends after every round and
flushes in the background.
"""

import logging
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codekernel.agent.tool import Plan, PlanTask, TaskStatus
from codekernel.agent.transcript import Transcript
from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.errors import KernelError, StorageError
from codekernel.protocol.envelope import dump_json, load_json
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import clear_parent_folders, quarantine_user_file
from codekernel.storage.safe_files import (
    NotRegularFile,
    explain_os_error,
    make_private_folder,
    read_regular,
    write_bytes_atomically,
)

_FORMAT_VERSION = 1


class UnknownSessionFormat(ValueError):
    """Another version has written the session."""


@dataclass(slots=True)
class AgentSession:
    """``root`` is the folder that the agent works in; 0 is no conversation."""

    id: str
    root: Path
    transcript: Transcript = field(default_factory=Transcript)
    plan: Plan = field(default_factory=Plan)
    conversation_id: int = 0


def format_session(session: AgentSession) -> bytes:
    """All of a session."""
    whole = {
        "format": _FORMAT_VERSION,
        "root": str(session.root),
        "conversation": session.conversation_id,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        **_build_state(session, session.transcript.messages),
    }
    return dump_json(whole) + b"\n"


def format_added_messages(session: AgentSession, saved_count: int) -> bytes:
    """Return the line of the messages after the first ``saved_count``."""
    return dump_json(_build_state(session, session.transcript.messages[saved_count:])) + b"\n"


def parse_session(name: str, content: bytes) -> tuple[AgentSession, bool]:
    """Parse the lines of a session; return it and whether all of them could be read.

    What follows an unreadable line is left out; a last line that a crash cut off is no damage.
    Raises UnknownSessionFormat, and ValueError if nothing can be read.
    """
    session: AgentSession | None = None
    lines = content.split(b"\n")
    is_whole = True
    for number, line in enumerate(lines, 1):
        try:
            session = _apply_line(name, session, load_json(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, UnknownSessionFormat):
                raise
            is_whole = number == len(lines)
            break
    if session is None:
        raise ValueError("no line has a whole session")
    return session, is_whole


def _apply_line(name: str, session: AgentSession | None, line: dict[str, Any]) -> AgentSession:
    if session is None or "format" in line:
        if line["format"] != _FORMAT_VERSION:
            raise UnknownSessionFormat("another format")
        root, before = Path(line["root"]), list[ChatMessage]()
        number = int(line.get("conversation", 0))
    else:
        root, before = session.root, session.transcript.messages
        number = session.conversation_id
    transcript = Transcript([*before, *_parse_messages(line["messages"])], int(line["secrets"]))
    return AgentSession(name, root, transcript, _parse_plan(line["plan"]), number)


def _build_state(session: AgentSession, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    return {
        "secrets": session.transcript.secret_count,
        "plan": {
            "decided": session.plan.is_decided,
            "tasks": list(map(asdict, session.plan.tasks)),
        },
        "messages": [
            {key: value for key, value in asdict(message).items() if value or key == "content"}
            for message in messages
        ],
    }


def _parse_messages(saved: Iterable[dict[str, Any]]) -> list[ChatMessage]:
    return [
        ChatMessage(
            Role(each["role"]),
            str(each["content"]),
            tuple(
                ChatToolCall(str(call["id"]), str(call["name"]), str(call["arguments"]))
                for call in each.get("tool_calls", ())
            ),
            str(each.get("tool_call_id", "")),
        )
        for each in saved
    ]


def _parse_plan(saved: dict[str, Any]) -> Plan:
    plan = Plan()
    tasks = [
        PlanTask(int(task["id"]), str(task["desc"]), TaskStatus(task["status"]))
        for task in saved["tasks"]
    ]
    if tasks:
        plan.create(tasks)
    elif saved["decided"]:
        plan.skip()
    return plan


# What a power cut may lose of a session. Each flush delays those of the files being edited.
_FLUSH_INTERVAL_SECONDS = 1.0


class SessionWriter:
    """Saves one session again and again: first whole, in place of the file, then what was added."""

    def __init__(self, session: AgentSession, file: Path, store: "AgentSessionStore") -> None:
        self._session = session
        self._file = file
        self._store = store
        self._saved_messages: list[ChatMessage] | None = None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session")
        self._pending_flush: Future[None] | None = None
        self._is_flush_scheduled = False
        self._flush_now = threading.Event()

    def save(self) -> None:
        """Save what the session is now. Raises StorageError."""
        try:
            self._write_changes()
        except StorageError:
            self._store.keep_in_memory(self._session)
            raise
        self._store.forget_unsaved(self._session)

    def _write_changes(self) -> None:
        messages = self._session.transcript.messages
        saved = self._saved_messages
        self._saved_messages = None  # what fails is written whole the next time
        if saved is None:
            self._store.save(self._session)
        elif messages[: len(saved)] == saved:
            self._append(format_added_messages(self._session, len(saved)))
        else:
            self._append(format_session(self._session))
        self._saved_messages = list(messages)

    def flush(self) -> None:
        """Wait until all is on disk. Raises StorageError."""
        self._flush_now.set()
        try:
            if self._pending_flush is not None:
                self._pending_flush.result()
        finally:
            self._flush_now.clear()

    def _append(self, line: bytes) -> None:
        try:
            with self._file.open("ab") as file:
                file.write(line)
        except OSError as error:
            raise explain_os_error(error, self._file) from error
        if not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self._pending_flush = self._pool.submit(self._flush_later)

    def _flush_later(self) -> None:
        self._flush_now.wait(_FLUSH_INTERVAL_SECONDS)
        self._is_flush_scheduled = False  # before it: a line that comes meanwhile needs another one
        try:
            with self._file.open("rb+") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise explain_os_error(error, self._file) from error


logger = logging.getLogger(__name__)

_SESSION_ID = re.compile(r"[0-9a-f]{8}")


class AgentSessionStore:
    """The sessions of one userData folder.

    ``on_unsaved`` is called when a session could not be saved: call ``save_unsaved`` later.
    """

    def __init__(self, user_data: Path, on_unsaved: Callable[[], None] = lambda: None) -> None:
        self._folder = user_data / "agent" / "sessions"
        self._unsaved: dict[str, AgentSession] = {}
        self._on_unsaved = on_unsaved

    def create(self, root: Path) -> AgentSession:
        """Return a new session with an unused id."""
        while True:
            name = secrets.token_hex(4)
            if not self._get_path(name).exists():
                return AgentSession(name, root)

    def load(self, name: str) -> AgentSession:
        """Return the session of this id, as far as it can be read; quarantine a damaged file.

        Raises KernelError if there is none, or if nothing of it can be read.
        """
        if not _SESSION_ID.fullmatch(plain := name.strip().lower()):
            raise KernelError(f"{name[:40]!r} is no session id: it has eight hexadecimal digits.")
        path = self._get_path(plain)
        if path.stem in self._unsaved:
            return self._unsaved[path.stem]
        try:
            session, is_whole = parse_session(path.stem, read_regular(path))
        except (FileNotFoundError, NotADirectoryError):
            raise KernelError(f"There is no session {path.stem}: begin one without -r.") from None
        except UnknownSessionFormat as error:
            raise StorageError(
                f"The session {path.stem} cannot be read: another version has written {path}."
            ) from error
        except (NotRegularFile, ValueError) as error:
            aside = quarantine_user_file(path)
            raise StorageError(
                f"The session {path.stem} cannot be read: {path} is broken, and was set aside as"
                f" {aside.name}."
            ) from error
        except OSError as error:
            raise explain_os_error(error, path) from error
        if not is_whole:
            self._repair(session, path)
        return session

    def save(self, session: AgentSession) -> None:
        """Replace what is on disk. Raises StorageError."""
        clear_parent_folders(self._folder, 2)
        make_private_folder(self._folder)
        write_bytes_atomically(self._get_path(session.id), format_session(session))

    @contextmanager
    def lock(self, session: AgentSession) -> Iterator[None]:
        """Lock a session for the block. Raises KernelError if another process has it."""
        lock = ProcessLock(self._folder / f"{session.id}.lock")
        try:
            is_free = lock.try_acquire()
        except StorageError as error:
            logger.warning("session %s runs without its lock. %s", session.id, error)
            is_free = True
        if not is_free:
            raise KernelError(f"The session {session.id} is at work in another process.")
        try:
            yield
        finally:
            lock.release()

    def open_writer(self, session: AgentSession) -> SessionWriter:
        """Return the writer of a session that is locked."""
        return SessionWriter(session, self._get_path(session.id), self)

    def save_unsaved(self) -> str:
        """Save what could not be saved before; return what is refused again, or ""."""
        for session in list(self._unsaved.values()):
            lock = ProcessLock(self._folder / f"{session.id}.lock")
            if not lock.try_acquire_or_log():
                return f"the session {session.id} is at work"
            try:
                self.save(session)
                self._unsaved.pop(session.id, None)
            except StorageError as error:
                return str(error)
            finally:
                lock.release()
        return ""

    def keep_in_memory(self, session: AgentSession) -> None:
        """Keep a session that could not be saved."""
        self._unsaved[session.id] = session
        self._on_unsaved()

    def forget_unsaved(self, session: AgentSession) -> None:
        """Forget a session that has been saved."""
        self._unsaved.pop(session.id, None)

    def _repair(self, session: AgentSession, path: Path) -> None:
        """Quarantine a damaged file, and save what could be read of it in its place."""
        aside = quarantine_user_file(path)
        logger.warning("%s is damaged and was quarantined as %s", path, aside.name)
        try:
            self.save(session)
        except StorageError as error:
            logger.warning("what could be read of it is in memory alone. %s", error)
            self.keep_in_memory(session)

    def _get_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
