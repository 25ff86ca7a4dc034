"""The vectors of one model that a team shares: found by their texts, contributed once embedded.

Nothing depends on it but time: a store that is away, slow or damaged costs an embedding, and is
then left alone for a while. Contributions are sent by a thread of their own, many in one pack.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codekernel.sharing.object_store import ObjectMissing, ObjectStore, StoreUnavailable
from codekernel.sharing.pack_index import MAX_PARALLEL_REQUESTS, PackIndex, Remaining
from codekernel.sharing.vector_pack import (
    MAX_PACK_ROWS,
    HalfArray,
    PackDamaged,
    PackFormat,
    PackName,
)

logger = logging.getLogger(__name__)

# How long a store that failed is left alone; doubled with each failure in a row.
MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 15.0, 600.0

# Others' contributions are noticed after so long; each look is one request.
REFRESH_INTERVAL_SECONDS = 120.0

# Rows between two wanted ones that are fetched along: a request costs more than 4 KB.
MAX_GAP_ROWS = 8

# So many rows are sent at once while a repository is embedded: 4.4 MB of 256 dimensions.
FULL_PACK_ROWS = 8_192

# Fewer rows than these wait for more, but not longer than ``MAX_WAIT_SECONDS``.
MIN_PACK_ROWS, MAX_WAIT_SECONDS = 256, 600.0

# What waits for a store that is away; more is not kept, and embedded by the next who needs it.
MAX_WAITING_ROWS = 50_000

# One's own packs of fewer rows than ``SMALL_PACK_ROWS`` are joined when there are so many.
MAX_SMALL_PACKS, SMALL_PACK_ROWS = 32, 2_048


@dataclass(slots=True)
class TeamCounts:
    """What was exchanged with the store since the start."""

    found: int = 0
    fetched_bytes: int = 0
    contributed: int = 0


class TeamVectors:
    """Used by the embed threads of all repositories."""

    def __init__(
        self,
        store: ObjectStore,
        pack_format: PackFormat,
        keys_folder: Path,
        owner: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``owner`` is who contributes; without one nothing is contributed."""
        self.counts = TeamCounts()
        self.problem = ""
        self._store = store
        self._format = pack_format
        self._owner = owner
        self._clock = clock
        self._index = PackIndex(store, pack_format, keys_folder)
        self._refresh_at = self._retry_at = -np.inf
        self._failures = self._logged_found = 0
        self._waiting: dict[bytes, bytes] = {}
        self._waiting_since = 0.0
        self._min_rows = FULL_PACK_ROWS
        self._lock = threading.Lock()
        self._sender: threading.Thread | None = None

    def find(
        self, texts: Mapping[int, str], budget_seconds: float
    ) -> tuple[npt.NDArray[np.int64], HalfArray]:
        """Return which of these texts, by their local names, have a vector, and their vectors.

        What the store has not given within the budget counts as not there.
        """
        keys = {self._format.secret.hash_text(text): name for name, text in texts.items()}
        found = self._find_rows(list(keys), self._clock() + budget_seconds)
        self.counts.found += len(found)
        names = np.array([keys[key] for key in found], np.int64)
        return names, self._format.to_array(found.values())

    def contribute(self, texts: Mapping[int, str], vectors: HalfArray) -> None:
        """Send the vectors of these texts soon, unless the team has them."""
        if not self._owner:
            return
        keys = [self._format.secret.hash_text(text) for text in texts.values()]
        places = self._index.find(keys)
        rows = map(bytes, np.ascontiguousarray(vectors, "<f2"))
        fresh = {key: row for key, row, at in zip(keys, rows, places, strict=True) if at is None}
        with self._lock:
            if not self._waiting:
                self._waiting_since = self._clock()
            room = MAX_WAITING_ROWS - len(self._waiting)
            self._waiting.update(list(fresh.items())[:room])
            is_full = len(self._waiting) >= FULL_PACK_ROWS
        if is_full:
            self._start_sending()

    def flush(self, timeout_seconds: float = 0.0, *, everything: bool = False) -> None:
        """Send what waits, if it is worth a pack; wait for that as long as given."""
        if self.counts.found != self._logged_found:
            self._logged_found = self.counts.found
            megabytes = self.counts.fetched_bytes / 1e6
            logger.info("%d vectors of the team, %.1f MB", self.counts.found, megabytes)
        with self._lock:
            is_old = self._clock() - self._waiting_since >= MAX_WAIT_SECONDS
            is_due = bool(self._waiting) and (
                everything or is_old or len(self._waiting) >= MIN_PACK_ROWS
            )
        if is_due:
            self._start_sending(min_rows=1)
        sender = self._sender
        if sender and timeout_seconds:
            sender.join(timeout_seconds)

    @property
    def waiting(self) -> int:
        """How many vectors have not been sent yet."""
        return len(self._waiting)

    def _find_rows(self, keys: list[bytes], deadline: float) -> dict[bytes, bytes]:
        if self._clock() < self._retry_at:
            return {}
        found: dict[bytes, bytes] = {}

        def remaining() -> float:
            return max(0.001, deadline - self._clock())

        try:
            for _ in range(2):
                if self._clock() >= self._refresh_at:
                    self._index.refresh(remaining)
                    self._refresh_at = self._clock() + REFRESH_INTERVAL_SECONDS
                    self._note_success()
                missing = [key for key in keys if key not in found]
                if self._fetch(missing, found, remaining):
                    break
        except StoreUnavailable as error:
            self._note_failure(error)
        self.counts.fetched_bytes += self._index.fetched_bytes
        self._index.fetched_bytes = 0
        return found

    def _fetch(self, keys: list[bytes], found: dict[bytes, bytes], remaining: Remaining) -> bool:
        """Add the rows of these keys to ``found``; false if a pack was gone."""
        wanted: dict[PackName, dict[int, bytes]] = {}
        for key, place in zip(keys, self._index.find(keys), strict=True):
            if place:
                wanted.setdefault(place.pack, {})[place.row] = key

        def read(pack: PackName) -> list[tuple[range, bytes]]:
            spans = list(_join_rows(sorted(wanted[pack])))
            size, first = self._format.row_bytes, pack.head_bytes
            ranges = [(first + size * span.start, first + size * span.stop) for span in spans]
            parts = self._store.read_ranges(pack.name, ranges, remaining())
            return list(zip(spans, parts, strict=True))

        with ThreadPoolExecutor(MAX_PARALLEL_REQUESTS, "team-rows") as pool:
            answers = {pack: pool.submit(read, pack) for pack in wanted}
        failures: list[StoreUnavailable] = []
        for pack, answer in answers.items():
            try:
                self._take_rows(pack, wanted[pack], answer.result(), found)
            except ObjectMissing:  # its owner has joined it with others
                self._index.forget(pack)
                self._refresh_at = -np.inf
            except StoreUnavailable as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return self._refresh_at > self._clock()

    def _take_rows(
        self,
        pack: PackName,
        wanted: Mapping[int, bytes],
        parts: list[tuple[range, bytes]],
        found: dict[bytes, bytes],
    ) -> None:
        """Add the rows that are what was written; a pack with another one is not used again."""
        size = self._format.row_bytes
        for span, part in parts:
            self.counts.fetched_bytes += len(part)
            for row in span:
                if row in wanted:
                    start = size * (row - span.start)
                    try:
                        key = wanted[row]
                        found[key] = self._format.parse_row(key, part[start : start + size])
                    except PackDamaged as damage:
                        logger.warning("the team's pack %s is not used: %s", pack.name, damage)
                        self._index.forget(pack, distrust=True)
                        return

    def _note_success(self) -> None:
        if self.problem:
            logger.info("the team's store answers again")
        self._failures, self.problem = 0, ""

    def _note_failure(self, error: StoreUnavailable) -> None:
        if str(error) != self.problem:
            logger.warning("%s. Texts are embedded here meanwhile.", error)
        self.problem = str(error)
        wait = min(MIN_BACKOFF_SECONDS * 2**self._failures, MAX_BACKOFF_SECONDS)
        self._failures += 1
        self._retry_at = self._clock() + wait

    def _start_sending(self, min_rows: int = FULL_PACK_ROWS) -> None:
        """Send packs of at least so many rows, on a thread that goes on with what it has begun."""
        with self._lock:
            self._min_rows = min(min_rows, self._min_rows)
            if self._clock() < self._retry_at or (self._sender and self._sender.is_alive()):
                return
            self._sender = threading.Thread(target=self._send, name="team-send", daemon=True)
            self._sender.start()

    def _send(self) -> None:
        try:
            while rows := self._take_waiting():
                self._write_pack(rows)
                self.counts.contributed += len(rows)
                with self._lock:
                    for key in rows:
                        self._waiting.pop(key, None)
            logger.info("%d vectors contributed to the team's store", self.counts.contributed)
            self._join_small_packs()
        except StoreUnavailable as error:
            self._note_failure(error)

    def _take_waiting(self) -> dict[bytes, bytes]:
        """Return the rows of the next pack; none if too few wait."""
        with self._lock:
            if len(self._waiting) < self._min_rows:
                self._min_rows = FULL_PACK_ROWS
                return {}
            return dict(list(self._waiting.items())[:FULL_PACK_ROWS])

    def _write_pack(self, rows: Mapping[bytes, bytes]) -> None:
        keys = list(rows)
        name, content = self._format.build(self._owner, keys, self._format.to_array(rows.values()))
        self._store.write(name, content)
        self._index.add(name, keys)

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
                rows.update(self._read_pack(pack))
            except (ObjectMissing, PackDamaged) as problem:
                logger.info("the team's pack %s is not joined: %s", pack.name, problem)
        items = list(rows.items())
        for start in range(0, len(items), MAX_PACK_ROWS):
            self._write_pack(dict(items[start : start + MAX_PACK_ROWS]))
        for pack in small:
            self._index.forget(pack)
            self._store.delete(pack.name)

    def _read_pack(self, pack: PackName) -> dict[bytes, bytes]:
        """Return all rows of a pack. Raises PackDamaged or StoreUnavailable."""
        content = self._store.read(pack.name)
        keys = self._format.parse_keys(content[: pack.head_bytes])
        size = self._format.row_bytes
        return {
            key: self._format.parse_row(key, content[start : start + size])
            for key, start in zip(keys, range(pack.head_bytes, len(content), size), strict=True)
        }


def _join_rows(rows: list[int]) -> Iterator[range]:
    """Yield the spans of ascending rows; a small gap is fetched along."""
    first = last = rows[0]
    for row in rows[1:]:
        if row - last > MAX_GAP_ROWS:
            yield range(first, last + 1)
            first = row
        last = row
    yield range(first, last + 1)
