"""Signatures of packs, as minisign makes them: Ed25519 of the BLAKE2b of a file.

The salt of a team proves that one of the team wrote a pack; a signature proves which of them. Keys
and signatures have the format of minisign, whose programs make and check them, too.
"""

import hashlib
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from codekernel.errors import StorageError
from codekernel.packs.pack_archive import PackRefused
from codekernel.storage.safe_files import translate_os_errors

SIGNATURE_SUFFIX = ".minisig"

MAX_SIGNATURE_BYTES = 4_096

_KEY_KIND, _SIGNATURE_KIND, _CHECKSUM_KIND = b"Ed", b"ED", b"B2"
_ID_BYTES, _KEY_BYTES, _SIGNATURE_BYTES, _CHECKSUM_BYTES = 8, 32, 64, 32
# Salt and limits of the password, which there is none of.
_NO_PASSWORD = bytes(2), bytes(48)

_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "


class SigningKeyInvalid(StorageError):
    """A text that is no signing key; the message says what is."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """Who may have signed."""

    key_id: bytes
    content: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``encode`` returns. Raises PackRefused."""
        found = _decode(text)
        if len(found) != len(_KEY_KIND) + _ID_BYTES + _KEY_BYTES or found[:2] != _KEY_KIND:
            raise PackRefused(f"sharing.trustedKeys has something that is no key: {text[:60]!r}")
        return cls(found[2 : 2 + _ID_BYTES], found[2 + _ID_BYTES :])

    def encode(self) -> str:
        """Return the line that minisign has in its file."""
        return _encode(_KEY_KIND + self.key_id + self.content)

    def verify(self, signature: bytes, content: bytes) -> bool:
        """Return whether the owner of this key signed ``content``."""
        try:
            Ed25519PublicKey.from_public_bytes(self.content).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The secret of who signs."""

    key_id: bytes
    seed: bytes

    @classmethod
    def make(cls) -> Self:
        """Return a new key."""
        return cls(secrets.token_bytes(_ID_BYTES), secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``encode`` returns, or a file of minisign without a password.

        Raises SigningKeyInvalid.
        """
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        found = _decode(lines[-1]) if lines else b""
        kind, password, checksum = found[:2], found[2:4], found[4:6]
        secret = found[6 + len(_NO_PASSWORD[1]) :]
        size = _ID_BYTES + 2 * _KEY_BYTES + _CHECKSUM_BYTES
        if (kind, checksum, len(secret)) != (_KEY_KIND, _CHECKSUM_KIND, size):
            raise SigningKeyInvalid("the signing key is none: codekernel pack key makes one")
        if password != _NO_PASSWORD[0]:
            raise SigningKeyInvalid("the signing key has a password: make one with minisign -G -W")
        key = cls(secret[:_ID_BYTES], secret[_ID_BYTES : _ID_BYTES + _KEY_BYTES])
        if secret != key._join_secret():
            raise SigningKeyInvalid("the signing key is damaged: its checksum is another one")
        return key

    @property
    def public(self) -> PublicKey:
        """Return what others check with."""
        return PublicKey(self.key_id, self._open().public_key().public_bytes_raw())

    def encode(self) -> str:
        """Return the line that minisign has in its file."""
        return _encode(
            _KEY_KIND + _NO_PASSWORD[0] + _CHECKSUM_KIND + _NO_PASSWORD[1] + self._join_secret()
        )

    def sign(self, path: Path, comment: str) -> bytes:
        """Return the signature of a file, and of a comment of one line. Raises StorageError."""
        signature = self._open().sign(_hash_file(path))
        both = self._open().sign(signature + comment.encode())
        lines = (
            f"{_UNTRUSTED}signature of a codekernel pack",
            _encode(_SIGNATURE_KIND + self.key_id + signature),
            f"{_TRUSTED}{comment}",
            _encode(both),
        )
        return "".join(f"{line}\n" for line in lines).encode()

    def _open(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)

    def _join_secret(self) -> bytes:
        secret = self.key_id + self.seed + self.public.content
        hashed = hashlib.blake2b(_KEY_KIND + secret, digest_size=_CHECKSUM_BYTES).digest()
        return secret + hashed


def require_signature(path: Path, content: bytes, trusted: Collection[PublicKey]) -> None:
    """Raise PackRefused unless ``content`` is a signature of the file by one of these keys."""
    lines = [*content.decode(errors="replace").splitlines(), "", "", "", ""]
    _, first, trusted_line, second, *_ = lines
    found, comment = _decode(first), trusted_line.removeprefix(_TRUSTED).encode()
    if len(found) != 2 + _ID_BYTES + _SIGNATURE_BYTES or found[:2] != _SIGNATURE_KIND:
        raise PackRefused("its signature cannot be read")
    key_id, signature = found[2 : 2 + _ID_BYTES], found[2 + _ID_BYTES :]
    key = next((each for each in trusted if each.key_id == key_id), None)
    if key is None:
        raise PackRefused(
            "it is signed with a key that sharing.trustedKeys does not name,"
            f" {key_id[::-1].hex().upper()}"
        )
    is_true = key.verify(signature, _hash_file(path))
    if not (is_true and key.verify(_decode(second), signature + comment)):
        raise PackRefused("its signature is not of what it holds: it was changed, or replaced")


def _hash_file(path: Path) -> bytes:
    with translate_os_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).digest()


def _encode(content: bytes) -> str:
    return b64encode(content).decode()


def _decode(text: str) -> bytes:
    """Return what a line stands for; nothing if it is no base64."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return b""
