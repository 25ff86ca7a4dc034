"""A pack gives back exactly what was put in, or says that it is not what the team wrote."""

from dataclasses import replace

import numpy as np
import pytest
from codekernel.sharing.vector_pack import (
    HEAD_BYTES,
    KEY_BYTES,
    PackDamaged,
    PackFormat,
    TeamSecret,
    parse_pack_name,
)
from sharing.team_world import FORMAT, make_texts, make_vectors
from support.team_secret import SECRET

OWNER = "0123456789abcdef"
TEXTS = make_texts(5)
KEYS = [SECRET.hash_text(text) for text in TEXTS.values()]


def build() -> tuple[str, bytes]:
    return FORMAT.build(OWNER, KEYS, make_vectors(TEXTS))


def cut_row(content: bytes, row: int) -> bytes:
    start = HEAD_BYTES + KEY_BYTES * len(KEYS) + FORMAT.row_bytes * row
    return content[start : start + FORMAT.row_bytes]


def test_a_pack_gives_back_keys_and_vectors_to_the_bit() -> None:
    name, content = build()
    pack = parse_pack_name(name)
    assert pack
    assert (pack.owner, pack.rows) == (OWNER, len(KEYS))
    assert len(content) == pack.head_bytes + pack.rows * FORMAT.row_bytes
    assert FORMAT.parse_keys(content[: pack.head_bytes]) == KEYS
    rows = [FORMAT.parse_row(key, cut_row(content, row)) for row, key in enumerate(KEYS)]
    assert np.array_equal(FORMAT.to_array(rows), make_vectors(TEXTS))


def test_the_same_vectors_have_the_same_name_and_others_another() -> None:
    assert build()[0] == build()[0]
    assert build()[0] != FORMAT.build(OWNER, KEYS[::-1], make_vectors(TEXTS))[0]


def test_every_changed_byte_is_found() -> None:
    content = build()[1]
    head = HEAD_BYTES + KEY_BYTES * len(KEYS)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        row = max(0, place - head) // FORMAT.row_bytes
        with pytest.raises(PackDamaged):
            parse_both(bytes(changed), row)


def parse_both(content: bytes, row: int) -> None:
    FORMAT.parse_keys(content[: HEAD_BYTES + KEY_BYTES * len(KEYS)])
    FORMAT.parse_row(KEYS[row], cut_row(content, row))


def test_a_row_of_another_text_is_refused() -> None:
    with pytest.raises(PackDamaged):
        FORMAT.parse_row(KEYS[0], cut_row(build()[1], 1))


@pytest.mark.parametrize(
    "other",
    [
        replace(FORMAT, model="cd" * 32),
        replace(FORMAT, dimensions=4),
        replace(FORMAT, secret=TeamSecret.from_salt("the salt of others")),
    ],
    ids=["model", "dimensions", "salt"],
)
def test_a_pack_of_another_model_or_team_is_refused(other: PackFormat) -> None:
    content = build()[1]
    with pytest.raises(PackDamaged):
        other.parse_keys(content[: HEAD_BYTES + KEY_BYTES * len(KEYS)])
    with pytest.raises(PackDamaged):
        other.parse_row(KEYS[0], cut_row(content, 0))


def test_a_key_tells_nothing_without_the_salt() -> None:
    other = TeamSecret.from_salt("the salt of others")
    assert other.hash_text("text") != SECRET.hash_text("text")
    assert other.tag != SECRET.tag


@pytest.mark.parametrize(
    "name",
    ["vectors/1/readme.txt", f"{OWNER}-0-{'a' * 32}.pack", f"{OWNER}-99999-{'a' * 32}.pack", ""],
)
def test_what_is_no_pack_is_not_taken_for_one(name: str) -> None:
    assert parse_pack_name(name) is None
