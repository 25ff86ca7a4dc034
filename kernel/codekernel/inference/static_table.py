"""Embed with our static models in numpy: a table of words, of which a text is the weighted sum.

Such a model is one graph, whatever its table. Reading the table out of model.onnx and summing its
rows takes half the time that onnxruntime takes for its padded batches, and neither the 0.2 s nor
the 40 MB of loading it.

ASCII words are tokenized here, too. The pieces are looked up in the text of tokenizer.json, by an
index over their first eight bytes: 30 ms of CPU and 9 MB for 218,000 pieces, where the library
takes 165 ms and 51 MB to load them. A word costs five times as much as in the library, so this is
for queries, not for whole repositories.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import InvalidProtobuf, read_protobuf_fields
from codekernel.errors import InvalidModel
from codekernel.inference.onnx_session import EncodedText, FloatArray, IntArray

OUTPUT = "sentence_embedding"

# Of the nodes that scripts/models/static_export.py writes, hence of what is computed below; a model
# with others is left to onnxruntime.
NODES_DIGEST = "cda6fa6dc975ef8b95cbcb45d5cd6caf27e33f9f74d1154a4a676745e8a3dc38"

# A transformer is no static model, and has more.
MAX_NODES = 64

# Of ModelProto, GraphProto and TensorProto.
_GRAPH = 7

_NODE, _INITIALIZER = 1, 5

_DIMENSIONS, _TYPE, _NAME, _RAW_DATA = 1, 2, 8, 9

_TYPES: dict[int, type[np.generic]] = {1: np.float32, 3: np.int8, 6: np.int32, 7: np.int64}


@dataclass(frozen=True, slots=True)
class StaticTable:
    """A table of int8 rows with a scale each, shared by tokens; for any number of threads."""

    rows: npt.NDArray[np.int32]  # of each token
    values: npt.NDArray[np.int8]
    scales: FloatArray
    places: int  # occurrences are counted in so many, by the remainder of the row
    smallest: np.float32

    @classmethod
    def read(cls, onnx_file: Path) -> Self | None:
        """Return the table of a static model; None if the file holds another kind of model."""
        try:
            constants = _read_constants(onnx_file.read_bytes())
            if constants is None:
                return None
            return cls(
                constants["rows"],
                constants["values"],
                constants["scales"],
                int(constants["places"]),
                np.float32(constants["smallest"]),
            )
        except (OSError, InvalidProtobuf, KeyError, TypeError, ValueError):
            return None  # onnxruntime says what is wrong with it

    @property
    def output_shapes(self) -> dict[str, Sequence[object]]:
        """Return the one output, a vector per text."""
        return {OUTPUT: ("batch", self.values.shape[1])}

    @property
    def is_accelerated(self) -> bool:
        """Return False: it is computed on the CPU."""
        return False

    def run(
        self, texts: Sequence[EncodedText], _output: str, _cancel: CancelToken
    ) -> tuple[FloatArray, IntArray]:
        """Return the vectors of encoded texts, of length one, and no mask. Raises InvalidModel.

        A token that stands n times in a text counts sqrt(n) times.
        """
        lengths = np.fromiter((len(text.ids) for text in texts), np.int64, len(texts))
        try:
            rows = self.rows[np.concatenate([np.asarray(text.ids, np.int32) for text in texts])]
        except IndexError as error:
            raise InvalidModel(
                "the static model cannot be run: the tokenizer beside it belongs to another model"
            ) from error
        place = np.repeat(np.arange(len(texts)) * self.places, lengths) + rows % self.places
        occurrences = np.bincount(place, minlength=len(texts) * self.places)[place]
        shares = self.scales[rows] / np.sqrt(occurrences.astype(np.float32))
        vectors = np.zeros((len(texts), self.values.shape[1]), np.float32)
        begin, longest = 0, int(lengths.max())
        values = np.empty((longest, self.values.shape[1]), np.int8)
        singles = np.empty(values.shape, np.float32)
        for vector, length in zip(vectors, lengths.tolist(), strict=True):
            own = slice(begin, begin + length)
            # "clip", for with "raise" numpy copies what it has taken; the scales know all rows.
            self.values.take(rows[own], axis=0, out=values[:length], mode="clip")
            singles[:length] = values[:length]
            np.dot(shares[own], singles[:length], out=vector)
            begin += length
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= np.maximum(norms, self.smallest)[:, None]
        return vectors, np.empty((len(texts), 0), np.int64)


def _read_constants(content: bytes) -> dict[str, Any] | None:
    """Return the constants of the graph by name; None if it is not that of a static model."""
    model = memoryview(content)
    graph = next(value for number, value in read_protobuf_fields(model) if number == _GRAPH)
    fields = list(read_protobuf_fields(graph))
    nodes = [bytes(value) for number, value in fields if number == _NODE]
    if len(nodes) > MAX_NODES or hashlib.sha256(b"".join(nodes)).hexdigest() != NODES_DIGEST:
        return None
    return dict(_read_tensor(value) for number, value in fields if number == _INITIALIZER)


def _read_tensor(tensor: Any) -> tuple[str, npt.NDArray[Any]]:
    shape: list[int] = []
    parts: dict[int, Any] = {}
    for number, value in read_protobuf_fields(tensor):
        if number == _DIMENSIONS:
            shape.append(value)
        else:
            parts[number] = value
    numbers = np.frombuffer(parts[_RAW_DATA], _TYPES[parts[_TYPE]]).reshape(shape)
    return bytes(parts[_NAME]).decode(), numbers


# How our static model splits text: runs of letters by their case, runs of digits, runs of Chinese.
# In ASCII whatever is not a letter or digit only separates, so that each run of both is tokenized
# by itself.
IDENTIFIER_WORD_PATTERN = (
    r"\p{Ll}+|\p{Lu}(?:\p{Ll}+|\p{Lu}+s(?!\p{L})|\p{Lu}*(?!\p{Ll}))|[0-9]+"
    r"|[\u4e00-\u9fff]{1,32}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|\p{Lo}+"
)
_ASCII_WORD_PATTERN = re.compile(
    r"[a-z]+|[A-Z](?:[a-z]+|[A-Z]+s(?![A-Za-z])|[A-Z]*(?![a-z]))|[0-9]+"
)

SPLIT_PRE_TOKENIZER = {
    "type": "Split",
    "pattern": {"Regex": IDENTIFIER_WORD_PATTERN},
    "behavior": "Removed",
    "invert": True,
}

NFKC_NORMALIZER = {"type": "NFKC"}  # which leaves ASCII as it is

_CONTINUING_PREFIX = "##"
_VOCABULARY = b'"vocab":{'
_SETTINGS = {
    "normalizer": NFKC_NORMALIZER,
    "pre_tokenizer": SPLIT_PRE_TOKENIZER,
    "post_processor": None,
    "added_tokens": [],
}
_ID = re.compile(rb'":(\d+)')
_PREFIX_BYTES = 8


class WordPieceVocabulary:
    """Any number of threads may use it."""

    def __init__(self, content: bytes, settings: dict[str, Any]) -> None:
        """``content`` is the text of the pieces and their ids. Raises ValueError."""
        self._content = content
        text = np.frombuffer(content + bytes(_PREFIX_BYTES), np.uint8)
        quotes = np.flatnonzero(text == ord('"')).astype(np.int32)
        starts, ends = quotes[0::2] + 1, quotes[1::2]
        if b"\\" in content or len(starts) != len(ends) or (text[ends + 1] != ord(":")).any():
            raise ValueError("its vocabulary is written in another way")
        prefixes = _read_prefixes(text, starts, ends)
        order = np.argsort(prefixes)
        self._prefixes = prefixes[order]
        self._starts, self._ends = starts[order], ends[order]
        self._max_word_chars: int = settings["max_input_chars_per_word"]
        unknown = self.find(settings["unk_token"])
        if unknown is None:
            raise ValueError("its vocabulary lacks the unknown token")
        self._unknown_id = unknown

    @classmethod
    def read(cls, folder: Path) -> "WordPieceVocabulary | None":
        """Return the vocabulary of a static model's folder; None if it has another tokenizer."""
        try:
            content = (folder / "tokenizer.json").read_bytes()
            begin = content.index(_VOCABULARY) + len(_VOCABULARY)
            end = content.index(b"}", begin)
            # Without the pieces, it is parsed in no time.
            settings = json.loads(content[:begin] + content[end:])
            model = settings["model"]
            is_ours = (
                model["type"] == "WordPiece"
                and model["continuing_subword_prefix"] == _CONTINUING_PREFIX
                and _SETTINGS.items() <= settings.items()
            )
            return cls(content[begin:end], model) if is_ours else None
        except (OSError, ValueError, KeyError, TypeError):
            return None  # loading the tokenizer says what is wrong

    def find(self, piece: str) -> int | None:
        """Return the id of a piece."""
        wanted = piece.encode()
        prefix = np.uint64(int.from_bytes(wanted[:_PREFIX_BYTES].ljust(_PREFIX_BYTES, b"\0")))
        place = int(np.searchsorted(self._prefixes, prefix))
        while place < len(self._prefixes) and self._prefixes[place] == prefix:
            end = int(self._ends[place])
            if self._content[int(self._starts[place]) : end] == wanted:
                found = _ID.match(self._content, end)
                return int(found[1]) if found else None
            place += 1
        return None

    def encode(self, word: str) -> list[int]:
        """Return the ids of a run of ASCII letters and digits."""
        parts = _ASCII_WORD_PATTERN.findall(word)
        return [number for part in parts for number in self._match(part)]

    def _match(self, part: str) -> list[int]:
        """Return the longest pieces from left to right; unknown if some of it is no piece."""
        if len(part) > self._max_word_chars:
            return [self._unknown_id]
        ids: list[int] = []
        start = 0
        while start < len(part):
            prefix = _CONTINUING_PREFIX if start else ""
            for end in range(len(part), start, -1):
                found = self.find(prefix + part[start:end])
                if found is not None:
                    break
            else:
                return [self._unknown_id]
            ids.append(found)
            start = end
        return ids


def _read_prefixes(
    text: npt.NDArray[np.uint8], starts: npt.NDArray[np.int32], ends: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint64]:
    """Return the first bytes of each piece as a number that sorts as they do."""
    found = np.zeros((len(starts), _PREFIX_BYTES), np.uint8)
    for column in range(_PREFIX_BYTES):  # all at once would take 17 MB for a moment
        is_inside = starts + column < ends
        found[is_inside, column] = text[starts[is_inside] + column]
    prefixes: npt.NDArray[np.uint64] = found.view(">u8").ravel().astype(np.uint64)
    return prefixes
