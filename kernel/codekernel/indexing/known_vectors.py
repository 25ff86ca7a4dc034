"""Vectors that need not be computed: those of other indexes on this machine, and of a team."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from codekernel.sharing.team_vectors import TeamVectors
from codekernel.storage.vectors.in_memory_vectors import AnyFloatArray, Int64Array
from codekernel.storage.vectors.lance_table import HalfArray
from codekernel.storage.vectors.shared_vectors import SharedVectors

# Asking the team's store may take so many times as long as embedding is known to take, and at
# least as long as a slow store needs for two answers.
MAX_LOOKUP_RATIO, MIN_LOOKUP_SECONDS, DEFAULT_LOOKUP_SECONDS = 1.0, 1.5, 5.0

# Model fingerprint and dimensions -> the team's vectors, if there are any.
GetTeamVectors: TypeAlias = Callable[[str, int], TeamVectors | None]

FoundVectors: TypeAlias = tuple[Int64Array, AnyFloatArray]


class KnownVectors:
    """The vectors of one model that are known elsewhere; used by the thread that embeds."""

    def __init__(
        self,
        shared: SharedVectors | None,
        find_team: Callable[[], TeamVectors | None],
        source: str,
        *,
        is_quick: bool = False,
    ) -> None:
        """``source`` names the index whose own vectors are shared.

        ``is_quick``: the model computes vectors so quickly that its speed is measured first.
        """
        self._is_quick = is_quick
        self._shared = shared
        self._find_team = find_team
        self._source = source

    def find_shared(self, texts: dict[int, str], *, is_first: bool) -> FoundVectors | None:
        """Return what was embedded for any index before; ``is_first``: this one has nothing yet."""
        if self._shared is None:
            return None
        if is_first:  # everything will be shared when it is embedded
            self._shared.copy_once(self._source, lambda: iter(()))
        return self._shared.find(np.fromiter(texts, dtype=np.int64))

    def find_in_team(
        self, texts: dict[int, str], chunks_per_second: float | None
    ) -> FoundVectors | None:
        """Return what the team has embedded, unless embedding is faster."""
        team, rate = self._find_team() if texts else None, chunks_per_second
        if team is None:
            return None
        if rate:
            team.speed.note_computed(rate)
        elif self._is_quick and not team.speed.known.computed:
            return None
        if not team.speed.known.is_fetching_quicker:
            return None
        wait = len(texts) / rate * MAX_LOOKUP_RATIO if rate else DEFAULT_LOOKUP_SECONDS
        return team.find(texts, max(MIN_LOOKUP_SECONDS, wait))

    def share(self, keys: Int64Array, vectors: AnyFloatArray) -> None:
        """Give vectors to the other indexes of this machine."""
        if self._shared:
            self._shared.add(keys, vectors)

    def contribute(self, texts: dict[int, str], vectors: HalfArray) -> None:
        """Give vectors that were computed here to the team."""
        if team := self._find_team():
            team.contribute(texts, vectors)

    def save(self) -> None:
        """Send the team what has not been sent yet."""
        if team := self._find_team():
            team.save()

    def copy_once(self, read_rows: Callable[[], Iterator[tuple[Int64Array, HalfArray]]]) -> None:
        """Share the vectors of an index that is older than what is shared."""
        if self._shared:
            self._shared.copy_once(self._source, read_rows)

    def close(self) -> None:
        """Close what is shared; the next use opens it again."""
        if self._shared:
            self._shared.close()
