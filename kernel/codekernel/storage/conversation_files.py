"""Conversation history files and turn journals under userData.

The mirror of histories in <repository>/.PocketRAG/conversation.
"""

import errno
import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.quarantine import clear_parent_folders, quarantine_user_file
from codekernel.storage.safe_files import NotRegularFile, read_regular, write_bytes_atomically
from codekernel.storage.user_data import make_private_folder, make_private_parents

logger = logging.getLogger(__name__)

_HISTORY_NAME = re.compile(r"conversation-(\d+)\.json")

# A history is written within seconds, however slow the disk.
MAX_TEMPORARY_AGE_SECONDS = 3600.0

_MISSING_FOLDER_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}

_JOURNAL_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")


class ConversationDamaged(StorageError):
    """Something lies where a conversation should, and is no readable file."""


class ConversationFiles:
    """The files of one userData folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journals_folder = folder / "unfinished"

    def history_path(self, conversation_id: int) -> Path:
        """Where the history of a conversation lies."""
        return self._folder / f"conversation-{conversation_id}.json"

    def read_history(self, conversation_id: int) -> bytes | None:
        """The content of the history; None if there is none.

        Raises ConversationDamaged if it is no file, StorageError if it cannot be read now.
        """
        path = self.history_path(conversation_id)
        try:
            return read_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NotRegularFile as error:
            if not self._folder.is_dir():
                return None
            raise ConversationDamaged(f"{path} is no regular file") from error
        except OSError as error:
            raise explain_os_error(error, path) from error

    def write_history(self, conversation_id: int, content: bytes) -> None:
        """Replace the history, whole or not at all. Raises StorageError."""
        clear_parent_folders(self._folder, 1)
        make_private_folder(self._folder)  # an earlier version made it with the umask's mode
        write_bytes_atomically(self.history_path(conversation_id), content)

    def quarantine(self, path: Path, reason: str) -> Path:
        """Rename what cannot be read; returns its new path. Raises StorageError."""
        aside = quarantine_user_file(path)
        logger.warning("%s cannot be read (%s) and was set aside as %s", path, reason, aside.name)
        return aside

    def list_ids(self) -> list[int]:
        """The conversations there are, the one written last first."""
        written = [(stamp[0], number) for number, stamp in self.read_stamps().items()]
        return [number for _, number in sorted(written, reverse=True)]

    def read_stamps(self) -> dict[int, tuple[int, int]]:
        """Of each conversation there is, when it was written last, in ns, and its size.

        What has the name of one and is no file is among them, with the size -1.
        """
        found: dict[int, tuple[int, int]] = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = _HISTORY_NAME.fullmatch(entry.name)
                    if name and (stamp := _read_stamp(entry)):
                        found[int(name[1])] = stamp
        except OSError as error:
            if error.errno in _MISSING_FOLDER_ERRNOS:
                return {}
            raise explain_os_error(error, self._folder) from error
        return found

    def remove_temporaries(self) -> None:
        """Delete what a killed process was writing; what is recent may still be written."""
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    is_ours = entry.name.startswith(".conversation-") and entry.name.endswith(
                        ".tmp"
                    )
                    if is_ours and time.time() - entry.stat().st_mtime > MAX_TEMPORARY_AGE_SECONDS:
                        os.unlink(entry)  # noqa: PTH108
        except OSError as error:
            if error.errno not in _MISSING_FOLDER_ERRNOS:
                logger.info("temporary files stay for now: %s", error)

    def remove(self, conversation_id: int) -> None:
        """Delete a conversation with all its journals, for good. Raises StorageError."""
        journals = [
            path for path, number in self.list_journals().items() if number == conversation_id
        ]
        for path in (*journals, self.history_path(conversation_id)):
            try:
                path.unlink(missing_ok=True)
            except (IsADirectoryError, PermissionError) as error:
                if not path.is_dir():
                    raise explain_os_error(error, path) from error
                quarantine_user_file(path)
            except OSError as error:
                raise explain_os_error(error, path) from error

    def create_lock(self, conversation_id: int) -> ProcessLock:
        """The lock of a conversation, not taken yet: whoever holds it may write."""
        return ProcessLock(self._journals_folder / f"{conversation_id}.lock")

    def journal_path(self, conversation_id: int, time_ms: int) -> Path:
        """Where the journal of a turn lies."""
        return self._journals_folder / f"{conversation_id}-{time_ms}.jsonl"

    def list_journals(self) -> dict[Path, int]:
        """Every journal there is, oldest first, with its conversation. Raises StorageError."""
        try:
            names = os.listdir(self._journals_folder)  # noqa: PTH208 - names are all that is looked at
        except OSError as error:
            if error.errno in _MISSING_FOLDER_ERRNOS:
                return {}
            raise explain_os_error(error, self._journals_folder) from error
        found = {
            self._journals_folder / name: (int(parts[1]), int(parts[2]))
            for name in names
            if (parts := _JOURNAL_NAME.fullmatch(name))
        }
        ordered = sorted(found, key=lambda path: found[path][1])
        return {path: found[path][0] for path in ordered}


class TurnJournalFile:
    """Lines appended as they happen: what the system has taken survives the end of the process.

    A disk that takes nothing is mentioned once; the turn goes on without its journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        try:
            clear_parent_folders(path.parent, 2)
            make_private_parents(path.parent)
            # A new file and nothing else: a pipe of this name would wait for a reader.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            self._disable(explain_os_error(error, path))
        except StorageError as error:
            self._disable(error)

    def append(self, line: bytes) -> None:
        """Write a line, if the disk still takes it."""
        if self._descriptor is None:
            return
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):  # the disk is full, or a signal came
                os.write(self._descriptor, line[written:])
        except OSError as error:
            self._disable(explain_os_error(error, self.path))

    def close(self) -> None:
        """Let go of the file, which stays for a later start."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _disable(self, error: StorageError) -> None:
        self.close()
        logger.warning("a turn goes on without its journal. %s", error)


def delete_turn_journal(path: Path) -> None:
    """Delete a journal, because the history has it all."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # found again at the next start, where it adds nothing
        logger.warning("a journal is left behind. %s", explain_os_error(error, path))


