"""A pack of an index: parts one after another, each compressed, then a manifest that proves them.

    magic
    parts       zlib
    manifest    JSON: what it is an index of, and of each part name, sizes and proof
    footer      length of the manifest, its proof, magic

A proof is a keyed hash: whoever does not know the salt of the team can make none. Nothing of a part
is looked at before it is proved, and never more of it than the manifest says.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from codekernel.errors import StorageError
from codekernel.sharing.vector_pack import TeamSecret

MAGIC = b"CKINDEX1"

_FOOTER = struct.Struct(f"<I16s{len(MAGIC)}s")
FOOTER_BYTES = _FOOTER.size

MAX_MANIFEST_BYTES = 1_000_000

# Of all parts together, uncompressed: ten times what the largest repository measured takes.
MAX_RAW_BYTES = 40_000_000_000

_READ_BYTES = 1_000_000
_COMPRESSION_LEVEL = 6

# No folders: what a part becomes on the disk is decided by who reads it.
_PART_NAME = re.compile(r"[a-z0-9][a-z0-9._:-]{0,79}")


class PackRefused(StorageError):
    """A pack that is not used; the message says why."""


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A part as the manifest describes it."""

    name: str
    stored_bytes: int
    raw_bytes: int
    proof: str


@dataclass(frozen=True, slots=True)
class PackedConfig:
    """Vectors of one model and chunk size; ``model`` is the digest of its files."""

    model: str
    dimensions: int
    max_chunk_chars: int


