"""Parse a SentencePiece model file (protobuf) without the protobuf library.

Vocabulary pieces and normalizer settings. tokenizer_loader builds the tokenizer from them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

UNIGRAM, BPE = 1, 2

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3

_TEXT, _SCORE, _KIND = 1, 2, 3

_ALGORITHM, _BYTE_FALLBACK, _UNKNOWN_ID, _BEGIN_ID, _END_ID = 3, 35, 40, 41, 42

_CHARACTER_MAP, _ADD_DUMMY_PREFIX, _REMOVE_EXTRA_WHITESPACES = 2, 3, 4

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_WIDTHS = {_FIXED64: 8, _FIXED32: 4}

_MAX_VARINT_BYTES = 10  # bytes; a negative number takes them all

_NOT_SENTENCEPIECE_TEXT = "is not a SentencePiece model"


class InvalidSentencePiece(ValueError):
    """Bytes that are no SentencePiece model; the message continues after the name of the file."""


@dataclass(frozen=True, slots=True)
class VocabularyPiece:
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
    pieces = []
    specs: dict[int, _ProtobufMessage] = {}
    for number, value in _read_fields(content):
        if number == _PIECES:
            pieces.append(_read_piece(_ProtobufMessage(value)))
        elif number in {_TRAINER, _NORMALIZER}:
            specs[number] = _ProtobufMessage(value)
    if not pieces:
        raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
    if len(specs) < len({_TRAINER, _NORMALIZER}):  # they are written last
        raise InvalidSentencePiece("is cut short; the download or copy did not finish")
    trainer, normalizer = specs[_TRAINER], specs[_NORMALIZER]
    return SentencePieceModel(
        pieces=pieces,
        algorithm=trainer.get_integer(_ALGORITHM, UNIGRAM),
        byte_fallback=bool(trainer.get_integer(_BYTE_FALLBACK, 0)),
        unknown_id=trainer.get_integer(_UNKNOWN_ID, 0),
        begin_id=trainer.get_integer(_BEGIN_ID, 1),
        end_id=trainer.get_integer(_END_ID, 2),
        character_map=normalizer.get_bytes(_CHARACTER_MAP),
        add_dummy_prefix=bool(normalizer.get_integer(_ADD_DUMMY_PREFIX, 1)),
        remove_extra_whitespaces=bool(normalizer.get_integer(_REMOVE_EXTRA_WHITESPACES, 1)),
    )


def _read_piece(message: "_ProtobufMessage") -> VocabularyPiece:
    try:
        text = message.get_bytes(_TEXT).decode()
    except UnicodeDecodeError as error:
        raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT) from error
    return VocabularyPiece(text, message.get_float(_SCORE), message.get_integer(_KIND, NORMAL))


class _ProtobufMessage:
    """The fields of one protobuf message; of a repeated one, the last."""

    def __init__(self, content: int | bytes) -> None:
        if isinstance(content, int):
            raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
        self._values = dict(_read_fields(content))

    def get_integer(self, number: int, default: int) -> int:
        value = self._values.get(number, default)
        if not isinstance(value, int):
            raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
        return value - (1 << 64) if value >= 1 << 63 else value  # negative ids mean: none

    def get_bytes(self, number: int) -> bytes:
        value = self._values.get(number, b"")
        if isinstance(value, int):
            raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
        return value

    def get_float(self, number: int) -> float:
        value = self.get_bytes(number) or bytes(_WIDTHS[_FIXED32])
        if len(value) != _WIDTHS[_FIXED32]:
            raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT)
        return float(struct.unpack("<f", value)[0])


def _read_fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
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
    if at < len(content) and content[at] < 0x80:  # noqa: PLR2004 - most: a million in a large model
        return content[at], at + 1
    value = 0
    for i, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return value, at + i + 1
    raise InvalidSentencePiece("is cut short or damaged")
