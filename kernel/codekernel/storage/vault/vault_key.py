"""Find or create the key of the vault: environment variable, key file or OS keyring.

Call only while holding the opening lock. Each call of the keyring has a timeout.
"""

import logging
import os
import re
import secrets
import stat
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from codekernel.errors import VaultUnavailable
from codekernel.storage.safe_files import FILE_MODE, create_file_atomically, translate_os_errors
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

KEY_BYTES = 32

_HEX_KEY = re.compile(rf"[0-9a-fA-F]{{{KEY_BYTES * 2}}}")

VAULT_KEY_VARIABLE = "CODEKERNEL_VAULT_KEY"

_VAULT_ID = re.compile(r"[0-9a-f]{32}")

_logger = logging.getLogger(__name__)


class KeySourceDamaged(VaultUnavailable):
    """A file that should lead to the vault's key does not; ``path`` may be quarantined."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def parse_hex_key(text: str) -> bytes | None:
    """Return the 32 bytes of 64 hexadecimal characters, or None for anything else."""
    return bytes.fromhex(text) if _HEX_KEY.fullmatch(text) else None


def read_key_file(path: Path) -> bytes | None:
    """Return the key kept at ``path``, or None if there is no such file."""
    text = _read_text(path)
    if text is None:
        return None
    with suppress(OSError):  # the key can be read, and that is what matters now
        if os.name != "nt" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            path.chmod(FILE_MODE)
            _logger.warning("the key file %s was open to other accounts; it no longer is", path)
    key = parse_hex_key(text)
    if key is None:
        raise KeySourceDamaged(
            f"The key file {path} is damaged: it should hold 64 hexadecimal characters."
            " It was left as it is. Put it back from a backup, or set CODEKERNEL_VAULT_KEY.",
            path,
        )
    return key


def _read_text(path: Path) -> str | None:
    with translate_os_errors(path):
        try:
            return path.read_bytes().decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None


def create_key_file(path: Path, key: bytes) -> bool:
    """Write a new key file; false if one is already there."""
    return create_file_atomically(path, f"{key.hex()}\n".encode("ascii"))


class VaultKeyLost(VaultUnavailable):
    """There is a vault, and its key cannot be found anywhere."""


@dataclass(frozen=True, slots=True)
class VaultKey:
    """The raw 256-bit key, and a phrase that says where it was found."""

    raw: bytes = field(repr=False)
    origin: str


def find_or_create_key(user_data: UserData, environ: Mapping[str, str]) -> VaultKey:
    """Find the vault's key; make one only where there is no vault yet."""
    if VAULT_KEY_VARIABLE in environ:
        return _parse_environment_key(environ[VAULT_KEY_VARIABLE])
    # Before the keyring: a key file exists only where no keyring answered when the vault was
    # made, so a keyring that answers today does not have this vault's key.
    if (key := read_key_file(user_data.key_file)) is not None:
        return VaultKey(key, f"the key file {user_data.key_file}")
    vault_id = _read_vault_id(user_data)
    try:
        found = _read_keyring_key(user_data, vault_id)
    except KeyringUnavailable:
        if user_data.database_file.exists():
            # A locked keyring answers again: no reason to give the vault up.
            raise VaultUnavailable(
                _describe_missing_key(user_data, "the OS keyring does not answer")
            ) from None
        found = ""
    if isinstance(found, VaultKey):
        return found
    if user_data.database_file.exists():
        raise VaultKeyLost(_describe_missing_key(user_data, found))
    return _create_key(user_data, vault_id or secrets.token_hex(16))


def _parse_environment_key(value: str) -> VaultKey:
    key = parse_hex_key(value)
    if key is None:
        raise VaultUnavailable(
            f"{VAULT_KEY_VARIABLE} must be exactly 64 hexadecimal characters."
            ' Make a key with: python -c "import secrets; print(secrets.token_hex(32))",'
            " or remove the variable to let codekernel keep a key itself."
        )
    return VaultKey(key, VAULT_KEY_VARIABLE)


def _read_vault_id(user_data: UserData) -> str | None:
    path = user_data.vault_id_file
    vault_id = _read_text(path)
    if vault_id is not None and not _VAULT_ID.fullmatch(vault_id):
        raise KeySourceDamaged(
            f"{path} is damaged: it should hold the 32 characters under which the OS keyring keeps"
            f" the vault's key. Put it back from a backup, set {VAULT_KEY_VARIABLE}, or, if there"
            f" is no {user_data.database_file.name} beside it, delete it.",
            path,
        )
    return vault_id


