"""Run texts through a model: their tokens, batches of similar length, one session.

Static models use a cache of word tokens. Batches run on a thread pool, where a priority semaphore
lets queries go before bulk work; a batch can be cancelled while it runs.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.errors import Cancelled, InvalidModel
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.onnx_session import (
    EncodedText,
    FloatArray,
    IntArray,
    OnnxSession,
    TokenArray,
)
from codekernel.inference.providers import CPU
from codekernel.inference.static_table import (
    NFKC_NORMALIZER,
    SPLIT_PRE_TOKENIZER,
    StaticTable,
    WordPieceVocabulary,
)
from codekernel.inference.tokenizer_loader import load_tokenizer

# 98 % of the words of twelve thousand chunks of Rust and Python are repeated; so many take 8 MB.
MAX_CACHED_WORDS = 65_536

# Longer runs are data, and none is met twice.
MAX_CACHED_WORD_CHARS = 64

_ASCII = 128

_NON_WORD_TO_SPACE = bytes(
    byte if byte < _ASCII and chr(byte).isalnum() else ord(" ") for byte in range(256)
)


class WordTokenCache(dict[str, bytes]):
    """The tokens of words that one tokenizer has met; any number of threads may use it.

    They are kept as the bytes of numbers: those of a text are joined at half the cost of a list.
    """

    def __init__(self, encode_word: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._encode_word = encode_word

    @staticmethod
    def supports(tokenizer: Any) -> bool:
        """Return whether a tokenizer splits each run of letters and digits by itself."""
        return (
            type(tokenizer.model).__name__ == "WordPiece"
            and _load_state(tokenizer.normalizer) == NFKC_NORMALIZER
            and _load_state(tokenizer.pre_tokenizer) == SPLIT_PRE_TOKENIZER
            and tokenizer.post_processor is None
            and not tokenizer.get_added_tokens_decoder()
        )

    def encode(self, text: str, max_tokens: int) -> TokenArray:
        """Return the first ``max_tokens`` tokens of an ASCII text."""
        words = text.encode("ascii").translate(_NON_WORD_TO_SPACE).decode("ascii").split()
        return np.frombuffer(b"".join(map(self.__getitem__, words)), np.int32)[:max_tokens]

    def __missing__(self, word: str) -> bytes:
        ids = np.array(self._encode_word(word), np.int32).tobytes()
        if len(word) <= MAX_CACHED_WORD_CHARS:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = ids
        return ids


def _load_state(part: Any) -> object:
    return json.loads(part.__getstate__()) if part is not None else None


# A token is seldom longer; the model could not see what lies beyond, and tokenizing it would take
# seconds for a file that is one line of megabytes.
_MAX_CHARS_PER_TOKEN = 32

_REPEATED_SPACES = re.compile(r"[ \t]{2,}")

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


# Words of queries and of names that results are compared by; whoever needs more embeds files, for
# which loading the tokenizer pays: it takes as long as 8,000 words in the vocabulary.
MAX_VOCABULARY_WORDS = 8_000


class ModelTokenizer:
    """The tokenizer of one model folder; that of a static model is loaded when it is needed."""

    def __init__(
        self, folder: ModelFolder, max_vocabulary_words: int = MAX_VOCABULARY_WORDS
    ) -> None:
        self._folder = folder
        self._max_vocabulary_words = max_vocabulary_words
        self._max_chars = folder.max_tokens * _MAX_CHARS_PER_TOKEN
        self._tokenizer = Lazy(self._load)
        self._vocabulary = WordPieceVocabulary.read(folder.path)
        self._vocabulary_words = 0
        # Whether the tokenizer is one of a static model, whose word tokens are cached.
        self.has_word_cache = self._vocabulary is not None or WordTokenCache.supports(
            self._tokenizer()
        )
        self._word_cache = WordTokenCache(self._encode_word)
        find_id = self._vocabulary.find if self._vocabulary else self._tokenizer().token_to_id
        known = map(find_id, ("<pad>", "[PAD]", "<|endoftext|>", "</s>"))
        self.pad_id: int = next((found for found in known if found is not None), 0)

    def _load(self) -> Any:
        tokenizer = load_tokenizer(self._folder.path)
        tokenizer.enable_truncation(self._folder.max_tokens, strategy="longest_first")
        return tokenizer

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return the tokens of each text."""
        clean = [self._clean_text(text) for text in texts]
        if not self.has_word_cache:
            return self._encode_batch(clean)
        others = iter(self._encode_batch([text for text in clean if not text.isascii()]))
        return [self._encode_cached(text) if text.isascii() else next(others) for text in clean]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Return the tokens of each pair, as one sequence."""
        return self._encode_batch(
            [(self._clean_text(one), self._clean_text(other)) for one, other in pairs]
        )

    def _encode_word(self, word: str) -> list[int]:
        if vocabulary := self._vocabulary:
            self._vocabulary_words += 1
            if self._vocabulary_words >= self._max_vocabulary_words:
                self._vocabulary = None  # the tokenizer, which is loaded next, has all of it
            return vocabulary.encode(word)
        ids: list[int] = self._tokenizer().encode(word, add_special_tokens=False).ids
        return ids

    def _encode_cached(self, text: str) -> EncodedText:
        return EncodedText(self._word_cache.encode(text, self._folder.max_tokens))

    def _encode_batch(self, inputs: list[str] | list[tuple[str, str]]) -> list[EncodedText]:
        if not inputs:
            return []
        tokenizer = self._tokenizer()
        try:
            encodings = tokenizer.encode_batch_fast(inputs)
        except BaseException as error:
            # The package raises bare Exception, or a panic of its Rust that is not even that.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise InvalidModel(
                    f"the tokenizer in {self._folder.path} failed: {error}"
                ) from error
            raise
        return [EncodedText(encoding.ids, encoding.type_ids) for encoding in encodings]

    def _clean_text(self, text: str) -> str:
        text = text[: self._max_chars]
        if self._folder.collapse_spaces:
            text = _REPEATED_SPACES.sub(" ", text)
        return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)


# Of a batch, what may be padding. Measured on functions of mixed length: padding is the whole cost
# of batching, and a batch of one is as fast per token as a batch of eight.
MAX_PADDING_RATIO = 0.1


def plan_batches(lengths: Sequence[int], *, batch_size_tokens: int) -> list[list[int]]:
    """Return batches of positions in ``lengths``, longest first.

    A text longer than a batch has one of its own, one without tokens has none. Longest first,
    because the last batch to end decides when all are done.
    """
    with_tokens = filter(lengths.__getitem__, range(len(lengths)))
    order = sorted(with_tokens, key=lengths.__getitem__, reverse=True)
    batches: list[list[int]] = []
    widest = used = 0
    for position in order:
        length = lengths[position]
        size = len(batches[-1]) + 1 if batches else 1
        padding = widest * size - used - length
        full = widest * size > batch_size_tokens or padding > MAX_PADDING_RATIO * widest * size
        if not batches or full:
            batches.append([])
            widest, used = length, 0
        batches[-1].append(position)
        used += length
    return batches


class PrioritySemaphore:
    """Lets ``slots`` runs in at a time; an urgent one goes before every waiting bulk one.

    Bulk work acquires a slot per small batch, so an urgent run waits for at most one batch.
    """

    def __init__(self, slots: int) -> None:
        self.slots = self._free_slots = slots
        self._urgent_waiting = 0
        self._condition = threading.Condition()

    @classmethod
    def from_max_threads(cls, max_threads: int) -> "PrioritySemaphore":
        """Return the slots for a setting; 0 is every core, and never more than there are."""
        cores = os.cpu_count() or 1
        return cls(min(max_threads, cores) if max_threads > 0 else cores)

    @contextmanager
    def acquire(self, *, urgent: bool) -> Iterator[None]:
        """Hold one slot for as long as the block lasts."""
        with self._condition:
            self._urgent_waiting += urgent
            self._condition.wait_for(
                lambda: self._free_slots and (urgent or not self._urgent_waiting)
            )
            self._urgent_waiting -= urgent
            self._free_slots -= 1
        try:
            yield
        finally:
            with self._condition:
                self._free_slots += 1
                self._condition.notify_all()


BatchT = TypeVar("BatchT")


class BatchRunner:
    """The threads of one loaded model; all models share the semaphore."""

    def __init__(self, semaphore: PrioritySemaphore) -> None:
        self._semaphore = semaphore
        self._pool = ThreadPoolExecutor(semaphore.slots, thread_name_prefix="inference")

    def run_batches(
        self,
        batches: Iterable[BatchT],
        run: Callable[[BatchT], None],
        cancel: CancelToken,
        *,
        urgent: bool = False,
    ) -> None:
        """Run every batch; between batches urgent work may run. Raises Cancelled."""

        def run_one(batch: BatchT) -> None:
            with self._semaphore.acquire(urgent=urgent):
                if not cancel.is_cancelled:
                    run(batch)

        for _ in self._pool.map(run_one, batches):
            pass  # after a failure, which is raised here, the rest is not run
        if cancel.is_cancelled:
            raise Cancelled("the model's work was cancelled")

    def run_urgent(self, batch: BatchT, run: Callable[[BatchT], None]) -> None:
        """Run one batch before all bulk work, on the caller's thread."""
        with self._semaphore.acquire(urgent=True):
            run(batch)

    def close(self) -> None:
        """Stop the threads once their batches are done."""
        self._pool.shutdown()


