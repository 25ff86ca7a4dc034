"""Where conversations lie: a history file for each, and a journal while a turn is under way.

conversations/conversation-<id>.json          what the front end reads
conversations/unfinished/<id>-<time>.jsonl    a turn under way, or one that a crash cut off
conversations/unfinished/<id>.lock            held by the process in which the turn is under way
"""

import errno
import logging
import os
import re
import stat
import time
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.atomic import write_bytes
from kernel.storage.failures import explain
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.private_folder import make_folders, make_private_folder
from kernel.storage.quarantine import clear_way, quarantine_user_file
from kernel.storage.regular_file import NotRegularFile, read_regular

logger = logging.getLogger(__name__)

_HISTORY = re.compile(r"conversation-(\d+)\.json")
# A history is written within seconds, however slow the disk.
TEMPORARY_SECONDS = 3600.0
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_JOURNAL = re.compile(r"(\d+)-(\d+)\.jsonl")


class ConversationDamaged(StorageError):
    """Something lies where a conversation should, and is no readable file."""


class ConversationFiles:
    """The files of one userData folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unfinished = folder / "unfinished"

    def history_file(self, conversation_id: int) -> Path:
        """Where the history of a conversation lies."""
        return self._folder / f"conversation-{conversation_id}.json"

    def read(self, conversation_id: int) -> bytes | None:
        """The content of the history; None if there is none.

        Raises ConversationDamaged if it is no file, StorageError if it cannot be read now.
        """
        path = self.history_file(conversation_id)
        try:
            return read_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NotRegularFile as error:
            if not self._folder.is_dir():
                return None
            raise ConversationDamaged(f"{path} is no regular file") from error
        except OSError as error:
            raise explain(error, path) from error

    def write(self, conversation_id: int, content: bytes) -> None:
        """Replace the history, whole or not at all. Raises StorageError."""
        clear_way(self._folder, 1)
        make_private_folder(self._folder)  # an earlier version made it with the umask's mode
        write_bytes(self.history_file(conversation_id), content)

    def quarantine(self, path: Path, reason: str) -> Path:
        """Rename what cannot be read; returns its new path. Raises StorageError."""
        aside = quarantine_user_file(path)
        logger.warning("%s cannot be read (%s) and was set aside as %s", path, reason, aside.name)
        return aside

    def ids(self) -> list[int]:
        """The conversations there are, the one written last first."""
        written = [(stamp[0], number) for number, stamp in self.stamps().items()]
        return [number for _, number in sorted(written, reverse=True)]

    def stamps(self) -> dict[int, tuple[int, int]]:
        """Of each conversation there is, when it was written last, in ns, and its size.

        What has the name of one and is no file is among them, with the size -1.
        """
        found: dict[int, tuple[int, int]] = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = _HISTORY.fullmatch(entry.name)
                    if name and (stamp := _stamp(entry)):
                        found[int(name[1])] = stamp
        except OSError as error:
            if error.errno in _NO_FOLDER:
                return {}
            raise explain(error, self._folder) from error
        return found

    def remove_temporaries(self) -> None:
        """Delete what a killed process was writing; what is recent may still be written."""
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    is_ours = entry.name.startswith(".conversation-") and entry.name.endswith(
                        ".tmp"
                    )
                    if is_ours and time.time() - entry.stat().st_mtime > TEMPORARY_SECONDS:
                        os.unlink(entry)  # noqa: PTH108
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                logger.info("temporary files stay for now: %s", error)

    def remove(self, conversation_id: int) -> None:
        """Delete a conversation with all its journals, for good. Raises StorageError."""
        journals = [path for path, number in self.journals().items() if number == conversation_id]
        for path in (*journals, self.history_file(conversation_id)):
            try:
                path.unlink(missing_ok=True)
            except (IsADirectoryError, PermissionError) as error:
                if not path.is_dir():
                    raise explain(error, path) from error
                quarantine_user_file(path)
            except OSError as error:
                raise explain(error, path) from error

    def lock(self, conversation_id: int) -> InstanceLock:
        """The lock of a conversation, not taken yet: whoever holds it may write."""
        return InstanceLock(self._unfinished / f"{conversation_id}.lock")

    def journal(self, conversation_id: int, time_ms: int) -> Path:
        """Where the journal of a turn lies."""
        return self._unfinished / f"{conversation_id}-{time_ms}.jsonl"

    def journals(self) -> dict[Path, int]:
        """Every journal there is, oldest first, with its conversation. Raises StorageError."""
        try:
            names = os.listdir(self._unfinished)  # noqa: PTH208 - names are all that is looked at
        except OSError as error:
            if error.errno in _NO_FOLDER:
                return {}
            raise explain(error, self._unfinished) from error
        found = {
            self._unfinished / name: (int(parts[1]), int(parts[2]))
            for name in names
            if (parts := _JOURNAL.fullmatch(name))
        }
        ordered = sorted(found, key=lambda path: found[path][1])
        return {path: found[path][0] for path in ordered}


class JournalFile:
    """Lines appended as they happen: what the system has taken survives the end of the process.

    A disk that takes nothing is mentioned once; the turn goes on without its journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        try:
            clear_way(path.parent, 2)
            make_folders(path.parent)
            # A new file and nothing else: a pipe of this name would wait for a reader.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            self._give_up(explain(error, path))
        except StorageError as error:
            self._give_up(error)

    def append(self, line: bytes) -> None:
        """Write a line, if the disk still takes it."""
        if self._descriptor is None:
            return
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):  # the disk is full, or a signal came
                os.write(self._descriptor, line[written:])
        except OSError as error:
            self._give_up(explain(error, self.path))

    def close(self) -> None:
        """Let go of the file, which stays for a later start."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _give_up(self, error: StorageError) -> None:
        self.close()
        logger.warning("a turn goes on without its journal. %s", error)


def discard_journal(path: Path) -> None:
    """Delete a journal, because the history has it all."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # found again at the next start, where it adds nothing
        logger.warning("a journal is left behind. %s", explain(error, path))


def _stamp(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    """None for what is gone by now."""
    try:
        status = entry.stat()
    except OSError:  # also a loop of links
        return (0, -1) if entry.is_symlink() else None
    if not stat.S_ISREG(status.st_mode):
        return status.st_mtime_ns, -1
    return status.st_mtime_ns, status.st_size
