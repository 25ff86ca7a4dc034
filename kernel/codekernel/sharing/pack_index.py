"""Which pack of a model has which text: the keys of all packs, in memory and on disk.

Only new packs are asked for their keys, 16 bytes for each vector; those of known packs lie in
userData. What is on disk is a cache: anything that cannot be read is fetched again.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from codekernel.errors import StorageError
from codekernel.sharing.object_store import ObjectMissing, ObjectStore
from codekernel.sharing.vector_pack import PackDamaged, PackFormat, PackName, parse_pack_name
from codekernel.storage.safe_files import write_bytes_atomically

logger = logging.getLogger(__name__)

# At 200 ms a request, 100 packs are read in 2.5 s.
MAX_PARALLEL_REQUESTS = 8

_KEYS_SUFFIX = ".keys"

_Prefixes: TypeAlias = npt.NDArray[np.uint64]

# Tells how many seconds are left.
Remaining: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class PackRow:
    """Where a vector is: the pack, and the number of its row."""

    pack: PackName
    row: int


@dataclass(frozen=True, slots=True)
class _Table:
    """The first eight bytes of all keys, ascending, and where each of them is."""

    prefixes: _Prefixes = field(default_factory=lambda: np.empty(0, np.uint64))
    packs: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    rows: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    names: tuple[PackName, ...] = ()


class PackIndex:
    """Looked up by any thread while one refreshes it."""

    def __init__(self, store: ObjectStore, pack_format: PackFormat, folder: Path) -> None:
        """``folder`` holds the keys of known packs."""
        self._store = store
        self._format = pack_format
        self._folder = folder
        self._packs: dict[PackName, _Prefixes] = {}
        self._distrusted: set[PackName] = set()
        self._table = _Table()
        self._lock = threading.Lock()
        self.fetched_bytes = 0

    @property
    def packs(self) -> tuple[PackName, ...]:
        """The packs that are looked up."""
        return self._table.names

    def __len__(self) -> int:
        return len(self._table.prefixes)

    def refresh(self, remaining: Remaining) -> None:
        """Take in what others have contributed. Raises StoreUnavailable."""
        with self._lock:
            listed = {
                pack: each.size
                for each in self._store.list_objects(self._format.folder, remaining())
                if (pack := parse_pack_name(each.name))
            }
            listed = {
                pack: size
                for pack, size in listed.items()
                if size == pack.head_bytes + pack.rows * self._format.row_bytes
            }
            known = {pack: self._packs[pack] for pack in listed if pack in self._packs}
            new = [pack for pack in listed if pack not in known and pack not in self._distrusted]
            try:
                with ThreadPoolExecutor(MAX_PARALLEL_REQUESTS, "team-keys") as pool:
                    read = [pool.submit(self._read_keys, pack, remaining) for pack in new]
                for pack, keys in zip(new, read, strict=True):
                    if (prefixes := keys.result()) is not None:
                        known[pack] = prefixes
            finally:  # what was read before a failure need not be read again
                self._packs = known
                self._build_table()
            self._delete_unlisted(listed)

    def add(self, name: str, keys: Sequence[bytes]) -> None:
        """Take in a pack that was just written."""
        pack = parse_pack_name(name)
        if pack:
            with self._lock:
                self._packs[pack] = _take_prefixes(keys)
                self._build_table()

    def forget(self, pack: PackName, *, distrust: bool = False) -> None:
        """Look a pack up no more; one that is distrusted not even after it is listed again."""
        with self._lock:
            if distrust:
                self._distrusted.add(pack)
            self._packs.pop(pack, None)
            self._build_table()

    def find(self, keys: Sequence[bytes]) -> list[PackRow | None]:
        """Return where each of these keys is."""
        table = self._table
        if not len(table.prefixes):
            return [None] * len(keys)
        wanted = _take_prefixes(keys)
        places = np.searchsorted(table.prefixes, wanted).clip(max=len(table.prefixes) - 1)
        is_found = table.prefixes[places] == wanted
        return [
            PackRow(table.names[table.packs[place]], int(table.rows[place])) if found else None
            for place, found in zip(places.tolist(), is_found.tolist(), strict=True)
        ]

    def _build_table(self) -> None:
        names = tuple(self._packs)
        prefixes = np.concatenate([np.empty(0, np.uint64), *self._packs.values()])
        sizes = [len(each) for each in self._packs.values()]
        packs = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
        rows = np.concatenate(
            [np.empty(0, np.int32), *(np.arange(size, dtype=np.int32) for size in sizes)]
        )
        # Of rows with the same key those of one pack are taken: fewer requests.
        order = np.argsort(prefixes, kind="stable")
        self._table = _Table(prefixes[order], packs[order], rows[order], names)

    def _read_keys(self, pack: PackName, remaining: Remaining) -> _Prefixes | None:
        """Return the keys of a pack; None for one that is damaged or gone."""
        cached = self._folder / f"{pack.name.rpartition('/')[2]}{_KEYS_SUFFIX}"
        try:
            return _take_prefixes(self._format.parse_keys(cached.read_bytes()))
        except (OSError, PackDamaged):
            pass
        try:
            (head,) = self._store.read_ranges(pack.name, [(0, pack.head_bytes)], remaining())
            keys = self._format.parse_keys(head)
        except ObjectMissing:
            return None
        except PackDamaged as damage:
            self._distrusted.add(pack)
            logger.warning("the team's pack %s is not used: %s", pack.name, damage)
            return None
        self.fetched_bytes += len(head)
        try:
            write_bytes_atomically(cached, head)
        except StorageError as error:
            logger.info("keys of the team's vectors are not kept: %s", error)
        return _take_prefixes(keys)

    def _delete_unlisted(self, listed: Iterable[PackName]) -> None:
        names = {f"{pack.name.rpartition('/')[2]}{_KEYS_SUFFIX}" for pack in listed}
        try:
            for path in self._folder.glob(f"*{_KEYS_SUFFIX}"):
                if path.name not in names:
                    path.unlink(missing_ok=True)
        except OSError as error:
            logger.info("keys of the team's vectors are not deleted: %s", error)


def _take_prefixes(keys: Sequence[bytes]) -> _Prefixes:
    """Return the first eight bytes of each key; the proof of a row has all of them."""
    return np.frombuffer(b"".join(key[:8] for key in keys), "<u8").astype(np.uint64)
