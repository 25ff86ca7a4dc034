"""Read and replace one config file; the record in userData of what was written."""

import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from codekernel.adapters.agent_config.text_edits import BrokenConfig, RefusedEdit, TextEdit
from codekernel.domain.folder_handle import FolderHandle
from codekernel.errors import StorageError
from codekernel.storage import safe_files
from codekernel.storage.safe_files import make_private_folder, write_bytes_atomically
from codekernel.storage.user_data import UserData

# ~/.claude.json, which also has the history of every project, grows to some megabytes.
MAX_CONFIG_BYTES = 64 * 2**20

# Config files hold keys of other servers; those of a project are shared.
USER_FILE_MODE, PROJECT_FILE_MODE = 0o600, 0o666


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as it was read; ``content`` is None if there is none."""

    path: Path
    content: bytes | None

    @property
    def text(self) -> str:
        """The text; empty if there is no file. Raises BrokenConfig."""
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise BrokenConfig(f"it is not UTF-8: byte {error.start}") from error


def read_config_file(path: Path) -> ConfigFile:
    """Read a file. Raises BrokenConfig if something else is there, or it cannot be read."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise BrokenConfig("it is too large")
        return ConfigFile(path, safe_files.read_regular(path))
    except FileNotFoundError:
        if path.is_symlink():
            raise BrokenConfig("it is a link that leads nowhere") from None
        return ConfigFile(path, None)
    except OSError as error:
        raise BrokenConfig(f"it cannot be read: {error.strerror or error}") from error


def require_writable(path: Path) -> None:
    """Raise RefusedEdit if a file is read-only, or its folder is."""
    target = Path(os.path.realpath(path))
    if target.exists():
        is_protected = not stat.S_IMODE(target.stat().st_mode) & 0o222
        if is_protected or not os.access(target, os.W_OK):
            raise RefusedEdit("it is read-only")
    folder = next(each for each in target.parents if each.exists())
    if not folder.is_dir():
        raise RefusedEdit(f"{folder} is a file")
    if not os.access(folder, os.W_OK):
        raise RefusedEdit(f"{folder} is read-only")


def list_missing_folders(path: Path) -> list[Path]:
    """Return the folders that must be made for a file, the outermost first."""
    return [each for each in reversed(path.parents) if not os.path.lexists(each)]


def write_config_file(before: ConfigFile, text: str, new_mode: int) -> None:
    """Replace a file as it was read, or make it. Raises RefusedEdit if it is another one now."""
    if read_config_file(before.path).content != before.content:
        raise RefusedEdit("another program has just changed it: try again")
    target = Path(os.path.realpath(before.path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        like = target.stat() if target.exists() else None
        temporary = safe_files.make_temporary_name(f".{target.name}.")
        content = text.encode("utf-8")
        with FolderHandle.open(target.parent, follow=True) as folder:
            with safe_files.write_temporary_file(folder, temporary, content, new_mode, like):
                folder.rename(temporary, folder, target.name)
            with suppress(OSError):  # not every folder can be flushed
                folder.flush()
    except OSError as error:
        raise RefusedEdit(f"it cannot be written: {error.strerror or error}") from error


def delete_config_file(path: Path, folders: list[Path]) -> None:
    """Delete a file, and the folders that were made for it if they are empty."""
    try:
        path.unlink()
    except OSError as error:
        raise RefusedEdit(f"it cannot be deleted: {error.strerror or error}") from error
    for folder in reversed(folders):
        with suppress(OSError):  # something else lies in it
            folder.rmdir()


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One entry of one file; ``project`` is empty for files of the user."""

    path: str
    part: str
    file_format: str
    keys: tuple[str, ...]
    value: Any
    agents: tuple[str, ...]
    project: str
    edit: TextEdit
    known_keys: int  # of ``keys``, how many were there before
    is_new_file: bool
    new_folders: tuple[str, ...]

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        """What no two changes share."""
        return self.path, self.keys


class InstallRecord:
    """The changes that are in force."""

    def __init__(self, file: Path, changes: Iterable[RecordedChange]) -> None:
        self._file = file
        self._changes = {change.place: change for change in changes}

    @classmethod
    def open(cls, user_data: UserData) -> "InstallRecord":
        """Read the record. Raises StorageError if it is damaged."""
        file = user_data.agent_installs_file
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))["changes"]
            return cls(file, [_parse_change(row) for row in rows])
        except FileNotFoundError:
            return cls(file, [])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StorageError(
                f"{file}, which says what was installed into agents, cannot be read: {error}."
                " Rename it to begin anew; what it knew is not uninstalled then."
            ) from error

    def find(self, path: Path, keys: tuple[str, ...]) -> RecordedChange | None:
        """Return the change of an entry."""
        return self._changes.get((str(path), keys))

    def list_changes(self) -> list[RecordedChange]:
        """Return all of them."""
        return list(self._changes.values())

    def put(self, change: RecordedChange) -> None:
        """Record a change, on disk. Raises StorageError."""
        if self._changes.get(change.place) != change:
            self._changes[change.place] = change
            self._write()

    def drop(self, change: RecordedChange) -> None:
        """Forget a change. Raises StorageError."""
        if self._changes.pop(change.place, None):
            self._write()

    def drop_agents(self, change: RecordedChange, agents: Iterable[str]) -> None:
        """Keep a change for the other agents that it serves. Raises StorageError."""
        left = tuple(agent for agent in change.agents if agent not in set(agents))
        self.put(replace(change, agents=left))

    def _write(self) -> None:
        make_private_folder(self._file.parent)
        rows = [asdict(change) for change in self._changes.values()]
        content = json.dumps({"changes": rows}, indent=1, ensure_ascii=False)
        write_bytes_atomically(self._file, content.encode("utf-8"))


def _parse_change(row: dict[str, Any]) -> RecordedChange:
    values = {field.name: row[field.name] for field in fields(RecordedChange)}
    for name in ("keys", "agents", "new_folders"):
        values[name] = tuple(values[name])
    values["edit"] = TextEdit(**values["edit"])
    return RecordedChange(**values)
