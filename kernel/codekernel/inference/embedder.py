"""Embed documents and queries with a loaded model.

Compare short texts with a query through a vector cache.
"""

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference.batching import BatchRunner, ThreadBudget, plan_batches
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.model_outputs import (
    normalize_vectors,
    pool_token_vectors,
    select_vector_output,
)
from codekernel.inference.model_session import ModelSession, TokenBatch
from codekernel.inference.tokenizer import EncodedText, ModelTokenizer

logger = logging.getLogger(__name__)

FloatArray = npt.NDArray[np.float32]

# Texts looked at together: enough to find others of the same length, few enough to bound the memory
# and to notice a cancel.
MAX_WINDOW_TEXTS = 512

# An accelerator is idle between small batches, and no query waits long for a large one.
ACCELERATOR_BATCH_FACTOR = 16


class Embedder:
    """A loaded embedding model; any number of threads may use it."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], thread_budget: ThreadBudget
    ) -> None:
        self.folder = folder
        self._tokenizer = ModelTokenizer(folder)
        self._session = ModelSession(folder.onnx_file, providers)
        self._output, self._pooling = select_vector_output(self._session.output_shapes, folder)
        on_accelerator = self._session.is_accelerated
        self._batch_size_tokens = folder.batch_size_tokens * (
            ACCELERATOR_BATCH_FACTOR if on_accelerator else 1
        )
        self.dimensions = self._probe_dimensions()
        self._runner = BatchRunner(
            ThreadBudget.from_max_threads(1) if on_accelerator else thread_budget
        )

    def embed_documents(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """One vector per text, in the same order; raises Cancelled within a moment."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), MAX_WINDOW_TEXTS):
            window = texts[start : start + MAX_WINDOW_TEXTS]
            tokens = self._tokenizer.encode([self.folder.document_prefix + it for it in window])
            self._embed_window(tokens, vectors[start : start + len(window)], cancel)
        return vectors

    def embed_query(self, text: str) -> FloatArray:
        """The vector of what a person asks, before any bulk work."""
        tokens = self._tokenizer.encode([self.folder.query_prefix + text])
        vectors = np.zeros((1, self.dimensions), np.float32)
        if tokens[0].ids:
            self._runner.run_urgent([0], lambda rows: self._embed_batch(tokens, rows, vectors))
        vector: FloatArray = vectors[0]
        return vector

    @property
    def is_fast(self) -> bool:
        """Whether short texts may be embedded while somebody waits: true of our static models."""
        return self._tokenizer.has_word_cache

    def embed_urgent(self, texts: Sequence[str]) -> FloatArray:
        """A few short texts, before any bulk work."""
        tokens = self._tokenizer.encode([self.folder.document_prefix + it for it in texts])
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if rows := [row for row, found in enumerate(tokens) if found.ids]:
            self._runner.run_urgent(rows, lambda batch: self._embed_batch(tokens, batch, vectors))
        return vectors

    def close(self) -> None:
        """Let the model go; whoever still uses it finishes first."""
        self._runner.close()

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
        batch = TokenBatch.from_token_ids(
            [text.ids for text in tokens],
            [text.type_ids for text in tokens],
            self._tokenizer.pad_id,
        )
        found = self._session.run(batch, self._output, cancel)
        vectors = pool_token_vectors(found, batch.mask, self._pooling)
        return normalize_vectors(vectors) if self.folder.normalize else vectors

    def _probe_dimensions(self) -> int:
        """Embed a word: whether the parts fit together, and how long the vectors are."""
        found = self._compute_vectors(self._tokenizer.encode(["probe"]))
        if not np.isfinite(found).all():
            raise InvalidModel(f"{self.folder.onnx_file} gives vectors that are not finite numbers")
        return int(found.shape[1])


MAX_CACHED_TEXTS = 8_192  # of 256 dimensions: 8 MB


class ShortTextSimilarity:
    """What a quick model says of short texts; any number of threads may ask."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._cache: dict[str, FloatArray] = {}

    def compute_similarities(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text and the query; nothing if the model is not quick."""
        if not self._embedder.is_fast or not texts:
            return []
        known = self._cache
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            if len(known) + len(unknown) > MAX_CACHED_TEXTS:
                known = {text: known[text] for text in texts if text in known}
            known = known | dict(zip(unknown, self._embedder.embed_urgent(unknown), strict=True))
            self._cache = known
        vectors = np.stack([known[text] for text in texts])
        cosines: list[float] = (vectors @ self._embedder.embed_query(query)).tolist()
        return cosines
