"""What this machine contributes to its team: kept on disk until the store has it.

Vectors that were embedded are collected, saved as packs in an outbox in userData, and sent from
there by a thread of their own; a process that ends leaves the rest to the next one. A file of the
outbox lies under the name that it will have in the store.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.sharing.object_store import ObjectMissing, ObjectStore, StoreUnavailable
from codekernel.sharing.pack_index import PackIndex
from codekernel.sharing.store_backoff import StoreBackoff
from codekernel.sharing.vector_pack import (
    MAX_PACK_ROWS,
    PackDamaged,
    PackFormat,
    PackName,
    parse_pack_name,
)
from codekernel.storage.safe_files import write_bytes_atomically

logger = logging.getLogger(__name__)

# So many rows are sent at once while a repository is embedded: 4.4 MB of 256 dimensions.
FULL_PACK_ROWS = 8_192

# Fewer rows than these wait for more, but not longer than ``MAX_WAIT_SECONDS``.
MIN_PACK_ROWS, MAX_WAIT_SECONDS = 256, 600.0

# What waits for a store that is away; more is not kept, and embedded by the next who needs it.
MAX_WAITING_ROWS = 200_000  # 107 MB of 256 dimensions

# One's own packs of fewer rows than ``SMALL_PACK_ROWS`` are joined when there are so many.
MAX_SMALL_PACKS, SMALL_PACK_ROWS = 32, 2_048


class PackOutbox:
    """Packs that the store does not have yet, of all models."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, content: bytes) -> None:
        """Keep a pack. Raises StorageError."""
        write_bytes_atomically(self._folder / name, content)

    def list_packs(self, prefix: str = "") -> list[tuple[PackName, float]]:
        """Return the packs whose names begin so, and when each was saved, oldest first."""
        found = []
        for path in self._folder.glob(f"{prefix}**/*.pack"):
            name = path.relative_to(self._folder).as_posix()
            try:
                saved_at = path.stat().st_mtime
            except OSError:  # another process has sent it
                continue
            if pack := parse_pack_name(name):
                found.append((pack, saved_at))
        return sorted(found, key=lambda each: each[1])

    def read(self, pack: PackName) -> bytes | None:
        """Return a pack; None if another process has sent it."""
        try:
            return (self._folder / pack.name).read_bytes()
        except OSError:
            return None

    def remove(self, pack: PackName) -> None:
        """Forget a pack."""
        try:
            (self._folder / pack.name).unlink(missing_ok=True)
        except OSError as error:
            logger.info("%s is sent, and cannot be deleted: %s", pack.name, error)

    def send_all(self, store: ObjectStore) -> int:
        """Send every pack, as it is; return how many vectors. Raises StoreUnavailable."""
        sent = 0
        for pack, _ in self.list_packs():
            if (content := self.read(pack)) is not None:
                store.write(pack.name, content)
                self.remove(pack)
                sent += pack.rows
        return sent


