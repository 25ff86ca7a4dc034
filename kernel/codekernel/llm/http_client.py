"""Urls of chat APIs, HTTP clients (timeouts, proxies, certificates), and the pool of connections.

Each connection serves one request at a time: over HTTP/2 httpx cannot abort one stream without the
others, and a stopped answer must stop costing money.
"""

import contextlib
import importlib.util
import json
import logging
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

from codekernel import __version__
from codekernel.domain.concurrency import Lazy
from codekernel.errors import NetworkError, WrongParam

DEFAULT_TIMEOUTS = httpx.Timeout(
    # A host that exists accepts within a second or two even across the world; 10 s is also what
    # the front end's earlier kernel allowed.
    connect=10.0,
    # Between two pieces of an answer. A large model may think this long before its first token.
    read=30.0,
    # Requests are small; a peer that does not take one in this time has stopped reading.
    write=10.0,
    # A client serves few requests at a time: waiting for a free connection means something hangs.
    pool=10.0,
)

# Long enough to read an answer and ask again, and shorter than routers and load balancers keep a
# silent connection.
POOL_LIMITS = httpx.Limits(max_connections=None, keepalive_expiry=60.0)

# A package of its own, which a distribution of httpx may leave out.
HAS_HTTP2 = importlib.util.find_spec("h2") is not None

_ANTHROPIC_HOST = "api.anthropic.com"
_ANTHROPIC_HEADERS = {b"anthropic-version": b"2023-06-01"}

_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

CHAT_PATH = "/chat/completions"

OLLAMA_PATH = "/api/chat"

OLLAMA_PORT = 11434

MAX_HOST_LABEL_CHARS = 63  # of DNS; a longer one breaks name resolution instead of failing it


def resolve_chat_url(url: str) -> str:
    """Return ``url`` itself if it is a full endpoint, else with ``/chat/completions`` appended.

    No sentence raised here quotes the url: people paste keys into the wrong field.
    """
    return resolve_model_url(url, CHAT_PATH)


def resolve_model_url(url: str, path: str) -> str:
    """Return ``url`` itself if it ends with ``path``, else with ``path`` appended."""
    parts = _parse_url(url)
    base = parts.path.rstrip("/")
    return url if base.endswith(path) else parts._replace(path=base + path).geturl()


def resolve_ollama_url(url: str) -> str | None:
    """Return the url of Ollama's own API, if ``url`` means that one; else None.

    Ollama's port serves OpenAI's API too, under /v1. A path /api alone means nothing: other
    servers have their OpenAI-compatible API there.
    """
    parts = _parse_url(url)
    base = parts.path.rstrip("/")
    if base.endswith(OLLAMA_PATH):
        return url
    if parts.port == OLLAMA_PORT and base in {"", "/api"}:
        return parts._replace(path=OLLAMA_PATH).geturl()
    return None


