"""Files of a tree that are read one after the other, folder by folder."""

from pathlib import Path
from types import TracebackType
from typing import Self

from kernel.domain.confinement.beneath import Place, reach
from kernel.domain.confinement.folder_handle import FolderHandle


class FilesBeneath:
    """Keeps the folder of the last file open, in which the next one mostly lies too."""

    def __init__(self, root: FolderHandle, top: Path) -> None:
        self._root = root
        self._top = top
        self._folder = ""
        self._held = root

    def at(self, path: str) -> Place:
        """What lies at a path below the root in which there are no links; need not be closed.

        Raises OSError.
        """
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            self._hold(folder)
        parts = tuple(path.split("/"))
        status = self._held.status(name)
        return Place(self._top, parts, self._held, (), name, status, None, [])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._hold("")
        self._root.close()

    def _hold(self, folder: str) -> None:
        if self._held is not self._root:
            self._held.close()
        self._folder, self._held = "", self._root
        if folder:
            root = self._root.open_folder(".")
            with reach(root, self._top, folder, follow=False, max_links=0) as place:
                self._held = place.parent.open_folder(place.name)
            self._folder = folder
