"""Open the base that the settings name, and find a repository in it."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from codekernel.base.base_place import find_base_place
from codekernel.base.base_reader import (
    SEARCH_TIMEOUT_SECONDS,
    BaseRepositoryReader,
    BaseUnavailable,
    Deadline,
    OpenedBase,
    open_base,
)
from codekernel.base.manifest import BaseManifest, BaseRepository
from codekernel.base.overlay_state import OverlayTracker
from codekernel.base.overlay_view import OverlayView
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.packs.commits import find_known_commits, find_root_commits
from codekernel.packs.index_packs import make_label
from codekernel.search.git_history import HistoryUnavailable
from codekernel.search.pipeline import Searcher
from codekernel.sharing.team import Team

# Nobody waits for it.
PREWARM_TIMEOUT_SECONDS = 60.0


class OverlaidRepository:
    """A repository of a base, under the files as they are here."""

    def __init__(
        self,
        root: Path,
        base: OpenedBase,
        repository: BaseRepository,
        timeout_seconds: float = SEARCH_TIMEOUT_SECONDS,
    ) -> None:
        """Fetch its files and terms. Raises StorageError."""
        self.name = base.place.name
        self._root, self._timeout_seconds = root, timeout_seconds
        threading.Thread(target=self._prewarm, args=(base,), name="team-base", daemon=True).start()
        self._tracker = OverlayTracker(BaseRepositoryReader(base, repository))

    def _prewarm(self, base: OpenedBase) -> None:
        with suppress(BaseUnavailable):
            base.requests.run(base.table.prewarm, Deadline(PREWARM_TIMEOUT_SECONDS))

    def find_digest(self, path: str) -> bytes | None:
        """Return the digest of a file as the base has it; None if it does not."""
        file = self._tracker.reader.files.get(path)
        return file.digest if file else None

    def cover(self, searcher: Searcher, index: RepositoryIndex) -> Searcher:
        """Return a searcher of both, for one search."""
        view = OverlayView(self._root, index, self._tracker, self._timeout_seconds)
        return replace(searcher, index=view, recover=view.recover, describe_gap=view.describe_gap)


def open_repository_base(
    root: Path, team: Team, name: str, environ: Mapping[str, str]
) -> OverlaidRepository | None:
    """Return what the base of that name has of a repository. Raises KernelError."""
    base = open_base(find_base_place(team.open_store(), name, environ))
    repository = find_repository(base.manifest, root)
    return OverlaidRepository(root, base, repository) if repository else None


def find_repository(manifest: BaseManifest, root: Path) -> BaseRepository | None:
    """Return what a base has of a repository, or None.

    A repository that has its commit, else one of its name and with the same oldest commit; a
    folder without git by its name alone.
    """
    label = make_label(root.name)
    shared: list[BaseRepository] = []
    for prefix in {each.prefix for each in manifest.repositories if each.commit}:
        candidates = [it for it in manifest.repositories if it.commit and it.prefix == prefix]
        known = find_known_commits(root, [each.commit for each in candidates], prefix)
        shared += [each for each in candidates if each.commit in known]
    if shared:
        return next((each for each in shared if each.label == label), shared[0])
    named = manifest.find(label)
    try:
        roots = find_root_commits(root)
    except HistoryUnavailable:
        roots = ()
    return named if named and named.roots == roots else None