def _read_keyring_key(user_data: UserData, vault_id: str | None) -> VaultKey | str:
    """Return the key, or a phrase that says why the keyring does not have it.

    Raises KeyringUnavailable.
    """
    if vault_id is None:
        return "the OS keyring was never given a key for it"
    entry = f"vault:{vault_id}"
    secret = read_secret(entry)
    if secret is None:
        return f'the OS keyring has no entry "{entry}" of "{KEYRING_SERVICE}"'
    key = parse_hex_key(secret)
    if key is None:
        # Without the file that names the entry, the next key gets an entry of its own.
        raise KeySourceDamaged(
            f'The entry "{entry}" of "{KEYRING_SERVICE}" in the OS keyring is damaged:'
            " it should be 64 hexadecimal characters. It was left as it is; correct it or set"
            f" {VAULT_KEY_VARIABLE}.",
            user_data.vault_id_file,
        )
    return VaultKey(key, "the OS keyring")


def _describe_missing_key(user_data: UserData, keyring_reason: str) -> str:
    return (
        f"The vault {user_data.database_file} is there but its key is not to be found:"
        f" {VAULT_KEY_VARIABLE} is not set, there is no key file {user_data.key_file},"
        f" and {keyring_reason}. Nothing was changed. Unlock the keyring, put the key file back, or"
        f" set {VAULT_KEY_VARIABLE}. If the key is lost for good, move {user_data.database_file}"
        " and the -wal file beside it away: codekernel then starts an empty vault, and"
        " repositories and API keys are entered again."
    )


def _create_key(user_data: UserData, vault_id: str) -> VaultKey:
    key = secrets.token_bytes(KEY_BYTES)
    try:
        store_secret(f"vault:{vault_id}", key.hex())
    except KeyringUnavailable:
        path = user_data.key_file
        # A process without the lock may be faster; its key is the key then.
        in_file = key if create_key_file(path, key) else read_key_file(path)
        if in_file is None:
            raise VaultUnavailable(
                f"{path} came and went while the vault was made: try again."
            ) from None
        return VaultKey(in_file, f"the key file {path}")
    create_file_atomically(user_data.vault_id_file, f"{vault_id}\n".encode("ascii"))
    return VaultKey(key, "the OS keyring")


KEYRING_SERVICE = "codekernel"

# Long enough for a busy machine to answer, short enough for a user to wait.
KEYRING_TIMEOUT_SECONDS = 5.0

_Answer = TypeVar("_Answer")


class KeyringUnavailable(Exception):
    """The keyring failed, is not there, or took too long."""


def read_secret(user_name: str, timeout_seconds: float = KEYRING_TIMEOUT_SECONDS) -> str | None:
    """Return the secret kept under ``user_name``, or None if the keyring has none."""
    return _call_with_timeout(
        lambda keyring: keyring.get_password(KEYRING_SERVICE, user_name), timeout_seconds
    )


def store_secret(user_name: str, secret: str) -> None:
    """Store ``secret`` under ``user_name``, and check that the keyring returns it."""

    def store(keyring: "KeyringBackend") -> str | None:
        keyring.set_password(KEYRING_SERVICE, user_name, secret)
        return keyring.get_password(KEYRING_SERVICE, user_name)

    if _call_with_timeout(store) != secret:
        raise KeyringUnavailable


def _call_with_timeout(
    call: "Callable[[KeyringBackend], _Answer]", timeout_seconds: float = KEYRING_TIMEOUT_SECONDS
) -> _Answer:
    set_session_bus_address(Path("/run/user"), os.environ)
    answer: Future[_Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(call(_load_backend()))
        except BaseException as error:  # noqa: BLE001  # backends raise what they like
            answer.set_exception(error)

    threading.Thread(target=run, name="keyring", daemon=True).start()
    try:
        failure = answer.exception(timeout=timeout_seconds)
    except TimeoutError as error:
        failure = error
    if failure is not None:
        # Only the type: a backend may quote the secret in its message.
        _logger.info("the OS keyring does not answer (%s)", type(failure).__name__)
        raise KeyringUnavailable from None
    return answer.result()


def _load_backend() -> "KeyringBackend":
    if sys.platform != "darwin":
        # keyring imports every backend, and that of macOS finds its libraries by running ldconfig,
        # gcc and ld, which write temporary files.
        sys.modules.setdefault("keyring.backends.macOS.api", None)  # type: ignore[arg-type]
    import keyring  # noqa: PLC0415  # 0.1 s that a start without a vault must not pay

    backend = keyring.get_keyring()
    if type(backend).__module__ in {"keyring.backends.fail", "keyring.backends.null"}:
        raise KeyringUnavailable
    return backend


def set_session_bus_address(run_user: Path, environ: MutableMapping[str, str]) -> None:
    """Set the address of the user's session bus where the environment lacks it.

    The front end starts the kernel with an empty environment and a terminal does not; both must
    reach the same keyring to find the vault's key.
    """
    if sys.platform != "linux" or environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return
    bus = run_user / str(os.getuid()) / "bus"
    if bus.exists():
        environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={bus}"
