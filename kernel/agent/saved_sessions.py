"""Sessions of agents on disk: what was said, and how far the plan is.

userData/agent/sessions/<8 hex digits>.json    lines (session_lines.py), the first one written whole
userData/agent/sessions/<8 hex digits>.lock    held by the process in which the agent is at work
"""

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.agent.session_keeper import Keeper
from kernel.agent.session_lines import ForeignSession, SavedSession, read_session, whole_line
from kernel.errors import KernelError, StorageError
from kernel.storage.atomic import write_bytes
from kernel.storage.failures import explain
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.private_folder import make_private_folder
from kernel.storage.quarantine import clear_way, quarantine_user_file
from kernel.storage.regular_file import NotRegularFile, read_regular

__all__ = ["SavedSession", "SavedSessions"]

logger = logging.getLogger(__name__)

_ID = re.compile(r"[0-9a-f]{8}")


class SavedSessions:
    """The sessions of one userData folder."""

    def __init__(self, user_data: Path) -> None:
        self._folder = user_data / "agent" / "sessions"
        self._unsaved: dict[str, SavedSession] = {}
        # Called when a session could not be saved; ``save_unsaved`` is to be tried later then.
        self.on_unsaved: Callable[[], None] = lambda: None

    def new(self, root: Path) -> SavedSession:
        """A session under an id that no other has."""
        while True:
            name = secrets.token_hex(4)
            if not self._file(name).exists():
                return SavedSession(name, root)

    def load(self, name: str) -> SavedSession:
        """The session of this id, as far as it can be read; a damaged file is set aside.

        Raises KernelError if there is none, or if nothing of it can be read.
        """
        path = self._file(name.strip().lower()) if _ID.fullmatch(name.strip().lower()) else None
        if path is None:
            raise KernelError(f"{name[:40]!r} is no session id: it has eight hexadecimal digits.")
        if path.stem in self._unsaved:
            return self._unsaved[path.stem]
        try:
            content = read_regular(path)
            session, is_whole = read_session(path.stem, content)
        except (FileNotFoundError, NotADirectoryError):
            raise KernelError(f"There is no session {path.stem}: begin one without -r.") from None
        except ForeignSession as error:
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
            raise explain(error, path) from error
        if not is_whole:
            self._mend(session, path)
        return session

    def save(self, session: SavedSession) -> None:
        """Replace what is on disk. Raises StorageError."""
        clear_way(self._folder, 2)
        make_private_folder(self._folder)
        write_bytes(self._file(session.id), whole_line(session), mode=0o600)

    @contextmanager
    def held(self, session: SavedSession) -> Iterator[None]:
        """Nobody else goes on with this session meanwhile. Raises KernelError if somebody does."""
        lock = InstanceLock(self._folder / f"{session.id}.lock")
        try:
            is_free = lock.take()
        except StorageError as error:
            logger.warning("session %s goes on without its lock. %s", session.id, error)
            is_free = True
        if not is_free:
            raise KernelError(f"The session {session.id} is at work in another process.")
        try:
            yield
        finally:
            lock.release()

    def keeper(self, session: SavedSession) -> Keeper:
        """Saves a session again and again while it is at work; hold it meanwhile."""
        keeper = Keeper(session, self._file(session.id), self.save)
        keeper.on_refused = self._keep_in_memory
        return keeper

    def save_unsaved(self) -> str:
        """Save what could not be saved before; returns what is refused again, or ""."""
        for session in list(self._unsaved.values()):
            lock = InstanceLock(self._folder / f"{session.id}.lock")
            if not lock.acquire():
                return f"the session {session.id} is at work"
            try:
                self.save(session)
                self._unsaved.pop(session.id, None)
            except StorageError as error:
                return str(error)
            finally:
                lock.release()
        return ""

    def _keep_in_memory(self, session: SavedSession, *, is_refused: bool) -> None:
        if not is_refused:
            self._unsaved.pop(session.id, None)
            return
        self._unsaved[session.id] = session
        self.on_unsaved()

    def _mend(self, session: SavedSession, path: Path) -> None:
        """Keep a damaged file aside, and what could be read of it in its place."""
        aside = quarantine_user_file(path)
        logger.warning("%s is damaged and was set aside as %s", path, aside.name)
        try:
            self.save(session)
        except StorageError as error:
            logger.warning("what could be read of it is in memory alone. %s", error)
            self._keep_in_memory(session, is_refused=True)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