def _parse_url(url: str) -> SplitResult:
    if not url.isprintable() or " " in url or "\\" in url:
        raise WrongParam(
            "The url contains a space, a backslash or an invisible character; remove it."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongParam("The url has a host or a port that cannot exist; check both.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise WrongParam(
            "The url must begin with http:// or https:// and name a host, "
            "such as https://api.example.com/v1."
        )
    if "@" in parts.netloc:
        # It would replace the Authorization header, and settings must not hold a secret.
        raise WrongParam("The url contains a user name or password; put the key in its own field.")
    if port == 0 or not _is_host_name(parts.hostname):
        raise WrongParam("The url has a host or a port that cannot exist; check both.")
    return parts


def _is_host_name(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    return all(0 < len(label) <= MAX_HOST_LABEL_CHARS for label in labels)


def make_http_client(
    timeouts: httpx.Timeout = DEFAULT_TIMEOUTS,
    *,
    ssl_context: ssl.SSLContext | None = None,
    is_local: bool = False,
) -> httpx.Client:
    """Make a client that honours the proxy and certificate variables of the environment.

    ``ssl_context`` saves loading the authorities again, which takes longer than all the rest. A
    client for a server inside this process uses no proxy.
    """
    for library in ("httpx", "httpcore", "h2", "hpack"):
        # They log each url at INFO and each header at DEBUG, and either may hold a key.
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        return httpx.Client(
            timeout=timeouts,
            verify=ssl_context or load_ssl_context(),
            trust_env=not is_local,
            http2=HAS_HTTP2,
            limits=POOL_LIMITS,
            follow_redirects=False,  # a key must not travel to another host
            headers={"User-Agent": f"codekernel/{__version__}"},
        )
    except (httpx.InvalidURL, ValueError):
        raise NetworkError(
            f"The proxy settings of this machine ({_list_proxy_variables()}) cannot be understood: "
            "write a proxy as http://host:port and NO_PROXY as host names with commas between."
        ) from None


def build_chat_request(
    client: httpx.Client, url: str, *, api_key: str, payload: dict[str, Any]
) -> httpx.Request:
    """Prepare the POST of ``payload`` to ``url``; an empty key sends no Authorization at all."""
    headers = {b"Content-Type": b"application/json", **_build_key_headers(api_key)}
    # ASCII-only JSON: a model name with half a surrogate pair must not fail in the encoder.
    return _build_request(client, "POST", url, headers, json.dumps(payload).encode())


def build_list_request(client: httpx.Client, url: str, *, api_key: str) -> httpx.Request:
    """Prepare the GET of an endpoint's list of models."""
    headers = _build_key_headers(api_key)
    if api_key and urlsplit(url).hostname == _ANTHROPIC_HOST:
        # Its chat takes the headers of OpenAI, its list its own alone.
        headers = {b"x-api-key": _encode_api_key(api_key), **_ANTHROPIC_HEADERS}
    return _build_request(client, "GET", url, headers, None)


def _build_key_headers(api_key: str) -> dict[bytes, bytes]:
    return {b"Authorization": b"Bearer " + _encode_api_key(api_key)} if api_key else {}


def _build_request(
    client: httpx.Client, method: str, url: str, headers: dict[bytes, bytes], content: bytes | None
) -> httpx.Request:
    try:
        return client.build_request(method, url, headers=headers, content=content)
    except (httpx.InvalidURL, UnicodeError):  # the latter from the rules of international names
        raise NetworkError("The url names a host that cannot exist; check its spelling.") from None


def _encode_api_key(api_key: str) -> bytes:
    if any(ord(character) < ord(" ") or character == "\x7f" for character in api_key):
        fault = "a line break or another invisible character"
    elif api_key != api_key.strip():
        fault = "a space at its beginning or end"
    else:
        try:
            return api_key.encode("latin-1")
        except UnicodeEncodeError:
            fault = "a letter or sign that cannot be sent"
    raise NetworkError(f"The key contains {fault}, a character no key has: copy the key again.")


def load_ssl_context() -> ssl.SSLContext:
    """Load the certificate authorities of httpx, the system and a company."""
    folder = os.environ.get("SSL_CERT_DIR")
    if folder and not os.environ.get("SSL_CERT_FILE") and not Path(folder).is_dir():
        # OpenSSL would report nothing and then trust no server.
        raise NetworkError("SSL_CERT_DIR does not name a folder: correct it, or unset it.")
    try:
        context = httpx.create_ssl_context(trust_env=True)
    except OSError:
        raise NetworkError(
            "SSL_CERT_FILE does not name a readable file of PEM certificates: "
            "correct it, or unset it."
        ) from None
    if not folder and not os.environ.get("SSL_CERT_FILE"):
        # Beside the authorities that come with httpx: a company installs its own in the system.
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _list_proxy_variables() -> str:
    names = [
        name for name in _PROXY_VARIABLES for case in (name, name.lower()) if os.environ.get(case)
    ]
    return ", ".join(dict.fromkeys(names)) or "the system's own"


# As many conversations as run at the same time; more are opened when needed, but not kept.
MAX_IDLE_CONNECTIONS = 8


class HttpConnection:
    """A client with at most one socket, which another thread can abort."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.is_aborted = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def attach_socket(self, stream: Any) -> None:
        """Save a socket that httpx has just opened or wrapped in TLS."""
        with self._lock:
            self._socket = stream.get_extra_info("socket")
        if self.is_aborted:
            self.abort()

    def abort(self) -> None:
        """End every read and write at once; the connection cannot be used again."""
        with self._lock:
            self.is_aborted = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    # Not the method of a TLS socket: that would drop the session while it is read.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class HttpConnectionPool:
    """Connections to one endpoint; any number of threads may use it."""

    def __init__(self, timeouts: httpx.Timeout, *, is_local: bool = False) -> None:
        self._timeouts = timeouts
        self._is_local = is_local
        self._ssl_context = Lazy(load_ssl_context)
        self._lock = threading.Lock()
        self._idle: list[HttpConnection] = []
        self._is_closed = False

    def warm_up(self) -> None:
        """Make the first client in the background, without connecting.

        It loads libraries and authorities, for which the first question would wait.
        """

        def make_client() -> None:
            # What is wrong with the environment is reported by the first request.
            with contextlib.suppress(NetworkError):
                self.release(self.acquire(), is_reusable=True)

        threading.Thread(target=make_client, name="chat:prepare", daemon=True).start()

    def acquire(self) -> HttpConnection:
        """Return the idle connection used last, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        context = self._ssl_context()
        client = make_http_client(self._timeouts, ssl_context=context, is_local=self._is_local)
        return HttpConnection(client)

    def release(self, connection: HttpConnection, *, is_reusable: bool) -> None:
        """Take a connection back; one whose reply was not read to its end is closed."""
        is_reusable = is_reusable and not connection.is_aborted
        with self._lock:
            if is_reusable and not self._is_closed and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.client.close()

    def close(self) -> None:
        """Close idle connections now, and those in use when they are released."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.client.close()


_DEFAULT_PORTS = {"http": 80, "https": 443}


class RequestRoute:
    """The host or proxy that httpx connected to, which its errors do not name.

    Listens as the request's ``trace`` extension, and tells ``connection`` its sockets.
    """

    def __init__(self, url: httpx.URL) -> None:
        self.scheme = url.scheme
        self.host = url.netloc.decode("ascii")
        self._endpoint = (url.raw_host.decode("ascii"), url.port or _DEFAULT_PORTS[url.scheme])
        self._connected_to = self._endpoint
        self._is_in_tunnel = False
        self.is_request_sent = False
        self.connection: HttpConnection | None = None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Note each connection that is about to be opened, and each tunnel through one."""
        if event == "connection.connect_tcp.started":
            self._connected_to = (info["host"], info["port"])
            self._is_in_tunnel = False
        elif event == "proxy.start_tls.started":
            self._is_in_tunnel = True
            self.is_request_sent = False  # only the wish for a tunnel was
        elif event.endswith("send_request_body.complete"):
            self.is_request_sent = True
        if self.connection and event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.connection.attach_socket(info["return_value"])

    @property
    def proxy(self) -> str | None:
        """The proxy in between, as ``host:port``; None if there is none."""
        if self._connected_to == self._endpoint:
            return None
        host, port = self._connected_to
        return f"{host}:{port}"

    @property
    def tls_peer(self) -> str:
        """Whose certificate was looked at last; a proxy may have one of its own."""
        if self.proxy is None or self._is_in_tunnel:
            return self.host
        return f"the proxy {self.proxy}"


def get_route(request: httpx.Request) -> RequestRoute:
    """Find the route of ``request``, which listens from the first call on."""
    route = request.extensions.get("trace")
    if not isinstance(route, RequestRoute):
        route = RequestRoute(request.url)
        request.extensions["trace"] = route
    return route
