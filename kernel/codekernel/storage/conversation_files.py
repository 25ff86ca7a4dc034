"""Conversation history files and turn journals under userData.

Also the mirror of histories in <repository>/.PocketRAG/conversation.
"""

import errno
import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from codekernel.domain.folder_handle import FolderHandle
from codekernel.errors import StorageError
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import clear_parent_folders, quarantine_user_file
from codekernel.storage.safe_files import (
    FOLDER_MODE,
    NotRegularFile,
    explain_os_error,
    make_private_folder,
    make_private_parents,
    read_regular,
    remove_stale_temporaries,
    replace_file_atomically,
    translate_os_errors,
    write_bytes_atomically,
)

logger = logging.getLogger(__name__)

_HISTORY_NAME = re.compile(r"conversation-(\d+)\.json")

_MISSING_FOLDER_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}

_JOURNAL_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")


class ConversationDamaged(StorageError):
    """What lies in the place of a history is not a readable file."""


class ConversationFiles:
    """The conversation files of one userData folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journals_folder = folder / "unfinished"

    def history_path(self, conversation_id: int) -> Path:
        """Return the path of the history of a conversation."""
        return self._folder / f"conversation-{conversation_id}.json"

    def read_history(self, conversation_id: int) -> bytes | None:
        """Return the content of a history; None if there is none.

        Raises ConversationDamaged if it is not a file, StorageError if it cannot be read now.
        """
        path = self.history_path(conversation_id)
        with translate_os_errors(path):
            try:
                return read_regular(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except NotRegularFile as error:
                if not self._folder.is_dir():
                    return None
                raise ConversationDamaged(f"{path} is no regular file") from error

    def write_history(self, conversation_id: int, content: bytes) -> None:
        """Replace the history, whole or not at all. Raises StorageError."""
        clear_parent_folders(self._folder, 1)
        make_private_folder(self._folder)  # an earlier version made it with the umask's mode
        write_bytes_atomically(self.history_path(conversation_id), content)

    def quarantine(self, path: Path, reason: str) -> Path:
        """Rename what cannot be read; return its new path. Raises StorageError."""
        aside = quarantine_user_file(path)
        logger.warning("%s cannot be read (%s) and was quarantined as %s", path, reason, aside.name)
        return aside

    def list_ids(self) -> list[int]:
        """Return the ids of all conversations, the one written last first."""
        written = [(stamp[0], number) for number, stamp in self.read_stamps().items()]
        return [number for _, number in sorted(written, reverse=True)]

    def read_stamps(self) -> dict[int, tuple[int, int]]:
        """Return when each conversation was last written, in ns, and its size.

        What has the name of a history and is not a file has the size -1.
        """
        return {
            int(name[1]): stamp
            for entry in _list_entries(self._folder)
            if (name := _HISTORY_NAME.fullmatch(entry.name)) and (stamp := _read_stamp(entry))
        }

    def remove_temporaries(self) -> None:
        """Delete old temporary files of killed processes."""
        try:
            remove_stale_temporaries(self._folder)
        except OSError as error:
            logger.info("temporary files stay for now: %s", error)

    def remove(self, conversation_id: int) -> None:
        """Delete a conversation with all its journals, for good. Raises StorageError."""
        journals = [
            path for path, number in self.list_journals().items() if number == conversation_id
        ]
        for path in (*journals, self.history_path(conversation_id)):
            with translate_os_errors(path):
                try:
                    path.unlink(missing_ok=True)
                except (IsADirectoryError, PermissionError):
                    if not path.is_dir():
                        raise
                    quarantine_user_file(path)

    def create_lock(self, conversation_id: int) -> ProcessLock:
        """Return the lock of a conversation, not acquired; its holder may write."""
        return ProcessLock(self._journals_folder / f"{conversation_id}.lock")

    def journal_path(self, conversation_id: int, time_ms: int) -> Path:
        """Return the path of the journal of a turn."""
        return self._journals_folder / f"{conversation_id}-{time_ms}.jsonl"

    def list_journals(self) -> dict[Path, int]:
        """Return every journal, oldest first, with its conversation. Raises StorageError."""
        found = sorted(
            (int(parts[2]), int(parts[1]), entry.name)
            for entry in _list_entries(self._journals_folder)
            if (parts := _JOURNAL_NAME.fullmatch(entry.name))
        )
        return {self._journals_folder / name: number for _, number, name in found}


class TurnJournalFile:
    """Append lines as they happen; what was written survives the end of the process.

    A disk that cannot be written is logged once; the turn goes on without its journal.
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
        except (OSError, StorageError) as error:
            self._disable(error)

    def append(self, line: bytes) -> None:
        """Write a line, unless writing has failed before."""
        if self._descriptor is None:
            return
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):  # the disk is full, or a signal came
                os.write(self._descriptor, line[written:])
        except OSError as error:
            self._disable(error)

    def close(self) -> None:
        """Close the file, which stays for the next start."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _disable(self, error: OSError | StorageError) -> None:
        self.close()
        if isinstance(error, OSError):
            error = explain_os_error(error, self.path)
        logger.warning("a turn goes on without its journal. %s", error)


def delete_turn_journal(path: Path) -> None:
    """Delete a journal whose turn is in the history."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # found again at the next start, where it adds nothing
        logger.warning("a journal is left behind. %s", explain_os_error(error, path))


