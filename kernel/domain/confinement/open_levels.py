"""The open folders of a walk through a tree, from its top down to where the walk is."""

from types import TracebackType
from typing import Self

from kernel.domain.confinement.folder_handle import FolderHandle

# A process may have 256 descriptors open on macOS, 1,024 on Linux; trees are seldom 20 deep.
MAX_OPEN_LEVELS = 64


class OpenLevels:
    """Entered in the order of a depth-first walk; ``depth`` 0 is the top."""

    def __init__(self, top: FolderHandle) -> None:
        self._held = [top]
        self._names = [""]
        # A folder deeper than those that are kept open.
        self._deepest: FolderHandle | None = None

    @property
    def top(self) -> FolderHandle:
        """The folder in which the walk began."""
        return self._held[0]

    def enter(self, depth: int, name: str) -> FolderHandle:
        """Open a folder that lies in the one at ``depth``, and let go of all that are deeper.

        Raises OSError, also if a link has been put in place of a folder on the way.
        """
        del self._names[depth + 1 :]
        while len(self._held) > depth + 1:
            self._held.pop().close()
        if self._deepest is not None:
            self._deepest.close()
            self._deepest = None
        folder = self._held[-1]
        for passed in (*self._names[len(self._held) :], name):
            try:
                inner = folder.open_folder(passed, to_list=True)
            finally:
                if folder is not self._held[-1]:
                    folder.close()
            folder = inner
        self._names.append(name)
        if len(self._held) == depth + 1 and depth + 1 < MAX_OPEN_LEVELS:
            self._held.append(folder)
        else:
            self._deepest = folder
        return folder

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for folder in (*self._held, *([self._deepest] if self._deepest else [])):
            folder.close()