@dataclass(frozen=True, slots=True)
class PackManifest:
    """What a pack is an index of."""

    repository: str
    commit: str
    prefix: str
    analysis: str
    files: int
    chunks: int
    built_at: float
    configs: tuple[PackedConfig, ...] = ()
    parts: tuple[PackedPart, ...] = ()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Raises PackRefused."""
        try:
            fields: dict[str, Any] = json.loads(content)
            fields["configs"] = tuple(PackedConfig(**each) for each in fields["configs"])
            fields["parts"] = tuple(PackedPart(**each) for each in fields["parts"])
            manifest = cls(**fields)
            manifest._check()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PackRefused(f"its manifest cannot be read: {error}") from error
        return manifest

    def _check(self) -> None:
        names = [part.name for part in self.parts]
        if len({*names}) < len(names) or not all(map(_PART_NAME.fullmatch, names)):
            raise PackRefused("its parts have names that are not allowed")
        if any(min(part.stored_bytes, part.raw_bytes) < 0 for part in self.parts):
            raise PackRefused("its parts have no sizes")
        if sum(part.raw_bytes for part in self.parts) > MAX_RAW_BYTES:
            raise PackRefused("it would become larger than any index")


def write_pack(
    target: Path, manifest: PackManifest, parts: Mapping[str, Iterable[bytes]], secret: TeamSecret
) -> None:
    """Write a pack; the manifest gets its parts here."""
    with target.open("wb") as file:
        file.write(MAGIC)
        written = tuple(_write_part(file, name, parts[name], secret) for name in parts)
        fields = asdict(manifest) | {"parts": [asdict(part) for part in written]}
        content = json.dumps(fields).encode()
        proof = secret.start_proof()
        proof.update(content)
        file.write(content + _FOOTER.pack(len(content), proof.digest(), MAGIC))


def _write_part(
    file: BinaryIO, name: str, pieces: Iterable[bytes], secret: TeamSecret
) -> PackedPart:
    packer, proof = zlib.compressobj(_COMPRESSION_LEVEL), secret.start_proof()
    begin, raw = file.tell(), 0

    def write(stored: bytes) -> None:
        proof.update(stored)
        file.write(stored)

    for piece in pieces:
        raw += len(piece)
        write(packer.compress(piece))
    write(packer.flush())
    return PackedPart(name, file.tell() - begin, raw, proof.hexdigest())


class PackArchive:
    """A pack on the disk, whose manifest is proved; parts are proved before they are read."""

    def __init__(self, file: BinaryIO, size: int, secret: TeamSecret) -> None:
        """Raises PackRefused."""
        self._file, self._secret = file, secret
        if size < len(MAGIC) + FOOTER_BYTES or file.read(len(MAGIC)) != MAGIC:
            raise PackRefused("it is cut off, or no pack")
        file.seek(size - FOOTER_BYTES)
        length, proof, magic = _FOOTER.unpack(file.read(FOOTER_BYTES))
        begin = size - FOOTER_BYTES - length
        if magic != MAGIC or length > MAX_MANIFEST_BYTES or begin < len(MAGIC):
            raise PackRefused("it is cut off, or no pack")
        file.seek(begin)
        self.manifest = prove_manifest(file.read(length), proof, secret)
        self._places: dict[str, tuple[int, PackedPart]] = {}
        place = len(MAGIC)
        for part in self.manifest.parts:
            self._places[part.name] = place, part
            place += part.stored_bytes
        if place != begin:
            raise PackRefused("its parts are not as long as its manifest says")

    def prove_parts(self) -> None:
        """Compare every part with its proof. Raises PackRefused."""
        for begin, part in self._places.values():
            found, left = self._secret.start_proof(), part.stored_bytes
            self._file.seek(begin)
            while left and (piece := self._file.read(min(_READ_BYTES, left))):
                found.update(piece)
                left -= len(piece)
            if left or found.hexdigest() != part.proof:
                raise PackRefused(f"its part {part.name} is not what a member of the team wrote")

    def list_names(self) -> list[str]:
        """Return the names of all parts."""
        return list(self._places)

    def open_part(self, name: str) -> "PartReader":
        """Return a reader of one part; one at a time. Raises PackRefused."""
        if name not in self._places:
            raise PackRefused(f"its part {name} is missing")
        begin, part = self._places[name]
        self._file.seek(begin)
        return PartReader(self._file, part)


def prove_manifest(content: bytes, proof: bytes, secret: TeamSecret) -> PackManifest:
    """Return a manifest that a member of the team wrote. Raises PackRefused."""
    found = secret.start_proof()
    found.update(content)
    if found.digest() != proof:
        raise PackRefused("nobody of the team has written it, or it was changed since")
    return PackManifest.parse(content)


def parse_tail(tail: bytes, secret: TeamSecret) -> PackManifest | None:
    """Return the manifest in the last bytes of a pack; None if it begins before them.

    Raises PackRefused.
    """
    length, proof, magic = _FOOTER.unpack(tail[-FOOTER_BYTES:])
    if magic != MAGIC or length > MAX_MANIFEST_BYTES:
        raise PackRefused("it is no pack")
    if length + FOOTER_BYTES > len(tail):
        return None
    return prove_manifest(tail[-FOOTER_BYTES - length : -FOOTER_BYTES], proof, secret)


class PartReader:
    """The content of a part, never more than its manifest says."""

    def __init__(self, file: BinaryIO, part: PackedPart) -> None:
        self._file, self._part = file, part
        self._stored_left, self._raw_left = part.stored_bytes, part.raw_bytes
        self._unpacker = zlib.decompressobj()

    @property
    def raw_bytes(self) -> int:
        """How long the content is."""
        return self._part.raw_bytes

    def read(self, size: int) -> bytes:
        """Return so many bytes; fewer only at the end. Raises PackRefused."""
        pieces, missing = [], min(size, self._raw_left)
        while missing:
            piece = self._unpack(missing)
            pieces.append(piece)
            missing -= len(piece)
            self._raw_left -= len(piece)
        if not self._raw_left:
            self._require_end()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def iterate(self) -> Iterator[bytes]:
        """Yield all of it, piece by piece. Raises PackRefused."""
        while piece := self.read(_READ_BYTES):
            yield piece

    def _unpack(self, size: int) -> bytes:
        try:
            while True:
                piece = self._unpacker.decompress(self._take_stored(), size)
                if piece:
                    return piece
                if self._unpacker.eof or not (self._unpacker.unconsumed_tail or self._stored_left):
                    raise self._build_refusal("shorter")
        except zlib.error as error:
            raise PackRefused(f"its part {self._part.name} cannot be unpacked") from error

    def _take_stored(self) -> bytes:
        if tail := self._unpacker.unconsumed_tail:
            return tail
        piece = self._file.read(min(_READ_BYTES, self._stored_left))
        self._stored_left = self._stored_left - len(piece) if piece else 0
        return piece

    def _require_end(self) -> None:
        """Refuse what would become larger than the manifest says."""
        while not self._unpacker.eof and (stored := self._take_stored()):
            if self._unpacker.decompress(stored, 1):
                raise self._build_refusal("longer")

    def _build_refusal(self, comparison: str) -> PackRefused:
        return PackRefused(f"its part {self._part.name} is {comparison} than its manifest says")
