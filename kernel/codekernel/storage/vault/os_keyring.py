"""Read and store secrets in the keyring of the operating system, each call with a timeout."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

KEYRING_SERVICE = "codekernel"

# Long enough for a busy machine to answer, short enough for a user to wait.
KEYRING_TIMEOUT_SECONDS = 5.0

_logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class KeyringUnavailable(Exception):
    """The keyring failed, is not there, or took too long."""


def read_secret(user_name: str) -> str | None:
    """Return the secret kept under ``user_name``, or None if the keyring has none."""
    return _call_with_timeout(lambda keyring: keyring.get_password(KEYRING_SERVICE, user_name))


def store_secret(user_name: str, secret: str) -> None:
    """Store ``secret`` under ``user_name``, and check that the keyring returns it."""

    def store(keyring: "KeyringBackend") -> str | None:
        keyring.set_password(KEYRING_SERVICE, user_name, secret)
        return keyring.get_password(KEYRING_SERVICE, user_name)

    if _call_with_timeout(store) != secret:
        raise KeyringUnavailable


def _call_with_timeout(call: "Callable[[KeyringBackend], _Answer]") -> _Answer:
    set_session_bus_address(Path("/run/user"))
    answer: Future[_Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(call(_load_backend()))
        except BaseException as error:  # noqa: BLE001  # backends raise what they like
            answer.set_exception(error)

    threading.Thread(target=run, name="keyring", daemon=True).start()
    try:
        failure = answer.exception(timeout=KEYRING_TIMEOUT_SECONDS)
    except TimeoutError as error:
        failure = error
    if failure is not None:
        # Only the type: a backend may quote the secret in its message.
        _logger.info("the OS keyring does not answer (%s)", type(failure).__name__)
        raise KeyringUnavailable from None
    return answer.result()


def _load_backend() -> "KeyringBackend":
    _disable_macos_backend()
    import keyring  # noqa: PLC0415  # 0.1 s that a start without a vault must not pay
    from keyring.backends import fail, null  # noqa: PLC0415

    backend = keyring.get_keyring()
    if isinstance(backend, fail.Keyring | null.Keyring):
        raise KeyringUnavailable
    return backend


def _disable_macos_backend() -> None:
    """Keep keyring from searching for the libraries of macOS on other systems.

    It imports every backend, and that one finds its libraries by running ldconfig, gcc and ld,
    which write temporary files.
    """
    if sys.platform != "darwin":
        sys.modules.setdefault("keyring.backends.macOS.api", None)  # type: ignore[arg-type]


def set_session_bus_address(run_user: Path) -> None:
    """Set the address of the user's session bus where the environment lacks it.

    The front end starts the kernel with an empty environment and a terminal does not; both must
    reach the same keyring to find the vault's key.
    """
    if sys.platform != "linux" or os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return
    bus = run_user / str(os.getuid()) / "bus"
    if bus.exists():
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={bus}"
