"""Explain in one sentence why no answer came: DNS, TLS, proxy, refused connection, timeout.

The tables go by the types of the exceptions, never by their texts, which may quote headers and
urls. RequestRoute records which host or proxy httpx connected to.
"""

import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import httpx

_DEFAULT_PORTS = {"http": 80, "https": 443}


class RequestRoute:
    """Listens as the request's ``trace`` extension, since httpx's errors name no peer."""

    def __init__(self, url: httpx.URL) -> None:
        self.scheme = url.scheme
        self.host = url.netloc.decode("ascii")
        self._endpoint = (url.raw_host.decode("ascii"), url.port or _DEFAULT_PORTS[url.scheme])
        self._connected_to = self._endpoint
        self._is_in_tunnel = False
        self.is_request_sent = False
        self.on_socket_opened: Callable[[Any], None] = lambda _: None

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
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.on_socket_opened(info["return_value"])

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


COMPANY_PROXY_ADVICE = (
    "if a company proxy re-signs traffic, set SSL_CERT_FILE to a file with its certificate"
)

# By OpenSSL's numbers (X509_V_ERR_*), which the ssl module does not name.
_CERTIFICATE_PROBLEMS: tuple[tuple[frozenset[int], str, str], ...] = (
    (frozenset({18, 19}), "is self-signed, so it is not trusted", COMPANY_PROXY_ADVICE),
    (frozenset({2, 20, 21}), "was issued by nobody this machine trusts", COMPANY_PROXY_ADVICE),
    (
        frozenset({10}),
        "has expired",
        "ask whoever runs it to renew it, and check this machine's clock",
    ),
    (frozenset({9}), "is not valid yet", "check this machine's clock"),
    (frozenset({62, 64}), "belongs to another host name", "check the host in the url"),
)

# What OpenSSL calls bytes that are no TLS record; the word differs between its versions.
_PLAIN_TEXT_REASONS = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "RECORD_LAYER_FAILURE"}
) | {"PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL"}


