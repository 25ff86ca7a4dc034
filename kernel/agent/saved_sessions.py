"""Sessions of agents on disk: what was said, and how far the plan is.

userData/agent/sessions/<8 hex digits>.json    lines (session_lines.py), the first one written whole
userData/agent/sessions/<8 hex digits>.lock    held by the process in which the agent is at work
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.agent.session_keeper import Keeper
from kernel.agent.session_lines import SavedSession, read_session, whole_line
from kernel.errors import KernelError, StorageError
from kernel.storage.atomic import write_bytes
from kernel.storage.failures import explain
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.private_folder import make_private_folder

__all__ = ["SavedSession", "SavedSessions"]

_ID = re.compile(r"[0-9a-f]{8}")


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
            return read_session(path.stem, content)
        except ValueError as error:
            raise StorageError(
                f"The session {path.stem} cannot be read: {path} is broken."
            ) from error

    def save(self, session: SavedSession) -> None:
        """Replace what is on disk. Raises StorageError."""
        make_private_folder(self._folder)
        write_bytes(self._file(session.id), whole_line(session), mode=0o600)

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

    def keeper(self, session: SavedSession) -> Keeper:
        """Saves a session again and again while it is at work; hold it meanwhile."""
        return Keeper(session, self._file(session.id), self.save)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