def _read_stamp(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    """None for what is gone by now."""
    try:
        status = entry.stat()
    except OSError:  # also a loop of links
        return (0, -1) if entry.is_symlink() else None
    if not stat.S_ISREG(status.st_mode):
        return status.st_mtime_ns, -1
    return status.st_mtime_ns, status.st_size


MIRROR_FOLDERS = (".PocketRAG", "conversation")

_NO_FOLLOW_FLAG = getattr(os, "O_NOFOLLOW", 0)

_OPEN_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

_CREATE_FILE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW_FLAG | getattr(os, "O_BINARY", 0)
)

_HAS_DIR_FD = os.open in os.supports_dir_fd and bool(_NO_FOLLOW_FLAG)


class MirrorPathRejected(StorageError):
    """Something on the way to the mirror leads out of the repository, or is no folder."""


def write_mirror(root: Path, name: str, content: bytes) -> None:
    """Replace a file of the mirror, whole or not at all. Raises MirrorRefused, StorageError."""
    temporary = f".{name}.{secrets.token_hex(8)}.tmp"
    with _open_mirror_folder(root, make=True) as (where, dir_fd):
        try:
            descriptor = os.open(
                _join_path(where, temporary), _CREATE_FILE_FLAGS, 0o600, dir_fd=dir_fd
            )
            with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor is not a path
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if dir_fd is None:
                os.replace(_join_path(where, temporary), _join_path(where, name))  # noqa: PTH105
            else:
                os.replace(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError as error:
            with suppress(OSError):
                os.unlink(_join_path(where, temporary), dir_fd=dir_fd)
            raise explain_os_error(error, _mirror_path(root, name)) from error


def read_mirror(root: Path, name: str) -> bytes | None:
    """Return a file of the mirror; None if there is none that can be read."""
    try:
        with _open_mirror_folder(root, make=False) as (where, dir_fd):
            return read_regular(_join_path(where, name), flags=_NO_FOLLOW_FLAG, dir_fd=dir_fd)
    except (FileNotFoundError, NotRegularFile, MirrorPathRejected):
        return None
    except OSError as error:
        raise explain_os_error(error, _mirror_path(root, name)) from error


def remove_mirror(root: Path, name: str) -> None:
    """Delete a file of the mirror, if it is there. Raises StorageError."""
    try:
        with _open_mirror_folder(root, make=False) as (where, dir_fd):
            os.unlink(_join_path(where, name), dir_fd=dir_fd)
    except (FileNotFoundError, MirrorPathRejected):
        return
    except OSError as error:
        raise explain_os_error(error, _mirror_path(root, name)) from error


def _mirror_path(root: Path, name: str) -> Path:
    return root.joinpath(*MIRROR_FOLDERS, name)


def _join_path(folder: str, name: str) -> str:
    return os.path.join(folder, name) if folder else name  # noqa: PTH118


@contextmanager
def _open_mirror_folder(root: Path, *, make: bool) -> Iterator[tuple[str, int | None]]:
    """The folder of the mirror, as a path or relative to a descriptor. Raises OSError."""
    if not _HAS_DIR_FD:
        yield _check_mirror_folder(root, make=make), None
        return
    descriptor = os.open(root, _OPEN_FOLDER_FLAGS)
    try:
        for part in MIRROR_FOLDERS:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=descriptor)
            descriptor = _enter_folder(root, descriptor, part)
        yield "", descriptor
    finally:
        os.close(descriptor)


def _enter_folder(root: Path, descriptor: int, part: str) -> int:
    try:
        inner = os.open(part, _OPEN_FOLDER_FLAGS | _NO_FOLLOW_FLAG, dir_fd=descriptor)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            raise _build_rejection(root) from error
        raise
    os.close(descriptor)
    return inner


def _check_mirror_folder(root: Path, *, make: bool) -> str:
    """Where the system cannot open relative to a folder: what was reached must be inside."""
    folder = root.joinpath(*MIRROR_FOLDERS)
    if make:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if Path(os.path.realpath(folder)) != Path(os.path.realpath(root)).joinpath(*MIRROR_FOLDERS):
        raise _build_rejection(root)
    return str(folder)


def _build_rejection(root: Path) -> MirrorPathRejected:
    return MirrorPathRejected(
        f"{root.joinpath(*MIRROR_FOLDERS)} is a link, or no folder: conversations are not "
        "mirrored there."
    )
