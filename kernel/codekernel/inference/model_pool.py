"""Embedding models and rerankers, each loaded once and shared by reference count.

An embedder selects the model's output that becomes vectors, pools and normalizes them. A reranker
scores pairs of a query and a text. Any number of threads may use a model, which is unloaded when
its last user is done.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from codekernel.domain.concurrency import CancelToken, RefCounted
from codekernel.domain.settings import Performance
from codekernel.errors import InvalidModel
from codekernel.inference.model_folder import ModelFolder, Pooling, read_model_folder
from codekernel.inference.model_session import LoadedModel, PrioritySemaphore
from codekernel.inference.onnx_session import EncodedText, FloatArray, IntArray
from codekernel.inference.providers import CPU, detect_hardware, select_providers

logger = logging.getLogger(__name__)

# Texts batched together: enough to find others of the same length, few enough to bound the memory
# and to notice a cancel.
MAX_WINDOW_TEXTS = 512

# An accelerator is idle between small batches, and no query waits long for a large one.
ACCELERATOR_BATCH_FACTOR = 16

# Vectors of the last queries.
MAX_KEPT_QUERIES = 16

_BINARY_LOGITS = 2


class Embedder(LoadedModel):
    """A loaded embedding model."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], semaphore: PrioritySemaphore
    ) -> None:
        super().__init__(folder, providers, semaphore)
        self._output, self._pooling = select_vector_output(self.output_shapes, folder)
        if self.is_accelerated:
            self.batch_size_tokens *= ACCELERATOR_BATCH_FACTOR
        self._query_vectors: dict[str, FloatArray] = {}
        self._query_lock = threading.Lock()
        self.dimensions = self._probe_dimensions()

    @property
    def fingerprint(self) -> str:
        """A hash that changes whenever the vectors would change."""
        return self.folder.fingerprint

    def embed_documents(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """Return one vector per text, in the same order; raises Cancelled."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), MAX_WINDOW_TEXTS):
            window = texts[start : start + MAX_WINDOW_TEXTS]
            tokens = self.tokenizer.encode([self.folder.document_prefix + text for text in window])
            run = partial(self._embed_batch, tokens, vectors[start:], cancel)
            self.run_batches(tokens, run, cancel)
        return vectors

    def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query, before any bulk work.

        A query about several repositories is embedded once.
        """
        with self._query_lock:
            if text not in self._query_vectors:
                vector = self._compute_query_vector(text)
                if len(self._query_vectors) >= MAX_KEPT_QUERIES:
                    self._query_vectors.pop(next(iter(self._query_vectors)))
                self._query_vectors[text] = vector
            return self._query_vectors[text]

    def _compute_query_vector(self, text: str) -> FloatArray:
        tokens = self.tokenizer.encode([self.folder.query_prefix + text])
        vectors = np.zeros((1, self.dimensions), np.float32)
        if len(tokens[0].ids):
            self.runner.run_urgent([0], partial(self._embed_batch, tokens, vectors, None))
        vector: FloatArray = vectors[0]
        return vector

    def compute_cosines(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """Return the cosine of each text and the query; runs before bulk work."""
        tokens = self.tokenizer.encode([self.folder.document_prefix + text for text in texts])
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        run = partial(self._embed_batch, tokens, vectors, cancel)
        self.run_batches(tokens, run, cancel, urgent=True)
        cosines: list[float] = (normalize_vectors(vectors) @ self.embed_query(query)).tolist()
        return cosines

    def _embed_batch(
        self,
        tokens: Sequence[EncodedText],
        vectors: FloatArray,
        cancel: CancelToken | None,
        rows: list[int],
    ) -> None:
        """Put the vectors of some of the texts into their rows."""
        found = self._compute_vectors([tokens[row] for row in rows], cancel)
        if not np.isfinite(found).all():
            logger.warning("%s gave a vector that is not finite; zeros are kept", self.folder.path)
            found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)
        vectors[rows] = found

    def _compute_vectors(
        self, tokens: Sequence[EncodedText], cancel: CancelToken | None = None
    ) -> FloatArray:
        found, mask = self.run(tokens, self._output, cancel)
        vectors = pool_token_vectors(found, mask, self._pooling)
        return normalize_vectors(vectors) if self.folder.normalize else vectors

    def _probe_dimensions(self) -> int:
        """Embed a word to check that the parts fit together; return the dimensions."""
        found = self._compute_vectors(self.tokenizer.encode(["probe"]))
        if not np.isfinite(found).all():
            raise InvalidModel(f"{self.folder.onnx_file} gives vectors that are not finite numbers")
        return int(found.shape[1])


class Reranker(LoadedModel):
    """A loaded cross-encoder."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], semaphore: PrioritySemaphore
    ) -> None:
        super().__init__(folder, providers, semaphore)
        self._output = select_score_output(self.output_shapes, folder)
        self._compute_scores(self.tokenizer.encode_pairs([("probe", "probe")]))

    def score(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """Return how well each text answers the query, 0..1; runs before bulk work."""
        tokens = self.tokenizer.encode_pairs([(query, text) for text in texts])
        scores = np.zeros(len(texts), np.float32)

        def run(rows: list[int]) -> None:
            scores[rows] = self._compute_scores([tokens[row] for row in rows])

        self.run_batches(tokens, run, cancel, urgent=True)
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def _compute_scores(self, pairs: list[EncodedText]) -> FloatArray:
        found, _ = self.run(pairs, self._output)
        logits = found.reshape(len(pairs), -1)
        if logits.shape[1] == _BINARY_LOGITS:
            logits = logits[:, 1:] - logits[:, :1]
        if logits.shape[1] != 1:
            raise InvalidModel(
                f"{self.folder.onnx_file} gives {logits.shape[1]} numbers per text; "
                "a reranker gives one, or two for no and yes"
            )
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits[:, 0], -60.0, 60.0))), np.float32)


OutputShapes = Mapping[str, Sequence[object]]

_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")

_TOKEN_RANK, _TEXT_RANK = 3, 2


def select_vector_output(outputs: OutputShapes, folder: ModelFolder) -> tuple[str, Pooling]:
    """Return the output that becomes vectors, and how it is pooled."""
    if folder.output_name is not None:
        return _select_named_output(outputs, folder, folder.output_name)
    if "sentence_embedding" in outputs:
        return "sentence_embedding", Pooling.NONE
    ranks = {name: len(shape) for name, shape in outputs.items() if name != "pooler_output"}
    per_text = [name for name, rank in ranks.items() if rank == _TEXT_RANK]
    per_token = [name for name, rank in ranks.items() if rank == _TOKEN_RANK]
    per_token.sort(key=lambda name: name not in _TOKEN_OUTPUTS)
    if folder.pooling in (None, Pooling.NONE) and per_text:
        return per_text[0], Pooling.NONE
    if not per_token or folder.pooling is Pooling.NONE:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a vector "
            "per token or per text; export it for feature extraction"
        )
    if folder.pooling is None:
        logger.info("%s does not say how it is pooled; the mean is used", folder.path)
    return per_token[0], folder.pooling or Pooling.MEAN


def select_score_output(outputs: OutputShapes, folder: ModelFolder) -> str:
    """Return the output that becomes scores."""
    if folder.output_name is not None:
        return _select_named_output(outputs, folder, folder.output_name)[0]
    fitting = [name for name, shape in outputs.items() if len(shape) <= _TEXT_RANK]
    if not fitting:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a score "
            "per text; export it for sequence classification"
        )
    return "logits" if "logits" in fitting else fitting[0]


def _select_named_output(
    outputs: OutputShapes, folder: ModelFolder, name: str
) -> tuple[str, Pooling]:
    if name not in outputs:
        raise InvalidModel(
            f"codekernel.json in {folder.path} names the output {name!r}; "
            f"{folder.onnx_file.name} has {', '.join(outputs)}"
        )
    per_text = len(outputs[name]) <= _TEXT_RANK
    return name, Pooling.NONE if per_text else folder.pooling or Pooling.MEAN


def pool_token_vectors(hidden: FloatArray, mask: IntArray, pooling: Pooling) -> FloatArray:
    """Return one vector per text; ``hidden`` is [texts, tokens, dimensions], padded right."""
    match pooling:
        case Pooling.CLS:
            pooled = hidden[:, 0]
        case Pooling.LAST:
            last = np.maximum(mask.sum(axis=1) - 1, 0)
            pooled = hidden[np.arange(len(hidden)), last]
        case Pooling.MEAN:
            weights = mask[:, :, None].astype(np.float32)
            total = (hidden * weights).sum(axis=1)
            pooled = total / np.maximum(weights.sum(axis=1), np.float32(1))
        case Pooling.NONE:
            pooled = hidden
    return np.asarray(pooled, np.float32)


def normalize_vectors(vectors: FloatArray) -> FloatArray:
    """Return vectors of length one; those of length zero stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)


