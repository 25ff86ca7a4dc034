"""Whom a request is meant for, and whom httpx really dialled: the host itself or a proxy."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Route:
    """Listens as the request's ``trace`` extension, since httpx's errors name no peer."""

    def __init__(self, url: httpx.URL) -> None:
        self.scheme = url.scheme
        self.host = url.netloc.decode("ascii")
        self._endpoint = (url.raw_host.decode("ascii"), url.port or _DEFAULT_PORTS[url.scheme])
        self._dialled = self._endpoint
        self._in_tunnel = False
        self.request_was_sent = False
        self.on_stream: Callable[[Any], None] = lambda _: None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Note each connection that is about to be opened, and each tunnel through one."""
        if event == "connection.connect_tcp.started":
            self._dialled = (info["host"], info["port"])
            self._in_tunnel = False
        elif event == "proxy.start_tls.started":
            self._in_tunnel = True
            self.request_was_sent = False  # only the wish for a tunnel was
        elif event.endswith("send_request_body.complete"):
            self.request_was_sent = True
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.on_stream(info["return_value"])

    @property
    def proxy(self) -> str | None:
        """The proxy in between, as ``host:port``; None if there is none."""
        if self._dialled == self._endpoint:
            return None
        host, port = self._dialled
        return f"{host}:{port}"

    @property
    def tls_peer(self) -> str:
        """Whose certificate was looked at last; a proxy may have one of its own."""
        if self.proxy is None or self._in_tunnel:
            return self.host
        return f"the proxy {self.proxy}"


def route_of(request: httpx.Request) -> Route:
    """Find the route of ``request``, which listens from the first call on."""
    route = request.extensions.get("trace")
    if not isinstance(route, Route):
        route = Route(request.url)
        request.extensions["trace"] = route
    return route
