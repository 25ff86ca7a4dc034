"""One embedding config at work on one repository: its model, its vectors, and what still waits."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import numpy as np

from kernel.domain.cancel import CancelToken
from kernel.domain.chunk import embedded_text
from kernel.domain.closing import Closing
from kernel.domain.courtesy import Courtesy
from kernel.domain.index_status import ConfigStatus
from kernel.domain.settings import Performance
from kernel.errors import Cancelled
from kernel.indexing.arm import Arm, Step
from kernel.indexing.plan import ConfigPlan
from kernel.inference.embedder import Embedder
from kernel.inference.shelf import Shelf
from kernel.inference.short_texts import ShortTexts
from kernel.storage.index_store import IndexStore
from kernel.storage.vector_keys import each_once
from kernel.storage.vector_table import VectorTable

logger = logging.getLogger(__name__)

# Texts embedded between two looks at what is more urgent: as many as take about this long, so that
# a slow model is asked for few and a fast one is not held up by commits.
GROUP_SECONDS = 0.4
FIRST_GROUP, SMALLEST_GROUP, LARGEST_GROUP = 128, 32, 4096
# How fast the group may grow while the speed of a model is still being learnt.
GROWTH = 8
# Vectors of texts that no file holds any more are kept for a branch that comes back, up to as many
# as there are texts in use, and never fewer than these.
SPARE_VECTORS = 10_000


class VectorArm:
    """Opened, stepped and closed by one thread; searched by any."""

    def __init__(
        self,
        config: ConfigPlan,
        performance: Performance,
        shelf: Shelf,
        store: IndexStore,
        courtesy: Courtesy,
    ) -> None:
        """Load the model and open its vectors; raises InvalidModel or StorageError."""
        self.config = config
        self.performance = performance
        self.heirs: tuple[Arm, ...] = ()
        self._store = store
        self._courtesy = courtesy
        self._waiting: deque[int] = deque()
        self._queued: set[int] = set()
        self._group = FIRST_GROUP
        self._per_second: float | None = None
        with ExitStack() as opening:
            self.embedder: Embedder = opening.enter_context(
                shelf.embedder(config.model, performance)
            )
            self.folder_name = f"{self.embedder.folder.fingerprint[:16]}-{config.input_length}"
            self._place = store.vectors_folder(self.folder_name)
            self.table = VectorTable.open(self._place, self.embedder.dimensions)
            opening.callback(self._close_table)
            self._let_go = opening.pop_all()
        self._closing = Closing()
        self._short_texts = ShortTexts(self.embedder)

    @property
    def waits(self) -> bool:
        """Whether a file still needs vectors."""
        return bool(self._waiting)

    def close(self) -> None:
        """Let the model and the vectors go; searches under way end first."""
        self._closing.close()
        self._let_go.close()

    def push(self, file_ids: Iterable[int]) -> None:
        """Files whose texts may need vectors."""
        for file_id in file_ids:
            if file_id not in self._queued:
                self._queued.add(file_id)
                self._waiting.append(file_id)

    def reopen(self) -> None:
        """Open the vectors anew, because they are damaged; searches go on in the old ones."""
        self.table = VectorTable.open(self._place, self.embedder.dimensions)

    def catch_up(self) -> list[int]:
        """Find and queue the files that lack vectors, after a start or a change of settings."""
        if not len(self.table.missing(self._store.catalogue.every_key())):
            return []
        owners, keys = self._store.catalogue.keys(self.config.input_length)
        missing = self.table.missing(keys)
        files: list[int] = np.unique(owners[np.isin(keys, missing)]).tolist()
        if len(missing):
            logger.info("%s: %d of %d texts to embed", self.config.name, len(missing), len(keys))
        self.push(files)
        return files

    def step(self, cancel: CancelToken) -> Step:
        """Embed the next group of texts; raises Cancelled within a moment of it."""
        texts: dict[int, str] = {}
        finished: list[int] = []
        partly: tuple[int, float] | None = None
        while self._waiting and len(texts) < self._group and not partly and not cancel.cancelled:
            self._courtesy.let_pass()
            file_id = self._waiting[0]
            lacking = self._lacking(file_id, texts)
            room = self._group - len(texts)
            texts.update(lacking[:room])
            if len(lacking) > room:
                partly = (file_id, room / len(lacking))
            else:
                self._queued.discard(self._waiting.popleft())
                finished.append(file_id)
        try:
            self._embed(texts, cancel)
        except BaseException:
            self.push(finished)  # nothing of this group was kept
            raise
        return Step(tuple(finished), partly)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first; none once it is closed."""
        with self._closing.using() as is_open:
            if not is_open:
                return []
            keys, similarities = self.table.search(self.embedder.embed_query(query), k)
        return list(zip(keys.tolist(), similarities.tolist(), strict=True))

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosines of a query and short texts; nothing if the model is slow, or closed."""
        with self._closing.using() as is_open:
            return self._short_texts.likeness(query, texts) if is_open else []

    def lacks(self, key: int, input_length: int) -> bool:
        """Whether a text of that cut is still to be embedded; other cuts are not this config's."""
        if input_length != self.config.input_length:
            return any(heir.lacks(key, input_length) for heir in self.heirs)
        with self._closing.using() as is_open:
            return is_open and len(self.table.missing(np.array([key]))) > 0

    def tidy(self) -> bool:
        """Drop vectors that are long unused and join what many small additions left; true if so."""
        self._store.close_to_others()
        in_use = self._store.catalogue.text_count()
        if len(self.table) - in_use > max(SPARE_VECTORS, in_use):
            logger.info("%s: dropping unused vectors", self.config.name)
            _, keys = self._store.catalogue.keys(self.config.input_length)
            self.table.keep(each_once(keys))
            self.table.compact()
            return True
        if self.table.wants_compaction:
            self.table.compact()
            return True
        return False

    def status(self, chunks: int, files: int) -> ConfigStatus:
        """How far this config is; ``chunks`` and ``files`` are those of the repository."""
        waiting = round(len(self._waiting) * chunks / files) if files else 0
        rate = self._per_second
        with self._closing.using() as is_open:
            embedded = len(self.table) if is_open else 0
        return ConfigStatus(
            name=self.config.name,
            ready=True,
            chunks=embedded,
            waiting=waiting,
            chunks_per_second=rate,
            seconds_left=waiting / rate if rate else None,
        )

    def _close_table(self) -> None:
        self.table.close()

    def _lacking(self, file_id: int, taken: dict[int, str]) -> list[tuple[int, str]]:
        """The texts of a file that have no vector yet and are not in this group already."""
        chunks = self._store.catalogue.chunks_of(file_id, self.config.input_length)
        keys = np.array([chunk.key for chunk in chunks], dtype=np.int64)
        missing = set(self.table.missing(keys).tolist()) - taken.keys()
        if not missing:
            return []
        text = self._store.catalogue.document(file_id)
        lacking = {
            chunk.key: embedded_text(chunk.chunk.symbols, text[chunk.chunk.begin : chunk.chunk.end])
            for chunk in chunks
            if chunk.key in missing
        }
        return list(lacking.items())

    def _embed(self, texts: dict[int, str], cancel: CancelToken) -> None:
        if not texts:
            return
        if cancel.cancelled:
            raise Cancelled("embedding was stopped")
        started = time.monotonic()
        vectors = self.embedder.embed_documents(list(texts.values()), cancel)
        self.table.add(np.fromiter(texts, dtype=np.int64), vectors)
        self._learn_speed(len(texts), time.monotonic() - started)

    def _learn_speed(self, texts: int, seconds: float) -> None:
        rate = texts / max(seconds, 1e-6)
        known = self._per_second
        self._per_second = rate if known is None else 0.7 * known + 0.3 * rate
        wanted = min(int(rate * GROUP_SECONDS), self._group * GROWTH)
        self._group = max(SMALLEST_GROUP, min(LARGEST_GROUP, wanted))
