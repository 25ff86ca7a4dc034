"""What was written into whose files, so that exactly that can be taken away again.

A JSON file in userData. It holds the edit, and no other line of a config file.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from codekernel.adapters.agent_config.text_edits import TextEdit
from codekernel.errors import StorageError
from codekernel.storage.safe_files import make_private_folder, write_bytes_atomically
from codekernel.storage.user_data import UserData


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
