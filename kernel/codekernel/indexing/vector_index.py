"""The vector index of one embedding config on one repository.

Its model, its vectors, and the queue of files still to embed, in batches sized by the measured
speed. Heavy to import.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, CloseGuard
from codekernel.domain.index import EmbeddingConfigStatus, build_embedding_text
from codekernel.domain.settings import Performance, RemoteModel
from codekernel.errors import Cancelled, InvalidModel
from codekernel.indexing.index_plan import BatchSizes, ConfigPlan
from codekernel.indexing.index_state import EmbedStep
from codekernel.indexing.known_vectors import FoundVectors, GetTeamVectors, KnownVectors
from codekernel.indexing.seed_trial import are_vectors_true
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.storage.index_store import IndexStore
from codekernel.storage.vectors.in_memory_vectors import (
    Int64Array,
    round_rows,
    sort_unique,
)
from codekernel.storage.vectors.shared_vectors import SharedVectors
from codekernel.storage.vectors.vector_seed import has_seed, remove_seed
from codekernel.storage.vectors.vector_table import VectorTable

if TYPE_CHECKING:  # a quarter of a second, for remote models alone
    from codekernel.indexing.remote_indexing import RemoteIndexing
    from codekernel.remote.remote_embedder import RemoteEmbedder

logger = logging.getLogger(__name__)

# Vectors of texts that are in no file any more are kept for a branch that comes back, up to as
# many as there are texts in use, and never fewer than these.
MIN_SPARE_VECTORS = 10_000

# A model is heard as contextual while fewer files wait for it than this share of its vectors: until
# then what is nearest may be what happened to come first.
MAX_WAITING_SHARE = 0.1

# How fast the batch may grow while the speed of a model is still being measured.
MAX_BATCH_GROWTH = 8

# If no larger share of a batch had to be embedded, the next one is larger.
MAX_MISSING_SHARE = 0.1

# What the newest batch weighs in the speed that is reported.
NEWEST_WEIGHT = 0.3

# A remote model and what is known of sending this repository to it.
OpenRemoteModel: TypeAlias = (
    "Callable[[RemoteModel], AbstractContextManager[RemoteIndexing]] | None"
)


class BatchSizer:
    """The size of the next batch of one model; used by one thread."""

    def __init__(self, limits: BatchSizes) -> None:
        self._limits = limits
        self.embedded_texts = self._looked_up_texts = limits.initial
        self.chunks_per_second: float | None = None

    @property
    def read_texts(self) -> int:
        """How many texts to read for the next batch, of which some may have vectors already."""
        return max(self.embedded_texts, self._looked_up_texts)

    def record_lookup(self, asked: int, missing: int) -> None:
        """Record how many of the texts that were looked up had no vector.

        Finding takes a fraction of the time of embedding: then more is looked up at once.
        """
        is_found = missing <= asked * MAX_MISSING_SHARE
        self._looked_up_texts = (
            min(self._limits.largest, asked * MAX_BATCH_GROWTH) if is_found else 0
        )

    def record_embedding(self, texts: int, seconds: float) -> None:
        """Record how long a batch took; the next one takes as long as the limits say."""
        rate = texts / max(seconds, 1e-6)
        known = self.chunks_per_second
        self.chunks_per_second = (
            rate if known is None else (1 - NEWEST_WEIGHT) * known + NEWEST_WEIGHT * rate
        )
        size = min(int(rate * self._limits.target_seconds), self.embedded_texts * MAX_BATCH_GROWTH)
        self.embedded_texts = max(self._limits.smallest, min(self._limits.largest, size))


class VectorIndex:
    """Opened, filled and closed by one thread; searched by any."""

    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        config: ConfigPlan,
        performance: Performance,
        model_pool: ModelPool,
        store: IndexStore,
        throttle: BackgroundThrottle,
        *,
        get_team_vectors: GetTeamVectors = lambda _model, _dimensions: None,
        open_remote: OpenRemoteModel = None,
    ) -> None:
        """Load the model and open its vectors. Raises InvalidModel, StorageError, NetworkError."""
        self.config = config
        self.performance = performance
        # Those that replace it, while it answers searches only until they are complete.
        self.successors: tuple[VectorIndex, ...] = ()
        self._store = store
        self._throttle = throttle
        self._pending: OrderedDict[int, None] = OrderedDict()
        self._embedding_count = 0  # files that left the queue, and whose vectors are not stored yet
        self._sizer = BatchSizer(config.batch_sizes)
        # Answers instead of a remote model that is away.
        self.standby: VectorIndex | None = None
        with ExitStack() as opening:
            self.embedder: Embedder | RemoteEmbedder
            local: Embedder | None = None
            self.remote: RemoteIndexing | None = None
            if isinstance(config.model, RemoteModel):
                if open_remote is None:
                    raise InvalidModel(
                        f"{config.model.name} is remote, and nothing is sent from here"
                    )
                self.remote = opening.enter_context(open_remote(config.model))
                self.embedder = self.remote.embedder
            else:
                self.embedder = local = opening.enter_context(
                    model_pool.acquire_embedder(config.model, performance)
                )
            # Of a remote model it is not known, and its standby may answer for it.
            self._has_contextual_model = bool(local and local.folder.is_contextual)
            model = self.embedder.fingerprint[:16]
            self.name = f"{model}-{config.max_chunk_chars}"
            self._folder = store.vectors_folder(self.name)
            self.table = self._open_table(local)
            self._model = opening.pop_all()
        shared = store.shared_vectors_file(model)
        self._known = KnownVectors(
            SharedVectors(shared, self.embedder.dimensions) if shared else None,
            lambda: get_team_vectors(self.embedder.fingerprint, self.embedder.dimensions),
            f"{store.folder.name}/{self.name}",
            is_quick=self.remote is None and not self._has_contextual_model,
        )
        self.embedded_count = 0  # since it was opened
        self._embedded_count = self._adopted_count = 0
        self._close_guard = CloseGuard()

    @property
    def is_contextual(self) -> bool:
        """Whether its model is contextual and has read nearly everything."""
        if not self._has_contextual_model:
            return False
        waiting = len(self._pending) + self._embedding_count
        with self._close_guard.use() as is_open:
            return is_open and waiting < MAX_WAITING_SHARE * len(self.table)

    @property
    def has_pending_files(self) -> bool:
        """Whether a file still needs vectors."""
        return bool(self._pending)

    @property
    def is_waiting(self) -> bool:
        """Whether its endpoint is away, or may not be sent anything."""
        return bool(self.remote and self.remote.problem)

    @property
    def can_embed(self) -> bool:
        """Whether a file needs vectors that can be made now."""
        return bool(self._pending) and (self.remote is None or self.remote.can_embed)

    def close(self) -> None:
        """Close the model and the vectors; waits for running searches."""
        self._close_guard.close()
        self._log_counts()
        self._known.save()
        self._known.close()
        self.table.close()
        self._model.close()

    def enqueue_files(self, file_ids: Iterable[int]) -> None:
        """Queue files whose texts may need vectors."""
        self._pending.update(dict.fromkeys(file_ids))

    def reopen(self) -> None:
        """Open the vectors again, because they are damaged; running searches use the old ones."""
        self.table = VectorTable.open(self._folder, self.embedder.dimensions)

    def _open_table(self, local: Embedder | None) -> VectorTable:
        """Open the vectors; those of a team mate are tried first, and nothing is sent for that."""
        table = VectorTable.open(self._folder, self.embedder.dimensions)
        size = self.config.max_chunk_chars
        if has_seed(self._folder) and not (
            local and are_vectors_true(table, local, self._store.catalog, size)
        ):
            logger.warning("%s: the team's vectors differ from those made here", self.config.name)
            remove_seed(self._folder)
            table = VectorTable.open(self._folder, self.embedder.dimensions)
            table.repair_message = (
                f"The vectors of {self.config.name} in your team's index are not those that this"
                " machine makes; they are made again here."
            )
        return table

    def enqueue_missing(self) -> list[int]:
        """Find and queue the files that lack vectors, after a start or a change of settings."""
        if not len(self.table.find_missing(self._store.catalog.read_all_keys())):
            return []
        owners, keys = self._read_chunk_keys()
        missing = self.table.find_missing(keys)
        files: list[int] = np.unique(owners[np.isin(keys, missing)]).tolist()
        if len(missing):
            logger.info("%s: %d of %d texts to embed", self.config.name, len(missing), len(keys))
        self.enqueue_files(files)
        return files

    def embed_batch(self, cancel: CancelToken) -> EmbedStep:
        """Embed the next batch of texts. Raises Cancelled."""
        texts: dict[int, str] = {}
        finished: list[int] = []
        partial: tuple[int, float] | None = None
        size = self._sizer.read_texts
        while self._pending and len(texts) < size and not partial and not cancel.is_cancelled:
            self._throttle.yield_to_queries()
            file_id = next(iter(self._pending))
            missing = self._list_missing_texts(file_id, texts)
            room = size - len(texts)
            texts.update(missing[:room])
            if len(missing) > room:
                partial = (file_id, room / len(missing))
            else:
                self._embedding_count += 1
                del self._pending[file_id]
                finished.append(file_id)
        try:
            self._embed_texts(texts, cancel)
        except BaseException as error:
            self.enqueue_files(finished)  # nothing of this batch was stored
            if self.remote and self.remote.is_change_of_model(error):
                raise Cancelled(str(error)) from error
            raise
        finally:
            self._embedding_count = 0
        if self.remote and texts:
            self.remote.notice_success()
        if not self._pending:
            self._known.save()  # before the index counts as complete
        return EmbedStep(tuple(finished), partial)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return keys and similarity of the nearest texts, best first; none once it is closed."""
        with self._close_guard.use() as is_open:
            if not is_open:
                return []
            vector = (self.remote or self.embedder).embed_query(query)
            if vector is not None:
                keys, similarities = self.table.search(vector, k)
                return list(zip(keys.tolist(), similarities.tolist(), strict=True))
        return self.standby.search(query, k) if self.standby else []

    def count_missing(self) -> tuple[int, int]:
        """Count the texts without a vector, and about how many characters they have."""
        keys, lengths = self._store.catalog.read_text_lengths(self.config.max_chunk_chars)
        found, places = np.unique(np.asarray(keys), return_index=True)
        is_missing = np.isin(found, self.table.find_missing(found))
        return int(is_missing.sum()), int(np.asarray(lengths)[places][is_missing].sum())

    def measure_embedding(self, texts: Sequence[str]) -> float:
        """Return how many seconds the model takes for these texts; nothing is stored."""
        with self._close_guard.use() as is_open:
            started = time.perf_counter()
            if is_open:
                self.embedder.embed_documents(texts, CancelToken())
            return time.perf_counter() - started

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Return whether a text of its own chunk size, or of a successor's, lacks its vector."""
        if max_chunk_chars != self.config.max_chunk_chars:
            return any(next_.is_missing(text_hash, max_chunk_chars) for next_ in self.successors)
        with self._close_guard.use() as is_open:
            return is_open and len(self.table.find_missing(np.array([text_hash]))) > 0

    def compact(self) -> None:
        """Delete vectors that are long unused and join what many small additions left."""
        self._log_counts()
        self._known.save()
        self._store.restrict_to_owner()
        in_use = self._store.catalog.count_texts()
        if has_spare := len(self.table) - in_use > max(MIN_SPARE_VECTORS, in_use):
            logger.info("%s: deleting unused vectors", self.config.name)
            _, keys = self._read_chunk_keys()
            self.table.delete_except(sort_unique(keys))
        if has_spare or self.table.needs_compaction:
            self.table.compact()
        self.table.save_snapshot()
        self._known.copy_once(self.table.iterate_stored_rows)
        self._known.close()  # nothing is embedded for a while

    def get_status(self, chunks: int, files: int, arriving: int = 0) -> EmbeddingConfigStatus:
        """Return the config's progress; ``chunks`` and ``files`` are those of the repository.

        ``arriving``: files that are not queued yet.
        """
        unstored = len(self._pending) + self._embedding_count + arriving
        waiting = max(1, round(unstored * chunks / files)) if unstored and files else 0
        rate = self._sizer.chunks_per_second
        with self._close_guard.use() as is_open:
            embedded = len(self.table) if is_open else 0
        return EmbeddingConfigStatus(
            name=self.config.name,
            ready=True,
            chunks=embedded,
            waiting=waiting,
            chunks_per_second=rate,
            seconds_left=waiting / rate if rate else None,
            trouble=self.remote.problem if self.remote and waiting else "",
        )

    def _read_chunk_keys(self) -> tuple[Int64Array, Int64Array]:
        files, keys = self._store.catalog.read_chunk_keys(self.config.max_chunk_chars)
        return np.asarray(files), np.asarray(keys)

    def _list_missing_texts(self, file_id: int, batch: dict[int, str]) -> list[tuple[int, str]]:
        """Return hash and text of a file's chunks that have no vector and are not in the batch."""
        spans = self._store.catalog.list_chunk_spans(file_id, self.config.max_chunk_chars)
        keys = np.array([key for key, *_ in spans], dtype=np.int64)
        missing = set(self.table.find_missing(keys).tolist()) - batch.keys()
        if not missing:
            return []
        text = self._store.catalog.read_document(file_id)
        texts = {
            key: build_embedding_text(symbols, text[begin:end])
            for key, begin, end, symbols in spans
            if key in missing
        }
        return list(texts.items())

    def _embed_texts(self, texts: dict[int, str], cancel: CancelToken) -> None:
        if not texts:
            return
        if cancel.is_cancelled:
            raise Cancelled("embedding was stopped")
        asked = len(texts)
        self._adopt(self._known.find_shared(texts, is_first=not len(self.table)), texts)
        found = self._known.find_in_team(texts, self._sizer.chunks_per_second)
        if self._adopt(found, texts) and found:
            self._known.share(*found)
        self._sizer.record_lookup(asked, len(texts))
        entries = list(texts.items())
        while entries:
            batch = dict(entries[: self._sizer.embedded_texts])
            del entries[: len(batch)]
            if self.remote:
                self.remote.require_consent()
            started = time.monotonic()
            vectors = round_rows(self.embedder.embed_documents(list(batch.values()), cancel))
            keys = np.fromiter(batch, dtype=np.int64)
            self.table.add(keys, vectors)
            self._known.share(keys, vectors)
            self._embedded_count += len(batch)
            self.embedded_count += len(batch)
            self._sizer.record_embedding(len(batch), time.monotonic() - started)
            self._known.contribute(batch, vectors)

    def _adopt(self, found: FoundVectors | None, texts: dict[int, str]) -> bool:
        """Add vectors that are known; ``texts`` loses what is found. Returns whether any was."""
        if found is None or not len(found[0]):
            return False
        keys, vectors = found
        self.table.add(keys, vectors)
        self._adopted_count += len(keys)
        for key in keys.tolist():
            del texts[key]
        return True

    def _log_counts(self) -> None:
        """Say how many texts were embedded, and how many had been embedded before."""
        embedded, adopted = self._embedded_count, self._adopted_count
        if embedded or adopted:
            place = self._store.folder.name
            logger.info("index %s: %d texts embedded, %d taken over", place, embedded, adopted)
        self._embedded_count = self._adopted_count = 0
