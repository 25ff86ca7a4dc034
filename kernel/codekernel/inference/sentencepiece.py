"""Parse a SentencePiece model file (protobuf) without the protobuf library.

Vocabulary pieces and normalizer settings. tokenizer_loader builds the tokenizer from them.
"""

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from codekernel.domain.untrusted_text import InvalidProtobuf, read_protobuf_fields

UNIGRAM, BPE = 1, 2

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3

_TEXT, _SCORE, _KIND = 1, 2, 3

_ALGORITHM, _BYTE_FALLBACK, _UNKNOWN_ID, _BEGIN_ID, _END_ID = 3, 35, 40, 41, 42

_CHARACTER_MAP, _ADD_DUMMY_PREFIX, _REMOVE_EXTRA_WHITESPACES = 2, 3, 4

_SCORE_BYTES = 4

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
    except InvalidProtobuf as error:
        raise InvalidSentencePiece(str(error) or _NOT_SENTENCEPIECE_TEXT) from error
    except (AttributeError, TypeError, UnicodeDecodeError, struct.error) as error:
        # A number where there should be bytes, or the reverse.
        raise InvalidSentencePiece(_NOT_SENTENCEPIECE_TEXT) from error


def _build_model(content: bytes) -> SentencePieceModel:
    pieces = []
    specs: dict[int, dict[int, Any]] = {}
    for number, value in read_protobuf_fields(content):
        if number == _PIECES:
            piece: dict[int, Any] = dict(read_protobuf_fields(value))
            (score,) = struct.unpack("<f", piece.get(_SCORE, bytes(_SCORE_BYTES)))
            kind = _get_integer(piece, _KIND, NORMAL)
            pieces.append(VocabularyPiece(piece.get(_TEXT, b"").decode(), score, kind))
        elif number in {_TRAINER, _NORMALIZER}:
            specs[number] = dict(read_protobuf_fields(value))
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
