"""One port on loopback: HTTP for the pages, WebSocket for the tabs; the only room that knows both.

Every HTTP request is a connection and a thread of its own; a page is some dozens of small files.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from kernel.doors.web import threads
from kernel.doors.web.access import HOST, Access
from kernel.doors.web.greeting import come_in, sorry
from kernel.doors.web.outbox import Outbox
from kernel.doors.web.pages import HEADERS, HTML, Pages
from kernel.transport.lines import LINE_LIMIT_BYTES

SOCKET_PATH = "/kernel"
# Browsers ask for it by themselves, and complain on the console if there is none.
ICON_PATH = "/favicon.ico"
# A tab each; beyond it somebody has lost count.
MOST_TABS = 64
# A browser says nothing when its machine sleeps or its process hangs.
PING_SECONDS = 20.0
POLITE_SECONDS = 1.0
STOPPED_WITHIN_SECONDS = 3.0


class Tab(Protocol):
    """One browser tab, behind its connection."""

    outbox: Outbox

    def handle(self, text: str | bytes) -> None:
        """Carry out a message; may wait. Raises ValueError if it is none."""

    def wrote(self) -> None:
        """Something of the outbox was written."""

    def leave(self) -> None:
        """The connection is gone."""


class WebServer:
    """The port; ``admit`` makes a tab of a connection, ``first_page`` is where a person begins."""

    def __init__(
        self, pages: Pages, admit: Callable[[], Tab], first_page: Callable[[], str], port: int
    ) -> None:
        """Take the port, 0 for any; raises OSError if it is taken."""
        self._pages = pages
        self._admit = admit
        self._first_page = first_page
        self._tabs = 0
        self._lock = threading.Lock()
        quiet = logging.getLogger("websockets.server")
        quiet.setLevel(logging.WARNING)
        self._server: Server = serve(
            self._serve_tab,
            HOST,
            port,
            compression=None,  # nothing is gained on loopback
            process_request=self._answer,
            server_header=None,
            max_size=LINE_LIMIT_BYTES,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=POLITE_SECONDS,
            logger=quiet,
        )
        self.access = Access(self._server.socket.getsockname()[1])

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Serve from now on."""
        threads.start("web", self._server.serve_forever, on_crash)

    def stop(self) -> None:
        """Close every connection, and wait a moment for the browsers to agree."""
        stopping = threading.Thread(target=self._server.shutdown, name="web:stop", daemon=True)
        stopping.start()
        stopping.join(STOPPED_WITHIN_SECONDS)

    def _answer(self, _: ServerConnection, request: Request) -> Response | None:
        """Answer a request for a file; None lets a tab connect."""
        said = _said(request)
        if said is None or not self.access.knows_host(said):
            return _foreigner()
        if request.method != "GET":
            return _page(HTTPStatus.METHOD_NOT_ALLOWED, sorry("Only GET is answered here."))
        address = urlsplit(request.path)
        if address.path == "/":
            return self._greet(said, parse_qs(address.query).get("token", [""])[0])
        if not self.access.has_cookie(said):
            return _stranger()
        if address.path == SOCKET_PATH:
            return self._refuse_tab(said)
        return self._file(address.path)

    def _file(self, path: str) -> Response:
        if path == ICON_PATH:
            return Response(HTTPStatus.NO_CONTENT, "No Content", Headers({"Connection": "close"}))
        file = self._pages.read(path)
        if file is None:
            return _page(HTTPStatus.NOT_FOUND, sorry("There is no such page."))
        return _response(HTTPStatus.OK, file.content, file.type)

    def _greet(self, said: Mapping[str, str], token: str) -> Response:
        cookie = self.access.exchange(token)
        if cookie is None and not self.access.has_cookie(said):
            return _stranger()
        response = _page(HTTPStatus.OK, come_in(self._first_page()))
        if cookie:
            response.headers["Set-Cookie"] = cookie
        return response

    def _refuse_tab(self, said: Mapping[str, str]) -> Response | None:
        if not self.access.is_own_page(said):
            return _foreigner()
        with self._lock:
            if self._tabs < MOST_TABS:
                return None
        return _page(HTTPStatus.SERVICE_UNAVAILABLE, sorry("Too many tabs; close some."))

    def _serve_tab(self, connection: ServerConnection) -> None:
        with self._lock:
            self._tabs += 1
        tab = self._admit()
        writing = threading.Thread(
            target=_write, args=(connection, tab), name="web:write", daemon=True
        )
        writing.start()
        try:
            for message in connection:
                tab.handle(message)
        except ConnectionClosed:
            pass  # it broke, or sent what is too long; either way it is gone
        except ValueError:
            connection.close(1007, "not a message")
        finally:
            with self._lock:
                self._tabs -= 1
            tab.leave()


def _write(connection: ServerConnection, tab: Tab) -> None:
    """Write what the tab is told, as fast as the browser takes it."""
    try:
        for text in tab.outbox:
            connection.send(text, text=True)
            tab.wrote()
    except ConnectionClosed:
        tab.outbox.close()


def _said(request: Request) -> dict[str, str] | None:
    """The headers that decide; None if one of them comes twice, which no browser does."""
    found = {name: request.headers.get_all(name) for name in ("Host", "Origin", "Cookie")}
    if any(len(values) > 1 for values in found.values()):
        return None
    return {name: values[0] for name, values in found.items() if values}


def _foreigner() -> Response:
    return _page(HTTPStatus.FORBIDDEN, sorry("Only codekernel's own pages may ask this."))


def _stranger() -> Response:
    sentence = (
        "This browser has not been let in. Open the address that codekernel web printed in its "
        "terminal; it is good once, so start codekernel web again if it was used elsewhere."
    )
    return _page(HTTPStatus.FORBIDDEN, sorry(sentence, retry=True))


def _page(status: HTTPStatus, content: bytes) -> Response:
    return _response(status, content, HTML)


def _response(status: HTTPStatus, content: bytes, kind: str) -> Response:
    headers = Headers(
        {
            **HEADERS,
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, content)
