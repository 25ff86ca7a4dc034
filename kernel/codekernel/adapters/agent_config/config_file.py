"""Read a config file of somebody else, and replace it without changing what it is.

Its mode, owner and byte order mark stay; a link stays a link, and its target is replaced.
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codekernel.adapters.agent_config.text_edits import BrokenConfig, RefusedEdit
from codekernel.domain.folder_handle import FolderHandle
from codekernel.storage import safe_files

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
