"""The plugin end of document 002.

Connect to a backend with retry and backoff, or listen for backends, and answer their tool
calls. A result is sent again over the next connection until a ping confirms its delivery. The port
checks Host, Origin and bearer token, and runs its handler on a thread.
"""

import ipaddress
import logging
import random
import socket
import ssl
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from codekernel.adapters import websocket_server
from codekernel.adapters.ide.tool_calls import IdeToolExecutor
from codekernel.adapters.websocket_server import WebSocketServer
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import WrongParam
from codekernel.transport.http_messages import (
    BEARER_PREFIX,
    RequestHead,
    has_bearer_token,
    is_same_token,
    make_token,
    render_text,
)
from codekernel.transport.lines import MAX_LINE_BYTES
from codekernel.transport.listener import (
    ANY_HOST,
    LOOPBACK_HOST,
    HttpListener,
    open_listening_socket,
)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by a name that DNS cannot point elsewhere."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# After that the backend has given up on the call.
RESULT_RETENTION_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _RetainedResult:
    text: str
    created_at: float
    delivered: threading.Event = field(default_factory=threading.Event)

    @property
    def is_pending(self) -> bool:
        return (
            not self.delivered.is_set()
            and time.monotonic() - self.created_at <= RESULT_RETENTION_SECONDS
        )


class PluginSession:
    """Answers the calls of one backend over its current connection."""

    def __init__(self, executor: IdeToolExecutor) -> None:
        self._executor = executor
        self._connection: Connection | None = None
        self._unsent: deque[_RetainedResult] = deque()
        self._sent: list[_RetainedResult] = []
        self._lock = threading.Lock()

    def serve(self, connection: Connection) -> int:
        """Answer until the connection is closed; return the number of messages."""
        with self._lock:
            self._connection = connection
            self._unsent.extendleft(reversed(self._sent))
            self._sent = []
            self._flush()
        received = 0
        try:
            while True:
                message = connection.recv()
                received += 1
                self._executor.submit(message, self._send_reply)
        except ConnectionClosed:
            return received
        finally:
            with self._lock:
                if self._connection is connection:
                    self._connection = None

    def _send_reply(self, text: str) -> None:
        with self._lock:
            self._unsent.append(_RetainedResult(text, time.monotonic()))
            self._flush()

    def _flush(self) -> None:
        """Send what is unsent; the caller holds the lock, so that frames do not interleave."""
        self._sent = [result for result in self._sent if result.is_pending]
        while self._unsent and self._connection:
            result = self._unsent[0]
            if result.is_pending:
                try:
                    self._connection.send(result.text)
                    delivered = self._connection.ping()
                except ConnectionClosed:
                    self._connection = None
                    return
                self._sent.append(replace(result, delivered=delivered))
            self._unsent.popleft()


INITIAL_BACKOFF_SECONDS = 0.5

MAX_BACKOFF_SECONDS = 30.0

OPEN_TIMEOUT_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackendAddress:
    """The URL of a backend, with the query parameters of the document."""

    url: str

    @classmethod
    def from_url(
        cls, url: str, project_key: str, project_path: str, *, allow_remote: bool = False
    ) -> "BackendAddress":
        """Complete a URL. Raises WrongParam if it is none, or not of this machine."""
        parts = urlsplit(url)
        if parts.scheme not in {"ws", "wss"} or not parts.hostname:
            raise WrongParam(f"{url} is no address of a WebSocket: it begins with ws:// or wss://.")
        if not allow_remote and not is_loopback(parts.hostname):
            raise WrongParam(
                f"{parts.hostname} is another machine, which could read and change files here."
                " If that is meant, say --anywhere."
            )
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        query.setdefault("sessionId", str(uuid.uuid4()))
        query.setdefault("projectKey", project_key)
        query.setdefault("projectPath", project_path)
        return cls(urlunsplit(parts._replace(path=parts.path or "/", query=urlencode(query))))

    @property
    def project_key(self) -> str:
        """The name of the project in the query."""
        return dict(parse_qsl(urlsplit(self.url).query)).get("projectKey", "")


