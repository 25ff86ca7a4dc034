"""Another machine's end: dial the hub and carry lines between it and the kernel of this machine.

Only messages about agent sessions are passed on to the kernel. A connection that breaks is made
again for ever, with growing pauses.
"""

import json
import logging
import random
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from codekernel.adapters.hub.certificate import format_fingerprint
from codekernel.adapters.hub.machine_link import (
    ALIVE_FRAME,
    CODE_PREFIX,
    KEY_PREFIX,
    LINK_PATH,
    NAME_HEADER,
)
from codekernel.client.relay import make_attach_line
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import KernelError, NetworkError, WrongParam
from codekernel.transport.lines import MAX_LINE_BYTES, LineSplitter
from codekernel.transport.local_endpoint import LocalPipe

logger = logging.getLogger(__name__)

# What a hub may ask of the kernel of another machine: agent sessions, and nothing else.
ALLOWED_MESSAGES = frozenset(
    {
        "getAgentMachine", "getAgentSessions", "getAgentSession", "startAgentSession",
        "readAgentMessages", "sendAgentMessage", "cancelAgentMessage", "answerAgentPermission",
        "getAgentPermissions", "stopAgentTurn", "updateAgentSession", "deleteAgentSession",
        "askAgentFolder", "followAgentSessions",
    }
)  # fmt: skip

ALIVE_INTERVAL_SECONDS = 10.0

OPEN_TIMEOUT_SECONDS = 10.0

INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 30.0

_READ_BYTES = 64 * 1024

_UNAUTHORIZED_STATUSES = (401, 403)

_HTTP_PORT, _HTTPS_PORT = 80, 443

_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


class JoinRefused(NetworkError):
    """The hub does not know this machine's key or code; trying again does not help."""


@dataclass(frozen=True, slots=True)
class HubAddress:
    """Where the hub is; ``fingerprint`` is that of its own certificate, if it has one."""

    host: str
    port: int
    is_secure: bool
    fingerprint: str = ""

    @classmethod
    def from_url(cls, url: str, fingerprint: str = "") -> "HubAddress":
        """Parse an address. Raises WrongParam unless it is https, or of this machine."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in {"http", "https"}:
            raise WrongParam(f"{url} is no address of a hub: it begins with https://.")
        is_secure = parts.scheme == "https"
        if not is_secure and host not in _LOOPBACK_HOSTS:
            raise WrongParam(f"{url} is not encrypted: a hub on another machine needs https://.")
        return cls(host, port or (_HTTPS_PORT if is_secure else _HTTP_PORT), is_secure, fingerprint)

    @property
    def authority(self) -> str:
        """The host and the port, as the Host header has them."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.is_secure and self.port == _HTTPS_PORT
        return name if is_default else f"{name}:{self.port}"

    def open_socket(self) -> socket.socket:
        """Connect, and check who answers. Raises OSError, JoinRefused."""
        plain = socket.create_connection((self.host, self.port), OPEN_TIMEOUT_SECONDS)
        if not self.is_secure:
            return plain
        context = ssl.create_default_context()
        if self.fingerprint:  # the hub's own certificate is known by it, and by nothing else
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        secured = context.wrap_socket(plain, server_hostname=self.host)
        certificate = secured.getpeercert(binary_form=True) or b""
        if self.fingerprint and format_fingerprint(certificate) != self.fingerprint.upper():
            secured.close()
            raise JoinRefused("The certificate of the hub has another fingerprint.")
        return secured


