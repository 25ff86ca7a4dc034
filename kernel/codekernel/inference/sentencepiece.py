"""Parse a SentencePiece model file (protobuf) without the protobuf library.

Vocabulary pieces and normalizer settings. tokenizer_loader builds the tokenizer from them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

UNIGRAM, BPE = 1, 2

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3

_TEXT, _SCORE, _KIND = 1, 2, 3

_ALGORITHM, _BYTE_FALLBACK, _UNKNOWN_ID, _BEGIN_ID, _END_ID = 3, 35, 40, 41, 42

_CHARACTER_MAP, _ADD_DUMMY_PREFIX, _REMOVE_EXTRA_WHITESPACES = 2, 3, 4

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_WIDTHS = {_FIXED64: 8, _FIXED32: 4}

_MAX_VARINT_BYTES = 10  # bytes; a negative number takes them all

_MORE_FOLLOWS = 0x80  # the high bit of all bytes of a varint but the last

_NOT_SENTENCEPIECE_TEXT = "is not a SentencePiece model"


class InvalidSentencePiece(ValueError):
    """Bytes that are no SentencePiece model; the message continues after the name of the file."""


class VocabularyPiece(NamedTuple):
    """One entry of the vocabulary; its place is its id."""

    text: str
    score: float
    kind: int


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """The content of a file, with the format's defaults for what it omits."""

    pieces: list[VocabularyPiece]
    algorithm: int
    byte_fallback: bool
    unknown_id: int
    begin_id: int
    end_id: int
    character_map: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool


def read_sentencepiece(content: bytes) -> SentencePieceModel:
    """Parse a model file; raises InvalidSentencePiece if it is truncated or something else."""
    try:
        return _build_model(content)
    except (AttributeError, TypeError, UnicodeDecodeError, struct.error) as error:
        # A number where there should be bytes, or the reverse.
        raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT) from error


def _build_model(content: bytes) -> SentencePieceModel:
    pieces = []
    specs: dict[int, dict[int, Any]] = {}
    for number, value in _read_fields(content):
        if number == _PIECES:
            piece: dict[int, Any] = dict(_read_fields(value))
            (score,) = struct.unpack("<f", piece.get(_SCORE, bytes(_WIDTHS[_FIXED32])))
            kind = _get_integer(piece, _KIND, NORMAL)
            pieces.append(VocabularyPiece(piece.get(_TEXT, b"").decode(), score, kind))
        elif number in {_TRAINER, _NORMALIZER}:
            specs[number] = dict(_read_fields(value))
    if not pieces:
        raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
    if len(specs) < len({_TRAINER, _NORMALIZER}):  # they are written last
        raise InvalidSentencePiece("is cut short; the download or copy did not finish")
    trainer, normalizer = specs[_TRAINER], specs[_NORMALIZER]
    return SentencePieceModel(
        pieces=pieces,
        algorithm=_get_integer(trainer, _ALGORITHM, UNIGRAM),
        byte_fallback=bool(_get_integer(trainer, _BYTE_FALLBACK, 0)),
        unknown_id=_get_integer(trainer, _UNKNOWN_ID, 0),
        begin_id=_get_integer(trainer, _BEGIN_ID, 1),
        end_id=_get_integer(trainer, _END_ID, 2),
        character_map=b"" + normalizer.get(_CHARACTER_MAP, b""),
        add_dummy_prefix=bool(_get_integer(normalizer, _ADD_DUMMY_PREFIX, 1)),
        remove_extra_whitespaces=bool(_get_integer(normalizer, _REMOVE_EXTRA_WHITESPACES, 1)),
    )


def _get_integer(message: dict[int, Any], number: int, default: int) -> int:
    value: int = message.get(number, default)
    return value - (1 << 64) if value >= 1 << 63 else value  # negative ids mean: none


def _read_fields(content: Any) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message; of a repeated one, the last counts."""
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            width, at = _read_varint(content, at)
        elif wire in _WIDTHS:
            width = _WIDTHS[wire]
        else:
            raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
        if at + width > len(content):
            raise InvalidSentencePiece("is cut short or damaged")
        yield key >> 3, content[at : at + width]
        at += width


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    if at < len(content) and content[at] < _MORE_FOLLOWS:  # most: a million in a large model
        return content[at], at + 1
    value = 0
    for i, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < _MORE_FOLLOWS:
            return value, at + i + 1
    raise InvalidSentencePiece("is cut short or damaged")
