"""A repository that is opened for the first time takes the nearest pack of its team.

The pack is fetched, proved and written into a folder of its own; the index moves in when all of it
was checked. Whatever goes wrong, the index is built from the files instead.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import RemoteModel
from codekernel.errors import Cancelled, InvalidModel
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.inference.model_folder import read_model_folder
from codekernel.packs.commits import list_ancestors
from codekernel.packs.index_packs import IndexPacks, NearestPack
from codekernel.packs.index_parts import restore_index
from codekernel.packs.pack_archive import PackArchive, PackedConfig, PackRefused
from codekernel.packs.signatures import PublicKey
from codekernel.search.git_history import HistoryUnavailable
from codekernel.sharing.object_store import StoreUnavailable
from codekernel.sharing.store_backoff import StoreBackoff
from codekernel.sharing.team import Team
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import translate_os_errors

logger = logging.getLogger(__name__)

# In userData/sharing: packs that are being fetched.
FETCHED_FOLDER = "fetched"

# What is left of a fetch that nobody went on with.
MAX_FETCHED_SECONDS = 7 * 24 * 60 * 60

# Nothing is found before the index is there. A chunk has 825 bytes, and a hundred of them a second
# are embedded here by all but large models.
MIN_BYTES_PER_SECOND = 80_000.0

LOCK_SUFFIX, _LOCK_POLL_SECONDS = ".lock", 0.1

ReportText = Callable[[str], None]


def describe_configs(configs: Sequence[ConfigPlan]) -> list[PackedConfig]:
    """Return the models and chunk sizes of a plan; remote models and broken ones have no vectors.

    Dimensions are not known before a model is loaded, and not asked for.
    """
    found = []
    for config in configs:
        if isinstance(config.model, RemoteModel):
            continue
        try:
            model = read_model_folder(config.model).fingerprint
        except InvalidModel:
            continue
        found.append(PackedConfig(model, 0, config.max_chunk_chars))
    return found


@dataclass(frozen=True, slots=True)
class FetchedPack:
    """A pack on the disk, or a part of it."""

    nearest: NearestPack
    path: Path
    packs: IndexPacks


class PackOpener:
    """Used by the index threads of all repositories."""

    def __init__(self, team: Team, folder: Path) -> None:
        """``folder`` is that of userData for what is known of stores."""
        self._team = team
        self._folder = folder / FETCHED_FOLDER
        self._backoff = StoreBackoff()

    def restore(
        self, root: Path, plan: IndexPlan, staging: Path, cancel: CancelToken, report: ReportText
    ) -> bool:
        """Write the index of the nearest pack into ``staging``; false if the team has none.

        Raises StorageError, which says why a pack is not used, and Cancelled.
        """
        if not self._team.is_shared or not self._backoff.is_over:
            return False
        try:
            fetched = self.find(root, plan)
        except StoreUnavailable as error:
            self._backoff.note_failure(error)
            raise
        if fetched is None:
            return False
        with self._hold(fetched, cancel):
            try:
                self._fetch(fetched, cancel, report, MIN_BYTES_PER_SECOND)
            except StoreUnavailable as error:
                self._backoff.note_failure(error)
                raise
            self._backoff.note_success()
            with self._open(fetched, plan) as archive:
                restore_index(archive, staging, archive.manifest)
            fetched.path.unlink(missing_ok=True)
        return True

    def find(self, root: Path, plan: IndexPlan) -> FetchedPack | None:
        """Return the nearest pack; None if there is none. Raises KernelError."""
        try:
            places = list_ancestors(root)
        except HistoryUnavailable as error:
            logger.info("no index of the team is looked for: %s", error)
            return None
        trusted = [PublicKey.parse(each) for each in self._team.trusted_keys]
        packs = IndexPacks(self._team.open_store(), trusted=trusted)
        nearest = packs.find_nearest(packs.hash_profile(describe_configs(plan.configs)), places)
        if nearest is None:
            logger.info("the team has no index of %s, nor of a commit before it", root.name)
            return None
        pack = nearest.pack
        name = f"{pack.commit}-{pack.profile}-{pack.owner}-{pack.size}-{pack.sent_at:.0f}.part"
        return FetchedPack(nearest, self._folder / name, packs)

    def fetch(self, fetched: FetchedPack, cancel: CancelToken, report: ReportText) -> None:
        """Fetch what is missing of a pack, however slow the store is.

        Raises StorageError, Cancelled.
        """
        with self._hold(fetched, cancel):
            self._fetch(fetched, cancel, report, 0.0)

    @contextmanager
    def _hold(self, fetched: FetchedPack, cancel: CancelToken) -> Iterator[None]:
        """Have a pack alone: another worktree may want the same one. Raises Cancelled."""
        lock = ProcessLock(fetched.path.with_suffix(LOCK_SUFFIX))
        while not lock.try_acquire():
            if cancel.wait(_LOCK_POLL_SECONDS):
                raise Cancelled("the team's index is not wanted any more")
        try:
            yield
        finally:
            lock.release()

    def _fetch(
        self, fetched: FetchedPack, cancel: CancelToken, report: ReportText, min_rate: float
    ) -> None:
        self._remove_old()
        size = fetched.nearest.pack.size

        def report_bytes(done: int) -> None:
            report(f"Your team's index is fetched: {done / 1e6:.0f} of {size / 1e6:.0f} MB.")

        report_bytes(0)
        fetched.packs.fetch(
            fetched.nearest.pack,
            fetched.path,
            cancel,
            report_bytes,
            min_bytes_per_second=min_rate,
        )

    @contextmanager
    def _open(self, fetched: FetchedPack, plan: IndexPlan) -> Iterator[PackArchive]:
        """Yield a pack that is proved; one that is refused is deleted."""
        path, size = fetched.path, fetched.nearest.pack.size
        try:
            fetched.packs.require_signature(fetched.nearest.pack, path)
            with translate_os_errors(path), path.open("rb") as file:
                archive = PackArchive(file, size, fetched.packs.secret)
                fetched.packs.check(archive, fetched.nearest, describe_configs(plan.configs))
                yield archive
        except PackRefused:
            path.unlink(missing_ok=True)
            raise

    def _remove_old(self) -> None:
        for path in self._folder.glob("*"):
            try:
                if time.time() - path.stat().st_mtime > MAX_FETCHED_SECONDS:
                    path.unlink()
            except OSError as error:
                logger.info("%s stays: %s", path, error)