class Contributions:
    """The contributions of one model; used by the embed threads of all repositories."""

    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        store: ObjectStore,
        pack_format: PackFormat,
        *,
        index: PackIndex,
        backoff: StoreBackoff,
        outbox: PackOutbox,
        owner: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.sent = 0
        self._store = store
        self._format = pack_format
        self._index = index
        self._backoff = backoff
        self._outbox = outbox
        self._owner = owner
        self._clock = clock
        self._unsaved: dict[bytes, bytes] = {}
        self._lock = threading.Lock()
        self._sender: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many vectors have not been sent yet."""
        saved = sum(pack.rows for pack, _ in self._outbox.list_packs(self._format.folder))
        return saved + len(self._unsaved)

    def add(self, rows: Mapping[bytes, bytes]) -> None:
        """Contribute these rows, by their keys, unless the team has them."""
        keys = list(rows)
        places = self._index.find(keys)
        with self._lock:
            self._unsaved |= {
                key: rows[key] for key, place in zip(keys, places, strict=True) if place is None
            }
            is_full = len(self._unsaved) >= FULL_PACK_ROWS
        if is_full:
            self.save()
            self.send()

    def save(self) -> None:
        """Put what was added into the outbox, where the end of the process does not matter."""
        with self._lock:
            rows, self._unsaved = self._unsaved, {}
            if not rows or self.waiting > MAX_WAITING_ROWS:
                return
            try:
                for part in _split(rows, FULL_PACK_ROWS):
                    self._outbox.add(*self._build(part))
            except StorageError as error:
                logger.info("%d vectors are not contributed: %s", len(rows), error)

    def send(self, timeout_seconds: float = 0.0) -> None:
        """Send what is worth a pack, on a thread; wait for that as long as given."""
        with self._lock:
            sender = self._sender
            if self._backoff.is_over and not (sender and sender.is_alive()):
                sender = threading.Thread(target=self._send, name="team-send", daemon=True)
                self._sender = sender
                sender.start()
        if sender and timeout_seconds:
            sender.join(timeout_seconds)

    def _send(self) -> None:
        before = self.sent
        try:
            for packs in self._list_due():
                self._send_packs(packs)
            self._join_small_packs()
        except StoreUnavailable as error:
            self._backoff.note_failure(error)
        if self.sent > before:
            logger.info("%d vectors contributed to the team's store", self.sent - before)

    def _list_due(self) -> Iterator[list[PackName]]:
        """Yield large packs each alone, and small ones together, if there are enough."""
        small: list[PackName] = []
        oldest = self._clock()
        for pack, saved_at in self._outbox.list_packs(self._format.folder):
            if pack.rows >= MIN_PACK_ROWS:
                yield [pack]
            elif sum(each.rows for each in small) < FULL_PACK_ROWS - MIN_PACK_ROWS:
                small.append(pack)
                oldest = min(oldest, saved_at)
        is_old = self._clock() - oldest >= MAX_WAIT_SECONDS
        if small and (is_old or sum(pack.rows for pack in small) >= MIN_PACK_ROWS):
            yield small

    def _send_packs(self, packs: list[PackName]) -> None:
        """Send packs of the outbox as one."""
        rows: dict[bytes, bytes] = {}
        for pack in packs:
            if (content := self._outbox.read(pack)) is not None:
                try:
                    rows |= self._parse(pack, content)
                except PackDamaged as damage:
                    logger.info("%s is not sent: %s", pack.name, damage)
        if rows:
            self._write(rows)
            self.sent += len(rows)
        for pack in packs:
            self._outbox.remove(pack)

    def _write(self, rows: Mapping[bytes, bytes]) -> None:
        name, content = self._build(rows)
        self._store.write(name, content)
        self._index.add(name, list(rows))

    def _build(self, rows: Mapping[bytes, bytes]) -> tuple[str, bytes]:
        return self._format.build(self._owner, list(rows), self._format.to_array(rows.values()))

    def _parse(self, pack: PackName, content: bytes) -> dict[bytes, bytes]:
        """Return all rows of a pack. Raises PackDamaged."""
        keys = self._format.parse_keys(content[: pack.head_bytes])
        size = self._format.row_bytes
        return {
            key: self._format.parse_row(key, content[start : start + size])
            for row, key in enumerate(keys)
            for start in (pack.head_bytes + size * row,)
        }

    def _join_small_packs(self) -> None:
        """Replace many small packs of one's own by few; others find them under the new names."""
        small = [
            pack
            for pack in self._index.packs
            if pack.owner == self._owner and pack.rows < SMALL_PACK_ROWS
        ]
        if len(small) < MAX_SMALL_PACKS:
            return
        rows: dict[bytes, bytes] = {}
        for pack in small:
            try:
                rows |= self._parse(pack, self._store.read(pack.name))
            except (ObjectMissing, PackDamaged) as problem:
                logger.info("the team's pack %s is not joined: %s", pack.name, problem)
        for part in _split(rows, MAX_PACK_ROWS):
            self._write(part)
        for pack in small:
            self._index.forget(pack)
            self._store.delete(pack.name)


def _split(rows: Mapping[bytes, bytes], size: int) -> Iterator[dict[bytes, bytes]]:
    items = list(rows.items())
    for start in range(0, len(items), size):
        yield dict(items[start : start + size])
