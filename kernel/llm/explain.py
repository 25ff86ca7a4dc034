"""Says in one sentence why no answer came: what failed, at which host, and what to try.

Only facts from the standard library's and httpx's exception types are used, never their texts:
those may quote headers and urls.
"""

import socket
import ssl
from functools import singledispatch

import httpx

from kernel.llm.route import Route
from kernel.llm.secure_connection import tls_problem

CHECK_PROXY = "check HTTP_PROXY and HTTPS_PROXY, or list the host in NO_PROXY"
_PROXY_WANTS_LOGIN = "407"
_DROPPED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)


def unreachable(error: Exception, route: Route) -> str:
    """Explain an exception that sending a request or reading its answer raised."""
    for cause in causes(error):
        sentence = _say(cause, route)
        if sentence is not None:
            return sentence
    return f"{_peer(route)} could not be reached: check the network connection and the url."


def causes(error: BaseException | None) -> list[BaseException]:
    """List the chain behind ``error``, innermost and so most telling first."""
    chain: list[BaseException] = []
    while error is not None:
        chain.insert(0, error)
        # httpcore's pool raises "from None", so the cause of its errors is only their context.
        error = error.__cause__ or error.__context__
    return chain


def stopped(route: Route) -> str:
    """Explain a request that nobody waits for any more."""
    return f"The request to {route.host} was stopped."


def too_slow(route: Route) -> str:
    """Explain an answer that did not arrive in time."""
    return (
        f"{route.host} accepted the request but did not answer in time: "
        "try again, or choose a faster model."
    )


def fell_silent(route: Route) -> str:
    """Explain an answer that neither goes on nor ends."""
    return (
        f"{route.host} stopped in the middle of its answer and said nothing more: "
        "try again, and check the network connection."
    )


def broke_off(route: Route) -> str:
    """Explain an answer that ended in its middle."""
    return f"{route.host} broke off in the middle of its answer: try again."


def login_wanted(route: Route) -> str:
    """Explain a proxy that does not know its user."""
    return (
        f"The proxy {route.proxy or 'in between'} wants a user name and password (407) before it "
        f"lets a request to {route.host} through: write them into the proxy variable as "
        "http://user:password@host:port."
    )


def hung_up(error: Exception) -> bool:
    """Whether the peer dropped the connection before answering, as overloaded ones do."""
    return any(isinstance(cause, _DROPPED) for cause in causes(error)) or _is_silence(error)


def _is_silence(error: Exception) -> bool:
    # The one text that is looked at: httpcore has no type for a connection closed unanswered.
    return isinstance(error, httpx.RemoteProtocolError) and "disconnected" in str(error)


def _peer(route: Route) -> str:
    if route.proxy is None:
        return route.host
    return f"The proxy {route.proxy} on the way to {route.host}"


def _advice(route: Route, without_proxy: str) -> str:
    return without_proxy if route.proxy is None else CHECK_PROXY


@singledispatch
def _say(_error: BaseException, _route: Route) -> str | None:
    """One sentence per kind of exception, below; None for kinds that tell nothing themselves."""
    return None


@_say.register
def _name_not_found(_: socket.gaierror, route: Route) -> str:
    advice = _advice(route, "check the spelling of the url, and that this machine is online")
    return f"{_peer(route)} has a host name that could not be found (DNS): {advice}."


@_say.register
def _tls(error: ssl.SSLError, route: Route) -> str:
    return tls_problem(error, route.tls_peer)


@_say.register
def _refused(_: ConnectionRefusedError, route: Route) -> str:
    advice = _advice(route, "check the host and port in the url, and that the server is running")
    return f"{_peer(route)} refused the connection: {advice}."


@_say.register(ConnectionError)
@_say.register(ssl.SSLEOFError)
def _dropped(_: BaseException, route: Route) -> str:
    advice = _advice(route, "try again, and check any proxy or firewall in between")
    return f"{_peer(route)} closed the connection without an answer: {advice}."


@_say.register
def _connect_timeout(_: httpx.ConnectTimeout, route: Route) -> str:
    advice = _advice(route, "check the url, the network connection, and whether a proxy is needed")
    return f"{_peer(route)} did not accept a connection in time: {advice}."


@_say.register
def _timeout(_: httpx.TimeoutException, route: Route) -> str:
    return too_slow(route)


@_say.register
def _proxy_refused(error: httpx.ProxyError, route: Route) -> str:
    status = str(error)[:3]
    if status == _PROXY_WANTS_LOGIN:
        return login_wanted(route)
    shown = f" ({status})" if status.isdecimal() else ""
    return f"{_peer(route)} refused to pass the request on{shown}: {CHECK_PROXY}."


@_say.register
def _not_http(error: httpx.RemoteProtocolError, route: Route) -> str:
    if _is_silence(error):
        return _dropped(error, route)
    other = "https" if route.scheme == "http" else "http"
    return (
        f"{_peer(route)} did not answer in HTTP: "
        f"check the port in the url, and whether it should begin with {other}://."
    )


@_say.register
def _garbled(_: httpx.DecodingError, route: Route) -> str:
    return f"{route.host} sent an answer that could not be decompressed: check the url."


@_say.register
def _redirected_nowhere(_: httpx.InvalidURL, route: Route) -> str:
    # The request's own url has been checked before; httpx reads the one in a redirect by itself.
    return f"{route.host} sends requests on to a place that cannot exist: check the url."


@_say.register
def _impossible_address(_: UnicodeError, route: Route) -> str:
    return f"{_peer(route)} has an address that cannot exist: {_advice(route, 'check the url')}."
