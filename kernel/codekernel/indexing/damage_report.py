"""What is said of an index that was damaged, until it is rebuilt."""

from collections.abc import Iterable
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.engines import is_disk_full


class DamageReport:
    """The damage of one index: what is said of it, and how often it came back."""

    def __init__(self, folder: Path, max_rebuilds: int) -> None:
        self._folder, self._max_rebuilds = folder, max_rebuilds
        self._rebuild_count = 0
        # Empty when nothing is damaged.
        self.message = ""
        self.is_disk_faulty = False

    def note_damage(self, damage: StorageError, *, has_settled: bool) -> None:
        """Count a rebuild; too many before the index ``has_settled`` once mean a faulty disk."""
        self._rebuild_count = 1 if has_settled else self._rebuild_count + 1
        self.is_disk_faulty = self._rebuild_count > self._max_rebuilds
        if self.is_disk_faulty:
            self.message = (
                f"{damage} The index has been damaged {self._rebuild_count} times in a row: check"
                f" the disk that holds {self._folder}. It is rebuilt again in a minute."
            )
        else:
            self.message = (
                f"{damage} What is damaged was moved aside, and is rebuilt from the files."
            )

    def note_quarantined(self, paths: Iterable[Path]) -> None:
        """Name what was found damaged when the index was opened."""
        names = ", ".join(path.name for path in paths)
        self.message = (
            f"The index in {self._folder} was damaged: {names} was moved aside, and is"
            " rebuilt from the files."
        )

    def find_cause(self, trouble: str) -> str:
        """Return why something is wrong, in a word for programs; empty if there is none."""
        if not trouble:
            return ""
        if trouble == self.message:
            return "damage"
        return "full-disk" if is_disk_full(self._folder) else ""
