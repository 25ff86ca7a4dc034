"""Sessions of agents on disk: what was said, and how far the plan is; each one whole or not at all.

userData/agent/sessions/<8 hex digits>.json
userData/agent/sessions/<8 hex digits>.lock    held by the process in which the agent is at work
"""

import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernel.agent.loop_transcript import Transcript
from kernel.agent.plan import Plan, Status, Task
from kernel.domain.chat import ChatMessage, Role, ToolCall
from kernel.errors import KernelError, StorageError
from kernel.protocol.plain_json import dumped, loaded
from kernel.storage.atomic import write_bytes
from kernel.storage.failures import explain
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.private_folder import make_private_folder

_ID = re.compile(r"[0-9a-f]{8}")
_FORMAT = 1


@dataclass(slots=True)
class SavedSession:
    """``root`` is the folder that the agent works in."""

    id: str
    root: Path
    transcript: Transcript = field(default_factory=Transcript)
    plan: Plan = field(default_factory=Plan)


class SavedSessions:
    """The sessions of one userData folder."""

    def __init__(self, user_data: Path) -> None:
        self._folder = user_data / "agent" / "sessions"

    def new(self, root: Path) -> SavedSession:
        """A session under an id that no other has."""
        while True:
            name = secrets.token_hex(4)
            if not self._file(name).exists():
                return SavedSession(name, root)

    def load(self, name: str) -> SavedSession:
        """The session of this id. Raises KernelError if there is none, or if it is broken."""
        path = self._file(name.strip().lower()) if _ID.fullmatch(name.strip().lower()) else None
        if path is None:
            raise KernelError(f"{name[:40]!r} is no session id: it has eight hexadecimal digits.")
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise KernelError(f"There is no session {path.stem}: begin one without -r.") from None
        except OSError as error:
            raise explain(error, path) from error
        try:
            return _read(path.stem, loaded(content))
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"The session {path.stem} cannot be read: {path} is broken."
            ) from error

    def save(self, session: SavedSession) -> None:
        """Replace what is on disk. Raises StorageError."""
        self._write(session.id, dumped(_written(session)))

    @contextmanager
    def held(self, session: SavedSession) -> Iterator[None]:
        """Nobody else goes on with this session meanwhile. Raises KernelError if somebody does."""
        lock = InstanceLock(self._folder / f"{session.id}.lock")
        if not lock.take():
            raise KernelError(f"The session {session.id} is at work in another process.")
        try:
            yield
        finally:
            lock.release()

    def keeper(self, session: SavedSession) -> "Keeper":
        """Saves a session again and again, beside its work."""
        return Keeper(session, self._write)

    def _write(self, name: str, content: bytes) -> None:
        make_private_folder(self._folder)
        write_bytes(self._file(name), content, mode=0o600)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"


class Keeper:
    """Saves on a thread of its own: a disk takes longer to be sure than an agent has to wait."""

    def __init__(self, session: SavedSession, write: Callable[[str, bytes], None]) -> None:
        self._session = session
        self._write = write
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session")
        self._last: Future[None] | None = None

    def keep(self) -> None:
        """Save what the session is now; the write itself happens later."""
        content = dumped(_written(self._session))
        self._last = self._pool.submit(self._write, self._session.id, content)

    def settle(self) -> None:
        """Wait until all is on disk. Raises StorageError."""
        if self._last is not None:
            self._last.result()


def _written(session: SavedSession) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "root": str(session.root),
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "secrets": session.transcript.secrets,
        "plan": {
            "decided": session.plan.is_decided,
            "tasks": [
                {"id": task.id, "desc": task.desc, "status": str(task.status)}
                for task in session.plan.tasks
            ],
        },
        "messages": [_written_message(message) for message in session.transcript.messages],
    }


def _written_message(message: ChatMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    return written


def _read(name: str, saved: dict[str, Any]) -> SavedSession:
    if saved["format"] != _FORMAT:
        raise ValueError("another format")
    messages = [
        ChatMessage(
            Role(each["role"]),
            str(each["content"]),
            tuple(
                ToolCall(str(call["id"]), str(call["name"]), str(call["arguments"]))
                for call in each.get("tool_calls", ())
            ),
            str(each.get("tool_call_id", "")),
        )
        for each in saved["messages"]
    ]
    plan = Plan()
    tasks = [
        Task(int(task["id"]), str(task["desc"]), Status(task["status"]))
        for task in saved["plan"]["tasks"]
    ]
    if tasks:
        plan.create(tasks)
    elif saved["plan"]["decided"]:
        plan.skip()
    transcript = Transcript(messages, int(saved["secrets"]))
    return SavedSession(name, Path(saved["root"]), transcript, plan)