class MachineJoiner:
    """Keeps the connection of this machine to a hub until it is stopped."""

    def __init__(
        self,
        address: HubAddress,
        name: str,
        connect_kernel: Callable[[], LocalPipe],
        *,
        on_paired: Callable[[str], None],
        report: Callable[[str], None],
    ) -> None:
        """``on_paired`` keeps the key that a code was exchanged for."""
        self._address = address
        self._name = name
        self._connect_kernel = connect_kernel
        self._on_paired = on_paired
        self._report = report

    def run(self, secret: str, stop: CancelToken, *, is_code: bool = False) -> None:
        """Connect, carry lines, and connect again. Raises JoinRefused if the hub refuses."""
        pause = INITIAL_BACKOFF_SECONDS
        prefix = CODE_PREFIX if is_code else KEY_PREFIX
        while True:
            try:
                with self._open(f"{prefix}{secret}") as connection:
                    key = _read_welcome(connection)
                    if key:
                        self._on_paired(key)
                        prefix, secret = KEY_PREFIX, key
                    self._report("connected to the hub")
                    pause = INITIAL_BACKOFF_SECONDS
                    with stop.on_cancel(connection.close_socket):
                        self._carry(connection)
                reason = "the connection to the hub has ended"
            except JoinRefused:
                raise
            except (OSError, EOFError, InvalidHandshake, ConnectionClosed, KernelError) as error:
                reason = f"the hub cannot be used: {error}"
            if stop.is_cancelled:
                return
            self._report(f"{reason}; trying again in {pause:.0f} s")
            stop.wait(pause * random.SystemRandom().uniform(0.8, 1.2))
            pause = min(2 * pause, MAX_BACKOFF_SECONDS)

    def _open(self, authorization: str) -> ClientConnection:
        headers = {
            "Authorization": authorization,
            NAME_HEADER: self._name.encode("ascii", "replace").decode(),
        }
        try:
            return connect(
                f"ws://{self._address.authority}{LINK_PATH}",
                sock=self._address.open_socket(),
                additional_headers=headers,
                compression=None,
                proxy=None,
                open_timeout=OPEN_TIMEOUT_SECONDS,
                max_size=MAX_LINE_BYTES,
                user_agent_header="codekernel",
            )
        except InvalidStatus as error:
            if error.response.status_code in _UNAUTHORIZED_STATUSES:
                raise JoinRefused(
                    "The hub refuses this machine: it was revoked, or the code was used or is too"
                    " old. codekernel hub pair shows another code."
                ) from error
            raise

    def _carry(self, connection: ClientConnection) -> None:
        """Carry lines until either side ends."""
        kernel = self._connect_kernel()
        kernel.write(make_attach_line("hub"))
        ended = threading.Event()
        threads = [
            threading.Thread(target=_send_replies, args=(kernel, connection), daemon=True),
            threading.Thread(target=_send_alive, args=(connection, ended), daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            splitter = LineSplitter()
            for frame in connection:
                if isinstance(frame, bytes):
                    for line in splitter.feed(frame):
                        _pass_request(line if isinstance(line, bytes) else b"", kernel, connection)
        finally:
            ended.set()
            kernel.close()


def _read_welcome(connection: ClientConnection) -> str:
    """Return the key that the hub gives for a code; empty if this machine has one."""
    try:
        return str(json.loads(connection.recv(timeout=OPEN_TIMEOUT_SECONDS))["key"])
    except (ValueError, KeyError, TypeError) as error:
        raise NetworkError("This is no hub of codekernel.") from error


def _send_replies(kernel: LocalPipe, connection: ClientConnection) -> None:
    try:
        while content := kernel.read(_READ_BYTES):
            connection.send(content)
    except (OSError, ConnectionClosed):
        pass
    connection.close()


def _send_alive(connection: ClientConnection, ended: threading.Event) -> None:
    try:
        while not ended.wait(ALIVE_INTERVAL_SECONDS):
            connection.send(ALIVE_FRAME)
    except (OSError, ConnectionClosed):
        pass


def _pass_request(line: bytes, kernel: LocalPipe, connection: ClientConnection) -> None:
    """Pass a line on that is about agent sessions; answer any other with an error."""
    try:
        envelope: Any = parse_json(line)
        kind = envelope["message"]["type"]
        is_request = envelope["isReply"] is False and envelope["sessionId"] == -1
    except (ValueError, KeyError, TypeError):
        return
    if kind == "attach":  # this machine has attached itself
        return
    if is_request and kind in ALLOWED_MESSAGES:
        kernel.write(line + b"\n")
        return
    logger.warning("the hub asked for %r, which is not allowed", kind)
    status = {"code": "WRONG_PARAM", "message": "A hub may ask about agent sessions alone."}
    reply = {**envelope, "isReply": True, "status": status}
    connection.send(json.dumps(reply).encode() + b"\n")
