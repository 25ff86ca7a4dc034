"""A pack: vectors of one model as one immutable object, named by its content.

    header   magic, version, bytes per key, dimensions, rows, the digest of the model
    proof    of the header and the keys
    keys     one for each row: the hash of its text, made with the team's salt
    rows     the vector in float16, exactly as indexes store it, and a proof of key and vector

A proof is a keyed hash: whoever does not know the salt can make none, and a changed bit is found
in the part that was fetched, without fetching the rest. Rows lie in the order in which they were
embedded, so that those of one repository are neighbours.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

KEY_BYTES = 16  # among a billion texts, two share a key with a chance of 1 in 10^20
_PROOF_BYTES = 16
_ROW_PROOF_BYTES = 8
_MODEL_BYTES = 32
_HEADER = struct.Struct(f"<4sHHII{_MODEL_BYTES}s")
_MAGIC, _VERSION = b"CKVP", 1

HEAD_BYTES = _HEADER.size + _PROOF_BYTES

MAX_PACK_ROWS = 16_384  # 8.8 MB of 256 dimensions

_NAME = re.compile(r"(?P<owner>[0-9a-f]{16})-(?P<rows>[1-9]\d{0,4})-[0-9a-f]{32}\.pack")

HalfArray: TypeAlias = npt.NDArray[np.float16]


class PackDamaged(Exception):
    """Bytes that are not what this team has written."""


@dataclass(frozen=True, slots=True)
class TeamSecret:
    """What the salt of a team is used for: names of texts, and proofs."""

    key_of_texts: bytes
    key_of_proofs: bytes
    tag: str  # tells the packs of this salt from those of another one

    @classmethod
    def from_salt(cls, salt: str) -> "TeamSecret":
        """Derive all from the salt."""
        # Slow on purpose: a salt that a person has made up could be guessed.
        secret = hashlib.scrypt(salt.encode(), salt=b"codekernel team", n=2**14, r=8, p=1)

        def derive(purpose: bytes) -> bytes:
            return hashlib.blake2b(purpose, key=secret, digest_size=32).digest()

        return cls(derive(b"texts"), derive(b"proofs"), derive(b"tag").hex()[:16])

    def hash_text(self, text: str) -> bytes:
        """Return the key of a text."""
        content = text.encode(errors="surrogatepass")
        return hashlib.blake2b(content, key=self.key_of_texts, digest_size=KEY_BYTES).digest()

    def prove(self, content: bytes, size: int = _PROOF_BYTES) -> bytes:
        """Return the proof that a member of the team wrote ``content``."""
        return hashlib.blake2b(content, key=self.key_of_proofs, digest_size=size).digest()

    def start_proof(self) -> "hashlib.blake2b":
        """Return what proves a part of an index that is read piece by piece."""
        # Of another kind than the proofs of vectors, so that none can stand for the other.
        return hashlib.blake2b(key=self.key_of_proofs, digest_size=_PROOF_BYTES, person=b"index")

    def hash_name(self, name: str) -> str:
        """Return a name for the store that nobody without the salt can read."""
        content = name.encode(errors="surrogatepass")
        key = self.key_of_texts
        return hashlib.blake2b(content, key=key, digest_size=KEY_BYTES, person=b"name").hexdigest()


@dataclass(frozen=True, slots=True)
class PackFormat:
    """What all packs of one model have in common; ``model`` is the digest of its files."""

    secret: TeamSecret
    model: str
    dimensions: int

    @property
    def row_bytes(self) -> int:
        """The size of a row with its proof."""
        return 2 * self.dimensions + _ROW_PROOF_BYTES

    @property
    def folder(self) -> str:
        """Where the packs of this model and salt lie in the store."""
        return f"vectors/1/{self.secret.tag}/{self.model[:32]}/"

    def build(self, owner: str, keys: Sequence[bytes], vectors: HalfArray) -> tuple[str, bytes]:
        """Return the name and the content of a pack."""
        header = self._build_header(len(keys))
        joined = b"".join(keys)
        proof = self.secret.prove(header + joined)
        numbers = np.ascontiguousarray(vectors, dtype="<f2")
        rows = b"".join(
            row + self._prove_row(key, row)
            for key, row in zip(keys, map(bytes, numbers), strict=True)
        )
        content = b"".join((header, proof, joined, rows))
        digest = hashlib.sha256(content).hexdigest()[:32]
        return f"{self.folder}{owner}-{len(keys)}-{digest}.pack", content

    def parse_keys(self, head: bytes) -> list[bytes]:
        """Return the keys in the first bytes of a pack. Raises PackDamaged."""
        header, rest = head[: _HEADER.size], head[_HEADER.size :]
        proof, joined = rest[:_PROOF_BYTES], rest[_PROOF_BYTES:]
        if header != self._build_header(len(joined) // KEY_BYTES):
            raise PackDamaged("its header is of another model or version")
        if proof != self.secret.prove(header + joined):
            raise PackDamaged("its keys are not those that were written")
        return [joined[start : start + KEY_BYTES] for start in range(0, len(joined), KEY_BYTES)]

    def parse_row(self, key: bytes, content: bytes) -> bytes:
        """Return the numbers of a row. Raises PackDamaged."""
        row, proof = content[:-_ROW_PROOF_BYTES], content[-_ROW_PROOF_BYTES:]
        if len(content) != self.row_bytes or proof != self._prove_row(key, row):
            raise PackDamaged("a vector is not the one that was written")
        return row

    def to_array(self, rows: Iterable[bytes]) -> HalfArray:
        """Return the numbers of rows as an array."""
        return np.frombuffer(b"".join(rows), "<f2").reshape(-1, self.dimensions)

    def _build_header(self, rows: int) -> bytes:
        model = bytes.fromhex(self.model)[:_MODEL_BYTES]
        return _HEADER.pack(_MAGIC, _VERSION, KEY_BYTES, self.dimensions, rows, model)

    def _prove_row(self, key: bytes, row: bytes) -> bytes:
        return self.secret.prove(self.model.encode() + key + row, _ROW_PROOF_BYTES)


@dataclass(frozen=True, slots=True)
class PackName:
    """What the name of a pack says: who has contributed it, and how many rows it has."""

    name: str
    owner: str
    rows: int

    @property
    def head_bytes(self) -> int:
        """The size of everything in front of the rows."""
        return HEAD_BYTES + KEY_BYTES * self.rows


def parse_pack_name(name: str) -> PackName | None:
    """Return what a name says; None for an object that is no pack."""
    match = _NAME.fullmatch(name.rpartition("/")[2])
    if match is None or int(match["rows"]) > MAX_PACK_ROWS:
        return None
    return PackName(name, match["owner"], int(match["rows"]))
