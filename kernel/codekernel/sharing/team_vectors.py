"""The vectors of one model that a team shares: found by their texts, contributed once embedded.

Nothing depends on it but time: a store that is away, slow or damaged costs an embedding, and is
then left alone for a while.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codekernel.sharing.contributions import Contributions, PackOutbox
from codekernel.sharing.object_store import ObjectMissing, ObjectStore, StoreUnavailable
from codekernel.sharing.pack_index import MAX_PARALLEL_REQUESTS, PackIndex, Remaining
from codekernel.sharing.store_backoff import StoreBackoff
from codekernel.sharing.vector_pack import HalfArray, PackDamaged, PackFormat, PackName
from codekernel.sharing.vector_speeds import MeasuredSpeed

logger = logging.getLogger(__name__)

# In userData/sharing.
OUTBOX_FOLDER = "outbox"

# Others' contributions are noticed after so long; each look is one request.
REFRESH_INTERVAL_SECONDS = 120.0

# Rows between two wanted ones that are fetched along: a request costs more than 4 KB.
MAX_GAP_ROWS = 8


@dataclass(slots=True)
class TeamCounts:
    """What was exchanged with the store since the start."""

    found: int = 0
    fetched_bytes: int = 0


class TeamVectors:
    """Used by the embed threads of all repositories."""

    def __init__(
        self,
        store: ObjectStore,
        pack_format: PackFormat,
        folder: Path,
        owner: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``folder`` is for what is known of stores; ``owner`` is who contributes, if anybody."""
        self.counts = TeamCounts()
        self.speed = MeasuredSpeed(folder, pack_format.model[:16])
        self._store = store
        self._format = pack_format
        self._clock = clock
        keys_folder = folder / f"{pack_format.secret.tag}-{pack_format.model[:16]}"
        self._index = PackIndex(store, pack_format, keys_folder)
        self._backoff = StoreBackoff(clock)
        self.contributions = (
            Contributions(
                store,
                pack_format,
                index=self._index,
                backoff=self._backoff,
                outbox=PackOutbox(folder / OUTBOX_FOLDER),
                owner=owner,
            )
            if owner
            else None
        )
        self._refresh_at = -np.inf
        self._logged_found = 0

    @property
    def problem(self) -> str:
        """Why the store is left alone; empty while it answers."""
        return self._backoff.problem

    def find(
        self, texts: Mapping[int, str], budget_seconds: float
    ) -> tuple[npt.NDArray[np.int64], HalfArray]:
        """Return which of these texts, by their local names, have a vector, and their vectors.

        What the store has not given within the budget counts as not there.
        """
        began = self._clock()
        keys = {self._format.secret.hash_text(text): name for name, text in texts.items()}
        found = self._find_rows(list(keys), began + budget_seconds)
        self.speed.note_fetched(len(found), self._clock() - began)
        self.counts.found += len(found)
        names = np.array([keys[key] for key in found], np.int64)
        return names, self._format.to_array(found.values())

    def contribute(self, texts: Mapping[int, str], vectors: HalfArray) -> None:
        """Contribute the vectors of these texts, if that is asked for, unless the team has them."""
        if self.contributions:
            keys = map(self._format.secret.hash_text, texts.values())
            rows = map(bytes, np.ascontiguousarray(vectors, "<f2"))
            self.contributions.add(dict(zip(keys, rows, strict=True)))

    def save(self) -> None:
        """Save what was contributed, to be sent soon; called when everything is embedded."""
        self.speed.save()
        if self.counts.found != self._logged_found:
            self._logged_found = self.counts.found
            megabytes = self.counts.fetched_bytes / 1e6
            logger.info("%d vectors of the team, %.1f MB", self.counts.found, megabytes)
        if self.contributions:
            self.contributions.save()
            self.contributions.send()

    def _find_rows(self, keys: list[bytes], deadline: float) -> dict[bytes, bytes]:
        if not self._backoff.is_over:
            return {}
        found: dict[bytes, bytes] = {}

        def remaining() -> float:
            return max(0.001, deadline - self._clock())

        try:
            for _ in range(2):
                if self._clock() >= self._refresh_at:
                    self._index.refresh(remaining)
                    self._refresh_at = self._clock() + REFRESH_INTERVAL_SECONDS
                    self._backoff.note_success()
                missing = [key for key in keys if key not in found]
                if self._fetch(missing, found, remaining):
                    break
        except StoreUnavailable as error:
            self._backoff.note_failure(error)
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


def _join_rows(rows: list[int]) -> Iterator[range]:
    """Yield the spans of ascending rows; a small gap is fetched along."""
    first = last = rows[0]
    for row in rows[1:]:
        if row - last > MAX_GAP_ROWS:
            yield range(first, last + 1)
            first = row
        last = row
    yield range(first, last + 1)