def explain_tls_error(error: ssl.SSLError, peer: str) -> str:
    """Explain a handshake with ``peer`` that failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _explain_certificate_error(error.verify_code, peer)
    if error.reason in _PLAIN_TEXT_REASONS:
        return (
            f"{peer} does not speak TLS on this port: "
            "if the server is a plain one, write http:// instead of https://."
        )
    return (
        f"{peer} and codekernel could not agree on a secure connection "
        f"({error.reason or 'no reason given'}): "
        "check the url, and any proxy or firewall in between."
    )


def _explain_certificate_error(code: int, peer: str) -> str:
    for codes, problem, advice in _CERTIFICATE_PROBLEMS:
        if code in codes:
            return f"The certificate of {peer} {problem}: {advice}."
    return (
        f"The certificate of {peer} is not trusted (OpenSSL's code {code}): {COMPANY_PROXY_ADVICE}."
    )


PROXY_ADVICE = "check HTTP_PROXY and HTTPS_PROXY, or list the host in NO_PROXY"

_PROXY_LOGIN_STATUS = "407"

_DROPPED_ERRORS = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)

_ErrorTypes = type[BaseException] | tuple[type[BaseException], ...]

_DROPPED = "closed the connection without an answer"

# What a peer (the host or the proxy) did, and the advice where there is no proxy; the first row
# that fits.
_PEER_PROBLEMS: tuple[tuple[_ErrorTypes, str, str], ...] = (
    (
        socket.gaierror,
        "has a host name that could not be found (DNS)",
        "check the spelling of the url, and that this machine is online",
    ),
    (
        ConnectionRefusedError,
        "refused the connection",
        "check the host and port in the url, and that the server is running",
    ),
    (
        (ConnectionError, ssl.SSLEOFError),
        _DROPPED,
        "try again, and check any proxy or firewall in between",
    ),
    (
        httpx.ConnectTimeout,
        "did not accept a connection in time",
        "check the url, the network connection, and whether a proxy is needed",
    ),
    (UnicodeError, "has an address that cannot exist", "check the url"),
)

# What the host did, and the advice.
_NO_ANSWER_IN_TIME = (
    "accepted the request but did not answer in time: try again, or choose a faster model."
)

_HOST_PROBLEMS: tuple[tuple[_ErrorTypes, str], ...] = (
    (httpx.TimeoutException, _NO_ANSWER_IN_TIME),
    (httpx.DecodingError, "sent an answer that could not be decompressed: check the url."),
    # The request's own url has been checked before; httpx reads the one in a redirect by itself.
    (httpx.InvalidURL, "sends requests on to a place that cannot exist: check the url."),
)


def explain_network_error(error: Exception, route: RequestRoute) -> str:
    """Explain an exception that sending a request or reading its answer raised."""
    for cause in list_causes(error):
        sentence = _explain(cause, route)
        if sentence is not None:
            return sentence
    return f"{_format_peer(route)} could not be reached: check the network connection and the url."


def list_causes(error: BaseException | None) -> list[BaseException]:
    """Return the chain of causes behind ``error``, innermost and so most telling first."""
    chain: list[BaseException] = []
    while error is not None:
        chain.insert(0, error)
        # httpcore's pool raises "from None", so the cause of its errors is only their context.
        error = error.__cause__ or error.__context__
    return chain


def explain_stopped(route: RequestRoute) -> str:
    """Explain a request that was cancelled."""
    return f"The request to {route.host} was stopped."


def explain_timeout(route: RequestRoute) -> str:
    """Explain an answer that did not arrive in time."""
    return f"{route.host} {_NO_ANSWER_IN_TIME}"


def explain_stalled(route: RequestRoute) -> str:
    """Explain an answer that neither continues nor ends."""
    return (
        f"{route.host} stopped in the middle of its answer and said nothing more: "
        "try again, and check the network connection."
    )


def explain_truncated(route: RequestRoute) -> str:
    """Explain an answer that ended in its middle."""
    return f"{route.host} broke off in the middle of its answer: try again."


def explain_proxy_login(route: RequestRoute) -> str:
    """Explain a proxy that requires a login."""
    return (
        f"The proxy {route.proxy or 'in between'} wants a user name and password (407) before it "
        f"lets a request to {route.host} through: write them into the proxy variable as "
        "http://user:password@host:port."
    )


def is_dropped_connection(error: Exception) -> bool:
    """Return whether the peer dropped the connection before answering, as overloaded ones do."""
    causes = list_causes(error)
    return any(isinstance(cause, _DROPPED_ERRORS) for cause in causes) or _is_unanswered(error)


def _is_unanswered(error: BaseException) -> bool:
    # The only text that is compared: httpcore has no type for a connection closed unanswered.
    return isinstance(error, httpx.RemoteProtocolError) and "disconnected" in str(error)


def _format_peer(route: RequestRoute) -> str:
    if route.proxy is None:
        return route.host
    return f"The proxy {route.proxy} on the way to {route.host}"


def _explain(error: BaseException, route: RequestRoute) -> str | None:
    """Return one sentence for an exception; None for types that tell nothing by themselves."""
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return explain_tls_error(error, route.tls_peer)
    for types, problem, advice in _PEER_PROBLEMS:
        if isinstance(error, types) or (problem == _DROPPED and _is_unanswered(error)):
            usable = advice if route.proxy is None else PROXY_ADVICE
            return f"{_format_peer(route)} {problem}: {usable}."
    if isinstance(error, httpx.ProxyError):
        return _explain_proxy_error(error, route)
    if isinstance(error, httpx.RemoteProtocolError):
        other = "https" if route.scheme == "http" else "http"
        return (
            f"{_format_peer(route)} did not answer in HTTP: "
            f"check the port in the url, and whether it should begin with {other}://."
        )
    texts = [text for types, text in _HOST_PROBLEMS if isinstance(error, types)]
    return f"{route.host} {texts[0]}" if texts else None


def _explain_proxy_error(error: httpx.ProxyError, route: RequestRoute) -> str:
    status = str(error)[:3]
    if status == _PROXY_LOGIN_STATUS:
        return explain_proxy_login(route)
    shown = f" ({status})" if status.isdecimal() else ""
    return f"{_format_peer(route)} refused to pass the request on{shown}: {PROXY_ADVICE}."
