"""Where the vault's key comes from: the environment, the key file, the OS keyring, or made anew.

Call only while holding the opening lock, so that two processes never make two keys.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel.errors import VaultUnavailable
from kernel.storage import os_keyring
from kernel.storage.atomic import create_bytes
from kernel.storage.failures import explain
from kernel.storage.key_file import (
    KEY_BYTES,
    KeySourceDamaged,
    create_key_file,
    key_from_hex,
    read_key_file,
)
from kernel.storage.user_data import UserData

VARIABLE = "CODEKERNEL_VAULT_KEY"

_VAULT_ID = re.compile(r"[0-9a-f]{32}")


class VaultKeyLost(VaultUnavailable):
    """There is a vault, and no place that could have its key has it."""


@dataclass(frozen=True, slots=True)
class VaultKey:
    """The raw 256-bit key, and a phrase that says where it was found."""

    raw: bytes = field(repr=False)
    origin: str


def find_or_make_key(user_data: UserData, environ: Mapping[str, str]) -> VaultKey:
    """Find the vault's key; make one only where there is no vault yet."""
    if VARIABLE in environ:
        return _from_environment(environ[VARIABLE])
    # Before the keyring: a key file exists only where no keyring answered when the vault was
    # made, so a keyring that answers today does not have this vault's key.
    if (key := read_key_file(user_data.key_file)) is not None:
        return VaultKey(key, f"the key file {user_data.key_file}")
    vault_id = _read_vault_id(user_data)
    try:
        found = _from_keyring(user_data, vault_id)
    except os_keyring.KeyringSilentError:
        if user_data.database_file.exists():
            # A locked keyring answers again: no reason to give the vault up.
            raise VaultUnavailable(
                _not_to_be_found(user_data, "the OS keyring does not answer")
            ) from None
        found = ""
    if isinstance(found, VaultKey):
        return found
    if user_data.database_file.exists():
        raise VaultKeyLost(_not_to_be_found(user_data, found))
    return _make(user_data, vault_id or secrets.token_hex(16))


def _from_environment(value: str) -> VaultKey:
    key = key_from_hex(value)
    if key is None:
        raise VaultUnavailable(
            f"{VARIABLE} must be exactly 64 hexadecimal characters."
            ' Make a key with: python -c "import secrets; print(secrets.token_hex(32))",'
            " or remove the variable to let codekernel keep a key itself."
        )
    return VaultKey(key, VARIABLE)


def _read_vault_id(user_data: UserData) -> str | None:
    path = user_data.vault_id_file
    try:
        vault_id = path.read_bytes().decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error
    if not _VAULT_ID.fullmatch(vault_id):
        raise KeySourceDamaged(
            f"{path} is damaged: it should hold the 32 characters under which the OS keyring keeps"
            f" the vault's key. Put it back from a backup, set {VARIABLE}, or, if there is no"
            f" {user_data.database_file.name} beside it, delete it.",
            path,
        )
    return vault_id


def _from_keyring(user_data: UserData, vault_id: str | None) -> VaultKey | str:
    """Return the key, or a phrase that says why the keyring does not have it.

    Raises KeyringSilentError.
    """
    if vault_id is None:
        return "the OS keyring was never given a key for it"
    entry = f"vault:{vault_id}"
    secret = os_keyring.read(entry)
    if secret is None:
        return f'the OS keyring has no entry "{entry}" of "{os_keyring.SERVICE}"'
    key = key_from_hex(secret)
    if key is None:
        # Without the file that names the entry, the next key gets an entry of its own.
        raise KeySourceDamaged(
            f'The entry "{entry}" of "{os_keyring.SERVICE}" in the OS keyring is damaged: it should'
            f" be 64 hexadecimal characters. It was left as it is; correct it or set {VARIABLE}.",
            user_data.vault_id_file,
        )
    return VaultKey(key, "the OS keyring")


def _not_to_be_found(user_data: UserData, keyring_said: str) -> str:
    return (
        f"The vault {user_data.database_file} is there but its key is not to be found:"
        f" {VARIABLE} is not set, there is no key file {user_data.key_file},"
        f" and {keyring_said}. Nothing was changed. Unlock the keyring, put the key file back, or"
        f" set {VARIABLE}. If the key is lost for good, move {user_data.database_file} and the"
        " -wal file beside it away: codekernel then starts an empty vault, and repositories and API"
        " keys are entered again."
    )


def _make(user_data: UserData, vault_id: str) -> VaultKey:
    key = secrets.token_bytes(KEY_BYTES)
    try:
        os_keyring.store(f"vault:{vault_id}", key.hex())
    except os_keyring.KeyringSilentError:
        return _make_key_file(user_data, key)
    create_bytes(user_data.vault_id_file, f"{vault_id}\n".encode("ascii"), mode=0o600)
    return VaultKey(key, "the OS keyring")


def _make_key_file(user_data: UserData, key: bytes) -> VaultKey:
    path = user_data.key_file
    origin = f"the key file {path}"
    if create_key_file(path, key):
        return VaultKey(key, origin)
    # Someone without our lock was faster; theirs is the key now.
    theirs = read_key_file(path)
    if theirs is None:
        raise VaultUnavailable(f"{path} came and went while the vault was made: try again.")
    return VaultKey(theirs, origin)
