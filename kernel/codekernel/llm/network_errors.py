"""Explain in one sentence why no answer came: DNS, TLS, proxy, refused connection, timeout.

The tables go by the types of the exceptions, never by their texts, which may quote headers and
urls.
"""

import socket
import ssl

import httpx

from codekernel.llm.http_client import RequestRoute

COMPANY_PROXY_ADVICE = (
    "if a company proxy re-signs traffic, set SSL_CERT_FILE to a file with its certificate"
)

# By OpenSSL's numbers (X509_V_ERR_*), which the ssl module does not name.
_CERTIFICATE_PROBLEMS = {
    (18, 19): f"is self-signed, so it is not trusted: {COMPANY_PROXY_ADVICE}",
    (2, 20, 21): f"was issued by nobody this machine trusts: {COMPANY_PROXY_ADVICE}",
    (10,): "has expired: ask whoever runs it to renew it, and check this machine's clock",
    (9,): "is not valid yet: check this machine's clock",
    (62, 64): "belongs to another host name: check the host in the url",
}

# What OpenSSL calls bytes that are no TLS record; the word differs between its versions.
_PLAIN_TEXT_REASONS = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "RECORD_LAYER_FAILURE"}
) | {"PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL"}


def explain_tls_error(error: ssl.SSLError, peer: str) -> str:
    """Explain a handshake with ``peer`` that failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        unknown = f"is not trusted (OpenSSL's code {code}): {COMPANY_PROXY_ADVICE}"
        found = (text for codes, text in _CERTIFICATE_PROBLEMS.items() if code in codes)
        return f"The certificate of {peer} {next(found, unknown)}."
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