class BackendConnector:
    """Keeps a connection to a backend until it is stopped."""

    def __init__(
        self,
        address: BackendAddress,
        session: PluginSession,
        token: str = "",
        report: Callable[[str], None] = logger.info,
    ) -> None:
        self._address = address
        self._session = session
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._report = report

    def run(self, stop: CancelToken) -> None:
        """Connect, answer, and connect again, with exponential backoff after failures."""
        pause = INITIAL_BACKOFF_SECONDS
        while True:
            received, reason = self._connect_once(stop)
            if stop.is_cancelled:
                return
            # A backend that accepts and closes at once counts as a failure.
            pause = INITIAL_BACKOFF_SECONDS if received else pause
            self._report(f"{reason}; trying again in {pause:.1f} s")
            stop.wait(pause * random.SystemRandom().uniform(0.8, 1.2))
            pause = min(2 * pause, MAX_BACKOFF_SECONDS)

    def _connect_once(self, stop: CancelToken) -> tuple[int, str]:
        """Run one connection; return the number of messages, and why it ended."""
        try:
            with (
                connect(
                    self._address.url,
                    additional_headers=self._headers,
                    compression=None,
                    proxy=None,  # the backend is on this machine
                    open_timeout=OPEN_TIMEOUT_SECONDS,
                    ping_interval=websocket_server.PING_INTERVAL_SECONDS,
                    ping_timeout=websocket_server.PING_INTERVAL_SECONDS,
                    close_timeout=websocket_server.CLOSE_TIMEOUT_SECONDS,
                    max_size=MAX_LINE_BYTES,
                    user_agent_header="codekernel",
                    legacy=True,
                ) as connection,
                stop.on_cancel(connection.close_socket),
            ):
                self._report("connected")
                return self._session.serve(connection), "the connection was closed"
        except InvalidURI as error:
            raise WrongParam(str(error)) from error
        except InvalidHandshake as error:
            return 0, f"the backend refused: {error}"
        except ssl.SSLError as error:
            return 0, f"the backend's certificate is not good: {error.reason}"
        except (OSError, EOFError) as error:
            return 0, f"the backend cannot be reached: {error}"


class WebSocketPort:
    """Bound when it is constructed; accepts connections from ``serve`` or ``start`` on.

    Rejects requests without the token and requests of foreign web pages. A page cannot set the
    Authorization header, and browsers always send its Origin; the Host header shows a foreign name
    that was made to point at this machine.
    """

    def __init__(
        self,
        handler: Callable[[Connection], object],
        port: int = 0,
        token: str = "",
        *,
        allow_remote: bool = False,
    ) -> None:
        """Bind the port, 0 for any; an empty token makes a new one. Raises OSError."""
        self.token = token or make_token()
        self._handler = handler
        self._allow_remote = allow_remote
        self._websockets = WebSocketServer()
        listening = open_listening_socket(ANY_HOST if allow_remote else LOOPBACK_HOST, port)
        self.bound_address: tuple[str, int] = listening.getsockname()
        self.port_number = self.bound_address[1]
        self._known_hosts = {
            f"{name}:{self.port_number}" for name in (LOOPBACK_HOST, "localhost", "[::1]")
        }
        self._listener = HttpListener(listening, self._reject_request, self._serve, "ide")

    @property
    def url(self) -> str:
        """The address for programs on this machine, without the token."""
        return f"ws://{LOOPBACK_HOST}:{self.port_number}"

    def serve(self) -> None:
        """Serve until ``stop``, which another thread calls."""
        self._listener.run()

    def start(self) -> None:
        """Serve on its own thread."""
        threading.Thread(target=self.serve, name="ide:port", daemon=True).start()

    def stop(self) -> None:
        """Stop listening and close every connection, waiting a moment for the clients."""
        self._listener.stop()
        self._websockets.close_all()

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        self._websockets.serve(sock, head, self._handler)

    def _reject_request(self, head: RequestHead) -> bytes | None:
        """Return the error response; None accepts the request."""
        is_known_host = self._allow_remote or head.get_header("Host") in self._known_hosts
        origins = [each.partition("://")[2] for each in head.get_header_values("Origin")]
        if not is_known_host or origins[1:] or not self._known_hosts.issuperset(origins):
            return render_text(HTTPStatus.FORBIDDEN, "Only programs of this machine may ask this.")
        if not self._has_token(head):
            return render_text(
                HTTPStatus.UNAUTHORIZED,
                "Send the token: Authorization: Bearer ..., or token=... in the address.",
            )
        return None

    def _has_token(self, head: RequestHead) -> bool:
        headers = head.get_header_values("Authorization")
        if any(header.startswith(BEARER_PREFIX) for header in headers):
            return has_bearer_token(headers, self.token)
        in_query = parse_qs(head.query).get("token", [""])[0]
        return len(headers) <= 1 and is_same_token(in_query, self.token)