def _list_entries(folder: Path) -> "list[os.DirEntry[str]]":
    """Return what lies in a folder, nothing if there is none. Raises StorageError."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno in _MISSING_FOLDER_ERRNOS:
            return []
        raise explain_os_error(error, folder) from error


def _read_stamp(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    """Return the time of the last write and the size; None if the entry is gone."""
    try:
        status = entry.stat()
    except OSError:  # also a loop of links
        return (0, -1) if entry.is_symlink() else None
    if not stat.S_ISREG(status.st_mode):
        return status.st_mtime_ns, -1
    return status.st_mtime_ns, status.st_size


MIRROR_FOLDERS = (".PocketRAG", "conversation")

_NOT_A_FOLDER_ERRNOS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


class MirrorPathRejected(StorageError):
    """Part of the path of the mirror is a link, or is not a folder."""


def write_mirror(root: Path, name: str, content: bytes) -> None:
    """Replace a file of the mirror, whole or not at all.

    Raises MirrorPathRejected or another StorageError.
    """
    path = root.joinpath(*MIRROR_FOLDERS, name)
    with translate_os_errors(path), _open_mirror_folder(root, make=True) as folder:
        replace_file_atomically(folder, name, content)


def read_mirror(root: Path, name: str) -> bytes | None:
    """Return a file of the mirror; None if there is none that can be read."""
    path = root.joinpath(*MIRROR_FOLDERS, name)
    unreadable = suppress(FileNotFoundError, NotRegularFile, MirrorPathRejected)
    with translate_os_errors(path), unreadable, _open_mirror_folder(root) as folder:
        return read_regular(name, folder=folder)
    return None


def remove_mirror(root: Path, name: str) -> None:
    """Delete a file of the mirror, if it is there. Raises StorageError."""
    path = root.joinpath(*MIRROR_FOLDERS, name)
    missing = suppress(FileNotFoundError, MirrorPathRejected)
    with translate_os_errors(path), missing, _open_mirror_folder(root) as folder:
        folder.remove_file(name)


@contextmanager
def _open_mirror_folder(root: Path, *, make: bool = False) -> Iterator[FolderHandle]:
    """Open the folder of the mirror without following links. Raises OSError."""
    with ExitStack() as opened:
        folder = opened.enter_context(FolderHandle.open(root, follow=True))
        for name in MIRROR_FOLDERS:
            if make:
                with suppress(FileExistsError):
                    folder.make_folder(name, FOLDER_MODE)
            try:
                folder = opened.enter_context(folder.open_folder(name))
            except OSError as error:
                if error.errno not in _NOT_A_FOLDER_ERRNOS:
                    raise
                raise MirrorPathRejected(
                    f"{root.joinpath(*MIRROR_FOLDERS)} is a link, or no folder: conversations are"
                    " not mirrored there."
                ) from error
        yield folder