_ModelKey = tuple[type, str, tuple[str, ...], int]

ModelT = TypeVar("ModelT", Embedder, Reranker)


class ModelPool:
    """Shares embedders and rerankers by folder; a folder whose files changed is another model."""

    def __init__(self) -> None:
        self._models = RefCounted[_ModelKey, Any](close=LoadedModel.close)
        # One for each number of threads in the settings, so that all models share them.
        self._semaphores: dict[int, PrioritySemaphore] = {}

    def acquire_embedder(
        self, path: Path, performance: Performance
    ) -> AbstractContextManager[Embedder]:
        """Return the embedder in a folder, loaded for as long as the block lasts."""
        return self._acquire(Embedder, path, performance)

    def acquire_reranker(
        self, path: Path, performance: Performance
    ) -> AbstractContextManager[Reranker]:
        """Return the reranker in a folder, loaded for as long as the block lasts."""
        return self._acquire(Reranker, path, performance)

    def _acquire(
        self, model_type: type[ModelT], path: Path, performance: Performance
    ) -> AbstractContextManager[ModelT]:
        folder, providers = read_model_folder(path), _choose_providers(performance)
        threads = performance.max_threads
        semaphore = self._semaphores.setdefault(
            threads, PrioritySemaphore.from_max_threads(threads)
        )

        def load() -> ModelT:
            started = time.monotonic()
            model = model_type(folder, providers, semaphore)
            logger.info("loaded %s in %.1f s", folder.path, time.monotonic() - started)
            return model

        return self._models.acquire((model_type, folder.fingerprint, providers, threads), load)


def _choose_providers(performance: Performance) -> tuple[str, ...]:
    if not performance.use_cuda and not performance.use_coreml:
        return (CPU,)
    chosen = tuple(select_providers(performance, detect_hardware()))
    if chosen == (CPU,):
        logger.warning("the accelerator chosen in the settings does not work; the CPU is used")
    return chosen
