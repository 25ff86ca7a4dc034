"""A pack gives back what was put in, and nothing that a member did not write."""

import dataclasses
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from codekernel.packs import pack_archive
from codekernel.packs.pack_archive import (
    FOOTER_BYTES,
    MAGIC,
    PackArchive,
    PackedConfig,
    PackManifest,
    PackRefused,
    parse_tail,
    write_pack,
)
from codekernel.sharing.vector_pack import TeamSecret
from support.team_secret import SECRET

MANIFEST = PackManifest("demo", "ab" * 20, "", "1", 2, 3, 1.5, (PackedConfig("cd" * 32, 8, 300),))
PARTS = {"one": [b"1" * 5000, b"", b"2"], "two:file.idx": [], "three": [bytes(range(256)) * 9]}


def pack(tmp_path: Path, parts: Mapping[str, Any] = PARTS, secret: TeamSecret = SECRET) -> bytes:
    target = tmp_path / "pack"
    write_pack(target, MANIFEST, parts, secret)
    return target.read_bytes()


def unpack(content: bytes, secret: TeamSecret = SECRET) -> dict[str, bytes]:
    archive = PackArchive(io.BytesIO(content), len(content), secret)
    archive.prove_parts()
    return {name: b"".join(archive.open_part(name).iterate()) for name in archive.list_names()}


def forge(content: bytes, **changes: object) -> bytes:
    """Return a pack with another manifest, as somebody with the salt could make it."""
    length = int.from_bytes(content[-FOOTER_BYTES : -FOOTER_BYTES + 4], "little")
    begin = len(content) - FOOTER_BYTES - length
    fields = json.loads(content[begin : begin + length]) | changes
    return rebuild(content[:begin], fields)


def rebuild(parts: bytes, fields: dict[str, Any]) -> bytes:
    manifest = json.dumps(fields).encode()
    proof = SECRET.start_proof()
    proof.update(manifest)
    return parts + manifest + len(manifest).to_bytes(4, "little") + proof.digest() + MAGIC


def forge_part(raw: bytes, **changes: object) -> bytes:
    stored = zlib.compress(raw)
    proof = SECRET.start_proof()
    proof.update(stored)
    part = {
        "name": "bomb",
        "stored_bytes": len(stored),
        "raw_bytes": len(raw),
        "proof": proof.hexdigest(),
    }
    fields = dataclasses.asdict(MANIFEST) | {"parts": [part | changes]}
    return rebuild(MAGIC + stored, fields)


def test_parts_and_manifest_come_back(tmp_path: Path) -> None:
    content = pack(tmp_path)
    assert unpack(content) == {name: b"".join(pieces) for name, pieces in PARTS.items()}
    archive = PackArchive(io.BytesIO(content), len(content), SECRET)
    assert dataclasses.replace(archive.manifest, parts=()) == MANIFEST


def test_a_part_is_read_in_pieces_of_any_size(tmp_path: Path) -> None:
    content = pack(tmp_path)
    part = PackArchive(io.BytesIO(content), len(content), SECRET).open_part("one")
    assert [part.read(4), part.read(4990), part.read(100), part.read(1)] == [
        b"1111",
        b"1" * 4990,
        b"1" * 6 + b"2",
        b"",
    ]


def test_every_bit_counts(tmp_path: Path) -> None:
    content = pack(tmp_path)
    for at in range(len(content)):
        changed = content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]
        with pytest.raises(PackRefused):
            unpack(changed)


def test_a_pack_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    content = pack(tmp_path)
    for size in range(len(content)):
        with pytest.raises(PackRefused):
            unpack(content[:size])


def test_another_salt_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(PackRefused, match="nobody of the team has written it"):
        unpack(pack(tmp_path), TeamSecret.from_salt("the salt of somebody else"))


def test_the_proof_of_a_vector_pack_proves_no_index() -> None:
    content = b"{}"
    proof = SECRET.start_proof()
    proof.update(content)
    assert proof.digest() != SECRET.prove(content)


def test_a_bomb_is_not_unpacked_beyond_its_manifest() -> None:
    with pytest.raises(PackRefused, match="longer than its manifest says"):
        unpack(forge_part(bytes(50_000_000), raw_bytes=1000))


def test_a_bomb_that_is_declared_is_refused_before_it_is_read() -> None:
    with pytest.raises(PackRefused, match="larger than any index"):
        unpack(forge_part(b"", raw_bytes=pack_archive.MAX_RAW_BYTES + 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"raw_bytes": 10**6}, "shorter than its manifest says"),
        ({"name": "../evil"}, "not allowed"),
        ({"name": "a/b"}, "not allowed"),
        ({"name": ""}, "not allowed"),
        ({"stored_bytes": -1}, "no sizes"),
        ({"stored_bytes": 10**6}, "not as long"),
        ({"stored_bytes": "many"}, "cannot be read"),
        ({"more": 1}, "cannot be read"),
        ({"proof": "00"}, "is not what a member"),
    ],
)
def test_a_manifest_that_lies_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(PackRefused, match=words):
        unpack(forge_part(b"content", **changes))


@pytest.mark.parametrize("changes", [{"parts": 5}, {"configs": [{}]}, {"parts": None}, {"x": 1}])
def test_a_manifest_of_another_form_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(PackRefused, match="its manifest cannot be read"):
        unpack(forge(pack(tmp_path), **changes))


def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    content = pack(tmp_path, {"one": [b"x"]})
    archive = PackArchive(io.BytesIO(content), len(content), SECRET)
    part = dataclasses.asdict(archive.manifest.parts[0])
    with pytest.raises(PackRefused, match="not allowed"):
        unpack(forge(content, parts=[part, part]))


def test_a_part_that_is_no_compressed_data_is_refused() -> None:
    stored = b"not zlib at all"
    proof = SECRET.start_proof()
    proof.update(stored)
    part = {"name": "x", "stored_bytes": 15, "raw_bytes": 5, "proof": proof.hexdigest()}
    content = rebuild(MAGIC + stored, dataclasses.asdict(MANIFEST) | {"parts": [part]})
    with pytest.raises(PackRefused, match="cannot be unpacked"):
        unpack(content)


def test_the_manifest_is_read_from_the_end_alone(tmp_path: Path) -> None:
    content = pack(tmp_path)
    assert parse_tail(content[-30:], SECRET) is None
    found = parse_tail(content[-2000:], SECRET)
    assert found
    assert found.chunks == MANIFEST.chunks
    with pytest.raises(PackRefused, match="it is no pack"):
        parse_tail(b"x" * 2000, SECRET)
