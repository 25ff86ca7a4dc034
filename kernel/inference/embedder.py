"""A model folder that turns texts into vectors."""

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kernel.domain.cancel import CancelToken
from kernel.errors import InvalidModel
from kernel.inference.batches import plan
from kernel.inference.model_folder import ModelFolder
from kernel.inference.outputs import vector_output
from kernel.inference.pooling import normalized, pool
from kernel.inference.session import ModelSession, TokenBatch
from kernel.inference.tokens import Tokenization, Tokens
from kernel.inference.workers import Cores, Workers

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]

# Texts looked at together: enough to find others of the same length, few enough to bound the memory
# and to notice a cancel.
WINDOW_TEXTS = 512
# An accelerator is idle between small batches, and no query waits long for a large one.
ACCELERATOR_BATCH_FACTOR = 16


class Embedder:
    """A loaded embedding model; any number of threads may use it."""

    def __init__(self, folder: ModelFolder, providers: Sequence[str], cores: Cores) -> None:
        self.folder = folder
        self._tokenization = Tokenization(folder)
        self._session = ModelSession(folder.onnx_file, providers)
        self._output, self._pooling = vector_output(self._session.outputs, folder)
        on_accelerator = self._session.on_accelerator
        self._tokens_per_batch = folder.tokens_per_batch * (
            ACCELERATOR_BATCH_FACTOR if on_accelerator else 1
        )
        self.dimensions = self._probe()
        self._workers = Workers(Cores.of(1) if on_accelerator else cores)

    def embed_documents(self, texts: Sequence[str], cancel: CancelToken) -> Floats:
        """One vector per text, in the same order; raises Cancelled within a moment."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), WINDOW_TEXTS):
            window = texts[start : start + WINDOW_TEXTS]
            tokens = self._tokenization.encode([self.folder.document_prefix + it for it in window])
            self._embed_window(tokens, vectors[start : start + len(window)], cancel)
        return vectors

    def embed_query(self, text: str) -> Floats:
        """The vector of what a person asks, before any bulk work."""
        tokens = self._tokenization.encode([self.folder.query_prefix + text])
        vectors = np.zeros((1, self.dimensions), np.float32)
        if tokens[0].ids:
            self._workers.run_now([0], lambda rows: self._run(tokens, rows, vectors))
        vector: Floats = vectors[0]
        return vector

    @property
    def is_quick(self) -> bool:
        """Whether short texts may be embedded while somebody waits: true of our static models."""
        return self._tokenization.remembers_words

    def embed_now(self, texts: Sequence[str]) -> Floats:
        """A few short texts, before any bulk work."""
        tokens = self._tokenization.encode([self.folder.document_prefix + it for it in texts])
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if rows := [row for row, found in enumerate(tokens) if found.ids]:
            self._workers.run_now(rows, lambda batch: self._run(tokens, batch, vectors))
        return vectors

    def close(self) -> None:
        """Let the model go; whoever still uses it finishes first."""
        self._workers.close()

    def _embed_window(self, tokens: list[Tokens], vectors: Floats, cancel: CancelToken) -> None:
        with_tokens = [row for row, found in enumerate(tokens) if found.ids]
        lengths = [len(tokens[row].ids) for row in with_tokens]
        batches = [
            [with_tokens[position] for position in batch]
            for batch in plan(lengths, tokens_per_batch=self._tokens_per_batch)
        ]
        self._workers.run_all(
            batches, lambda rows: self._run(tokens, rows, vectors, cancel), cancel
        )

    def _run(
        self,
        tokens: list[Tokens],
        rows: list[int],
        vectors: Floats,
        cancel: CancelToken | None = None,
    ) -> None:
        found = self._vectors([tokens[row] for row in rows], cancel)
        if not np.isfinite(found).all():
            logger.warning("%s gave a vector that is not finite; zeros are kept", self.folder.path)
            found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)
        vectors[rows] = found

    def _vectors(self, tokens: list[Tokens], cancel: CancelToken | None = None) -> Floats:
        batch = TokenBatch.of(
            [text.ids for text in tokens],
            [text.types for text in tokens],
            self._tokenization.pad_id,
        )
        found = self._session.run(batch, self._output, cancel)
        vectors = pool(found, batch.mask, self._pooling)
        return normalized(vectors) if self.folder.normalize else vectors

    def _probe(self) -> int:
        """Embed a word: whether the parts fit together, and how long the vectors are."""
        found = self._vectors(self._tokenization.encode(["probe"]))
        if not np.isfinite(found).all():
            raise InvalidModel(f"{self.folder.onnx_file} gives vectors that are not finite numbers")
        return int(found.shape[1])
