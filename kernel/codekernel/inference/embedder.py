"""Embed documents and queries, and compare short texts with a query through a vector cache."""

import logging
from collections.abc import Sequence

import numpy as np

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference.batching import ThreadBudget, plan_batches
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.model_outputs import (
    FloatArray,
    normalize_vectors,
    pool_token_vectors,
    select_vector_output,
)
from codekernel.inference.model_session import LoadedModel
from codekernel.inference.tokenizer import EncodedText

logger = logging.getLogger(__name__)

# Texts batched together: enough to find others of the same length, few enough to bound the memory
# and to notice a cancel.
MAX_WINDOW_TEXTS = 512

# An accelerator is idle between small batches, and no query waits long for a large one.
ACCELERATOR_BATCH_FACTOR = 16


class Embedder(LoadedModel):
    """A loaded embedding model."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], thread_budget: ThreadBudget
    ) -> None:
        super().__init__(folder, providers, thread_budget)
        self._output, self._pooling = select_vector_output(self._session.output_shapes, folder)
        factor = ACCELERATOR_BATCH_FACTOR if self._session.is_accelerated else 1
        self._batch_size_tokens = folder.batch_size_tokens * factor
        self.dimensions = self._probe_dimensions()

    def embed_documents(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """Return one vector per text, in the same order; raises Cancelled."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), MAX_WINDOW_TEXTS):
            window = texts[start : start + MAX_WINDOW_TEXTS]
            tokens = self._tokenizer.encode([self.folder.document_prefix + text for text in window])
            self._embed_window(tokens, vectors[start : start + len(window)], cancel)
        return vectors

    def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query, before any bulk work."""
        vector: FloatArray = self._embed_first([self.folder.query_prefix + text])[0]
        return vector

    @property
    def is_fast(self) -> bool:
        """Return whether short texts may be embedded during a search: true of static models."""
        return self._tokenizer.has_word_cache

    def embed_urgent(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of a few short texts, before any bulk work."""
        return self._embed_first([self.folder.document_prefix + text for text in texts])

    def _embed_first(self, texts: Sequence[str]) -> FloatArray:
        tokens = self._tokenizer.encode(texts)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if rows := [row for row, text in enumerate(tokens) if text.ids]:
            self._runner.run_urgent(rows, lambda batch: self._embed_batch(tokens, batch, vectors))
        return vectors

    def _embed_window(
        self, tokens: list[EncodedText], vectors: FloatArray, cancel: CancelToken
    ) -> None:
        with_tokens = [row for row, found in enumerate(tokens) if found.ids]
        lengths = [len(tokens[row].ids) for row in with_tokens]
        batches = [
            [with_tokens[position] for position in batch]
            for batch in plan_batches(lengths, batch_size_tokens=self._batch_size_tokens)
        ]
        self._runner.run_batches(
            batches, lambda rows: self._embed_batch(tokens, rows, vectors, cancel), cancel
        )

    def _embed_batch(
        self,
        tokens: list[EncodedText],
        rows: list[int],
        vectors: FloatArray,
        cancel: CancelToken | None = None,
    ) -> None:
        found = self._compute_vectors([tokens[row] for row in rows], cancel)
        if not np.isfinite(found).all():
            logger.warning("%s gave a vector that is not finite; zeros are kept", self.folder.path)
            found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)
        vectors[rows] = found

    def _compute_vectors(
        self, tokens: list[EncodedText], cancel: CancelToken | None = None
    ) -> FloatArray:
        found, mask = self._run(tokens, self._output, cancel)
        vectors = pool_token_vectors(found, mask, self._pooling)
        return normalize_vectors(vectors) if self.folder.normalize else vectors

    def _probe_dimensions(self) -> int:
        """Embed a word to check that the parts fit together; return the dimensions."""
        found = self._compute_vectors(self._tokenizer.encode(["probe"]))
        if not np.isfinite(found).all():
            raise InvalidModel(f"{self.folder.onnx_file} gives vectors that are not finite numbers")
        return int(found.shape[1])


MAX_CACHED_TEXTS = 8_192  # of 256 dimensions: 8 MB


class ShortTextSimilarity:
    """Compares short texts with a query by a fast model; any number of threads may use it."""

    def __init__(self, embedder: Embedder, *, max_cached_texts: int = MAX_CACHED_TEXTS) -> None:
        self._embedder = embedder
        self._max_cached_texts = max_cached_texts
        self._cache: dict[str, FloatArray] = {}

    def compute_similarities(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine of each text and the query; nothing if the model is not fast."""
        if not self._embedder.is_fast or not texts:
            return []
        known = self._cache
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            if len(known) + len(unknown) > self._max_cached_texts:
                known = {text: known[text] for text in texts if text in known}
            known = known | dict(zip(unknown, self._embedder.embed_urgent(unknown), strict=True))
            self._cache = known
        vectors = np.stack([known[text] for text in texts])
        cosines: list[float] = (vectors @ self._embedder.embed_query(query)).tolist()
        return cosines