class LoadedModel:
    """The tokenizer, session and threads of one model.

    On a CPU each run uses the calling thread alone. The threads are those of BatchRunner and not
    onnxruntime's, so that all models together obey the settings and a query can run between two
    batches.
    """

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], semaphore: PrioritySemaphore
    ) -> None:
        self.folder = folder
        self.tokenizer = ModelTokenizer(folder)
        table = StaticTable.read(folder.onnx_file) if tuple(providers) == (CPU,) else None
        self._session = table or OnnxSession(folder.onnx_file, providers, self.tokenizer.pad_id)
        self.output_shapes = self._session.output_shapes
        self.is_accelerated = self._session.is_accelerated
        self.batch_size_tokens = folder.batch_size_tokens
        self.runner = BatchRunner(PrioritySemaphore(1) if self.is_accelerated else semaphore)

    def close(self) -> None:
        """Unload the model once running batches are done."""
        self.runner.close()

    def run(
        self, texts: Sequence[EncodedText], output: str, cancel: CancelToken | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Return one output for encoded texts, and the mask of their tokens.

        Raises Cancelled, also while it runs.
        """
        return self._session.run(texts, output, cancel or CancelToken())

    def run_batches(
        self,
        texts: Sequence[EncodedText],
        run: Callable[[list[int]], None],
        cancel: CancelToken,
        *,
        urgent: bool = False,
    ) -> None:
        """Run batches of the texts, each given by its rows; raises Cancelled."""
        lengths = [len(text.ids) for text in texts]
        batches = plan_batches(lengths, batch_size_tokens=self.batch_size_tokens)
        self.runner.run_batches(batches, run, cancel, urgent=urgent)
