"""Build the pack of a commit, as CI does: index its files by themselves, and send the result.

The index is made of exactly what is committed, never of what lies about in the working tree, and
from nothing, so that it ranks as one that a member builds alone. Its vectors come from the caches
where they are known.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import RepositoryIndexStatus
from codekernel.domain.settings import RemoteModel
from codekernel.errors import StorageError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.packs.commits import CommitPlace, export_commit
from codekernel.packs.index_packs import IndexPacks, StoredIndexPack, make_label
from codekernel.packs.index_parts import ANALYSIS, count_packed, read_index
from codekernel.packs.pack_archive import PackedConfig, PackManifest, write_pack
from codekernel.packs.pack_opening import describe_configs
from codekernel.packs.signatures import SigningKey
from codekernel.sharing.team import Team
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codekernel.inference.model_pool import ModelPool

_POLL_SECONDS = 0.05

ReportStatus = Callable[[RepositoryIndexStatus], None]


@dataclass(frozen=True, slots=True)
class BuiltPack:
    """What was sent; ``embedded`` texts had no vector anywhere."""

    name: str
    files: int
    chunks: int
    size: int
    embedded: int


class PackBuilder:
    """Builds packs of repositories as the settings ask."""

    def __init__(
        self,
        team: Team,
        user_data: UserData,
        plan: IndexPlan,
        get_model_pool: "Callable[[], ModelPool]",
    ) -> None:
        """Raises KernelError if the store cannot be used, or not be written."""
        if not team.can_write:
            raise StorageError(
                'packs are not sent: sharing.mode in settings.json is not "read-write"'
            )
        secret = team.read_signing_key()
        key = SigningKey.parse(secret) if secret else None
        self.packs, self._signs = IndexPacks(team.open_store(), key=key), bool(key)
        self._team, self._user_data = team, user_data
        # Nothing is sent to remote models from here; whoever opens the pack asks for that.
        local = tuple(each for each in plan.configs if not isinstance(each.model, RemoteModel))
        self._plan, self._get_model_pool = replace(plan, configs=local), get_model_pool
        self._configs = describe_configs(plan.configs)
        self._profile = self.packs.hash_profile(self._configs)

    def find(self, place: CommitPlace) -> StoredIndexPack | None:
        """Return the pack of a commit, if somebody has sent it already. Raises KernelError.

        Who signs does not count a pack without a signature.
        """
        nearest = self.packs.find_nearest(self._profile, [place])
        is_enough = nearest and (nearest.pack.is_signed or not self._signs)
        return nearest.pack if nearest and is_enough else None

    def build(
        self, root: Path, place: CommitPlace, label: str = "", report: ReportStatus = lambda _: None
    ) -> BuiltPack:
        """Index a commit and send its pack. Raises KernelError."""
        label = make_label(label or root.name)
        with self._make_folders() as (files, index):
            top = export_commit(root, place, files)
            if not top.is_dir():
                raise StorageError(f"{place.commit[:12]} has no folder {place.prefix}")
            configs, embedded = self._index(top, index, report)
            scratch = files.parent
            target = scratch / "pack"
            counts = count_packed(index)
            manifest = PackManifest(
                label, place.commit, place.prefix, ANALYSIS, *counts, time.time(), configs
            )
            write_pack(target, manifest, read_index(index, configs, scratch), self.packs.secret)
            size = target.stat().st_size
            name = self.packs.send(target, label, place, self._profile, self._team.read_owner())
            return BuiltPack(name, *counts, size, embedded)

    def _index(
        self, top: Path, folder: Path, report: ReportStatus
    ) -> tuple[tuple[PackedConfig, ...], int]:
        """Index a folder completely; return its vectors, and how many texts were embedded."""
        index = RepositoryIndex(
            top, folder, self._get_model_pool, get_team_vectors=self._team.get_vectors
        )
        cancel, crashes = CancelToken(), list[BaseException]()
        unsubscribe = index.subscribe(lambda *_: None, crashes.append)
        try:
            index.start(self._plan)
            while not index.is_idle:
                status = index.get_status()
                report(status)
                problems = [status.trouble, *(each.trouble for each in status.configs)]
                if crashes or any(problems):
                    reason = next(filter(None, problems), "") or str(crashes[0])
                    raise StorageError(f"the index is not complete: {reason}")
                cancel.wait(_POLL_SECONDS)
            found = index.vector_indexes
            if len(found) < len(self._plan.configs):
                raise StorageError("the index is not complete: a selected model cannot be used")
            configs = tuple(
                PackedConfig(
                    each.embedder.fingerprint,
                    each.embedder.dimensions,
                    each.config.max_chunk_chars,
                )
                for each in found
            )
            return configs, sum(each.embedded_count for each in found)
        finally:
            unsubscribe()
            index.close()

    @contextmanager
    def _make_folders(self) -> "Iterator[tuple[Path, Path]]":
        """Yield an empty folder for files, and one for an index that has the shared vectors."""
        indexes = self._user_data.indexes_folder
        indexes.mkdir(parents=True, exist_ok=True)
        index = Path(tempfile.mkdtemp(prefix=f"pack-{os.getpid()}-", dir=indexes))
        try:
            with tempfile.TemporaryDirectory(prefix="codekernel-pack-") as scratch:
                files = Path(scratch) / "files"
                files.mkdir()
                yield files, index
        finally:
            shutil.rmtree(index, ignore_errors=True)
