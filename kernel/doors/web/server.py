"""One port on loopback: HTTP for the pages, WebSocket for the tabs; the only room that knows both.

Every HTTP request is a connection of its own; a page is some dozens of small files. Requests are
judged on the listener's thread, and only those that are admitted get a thread.
"""

import logging
import socket
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qs

from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from kernel.doors.web import threads
from kernel.doors.web.access import HOST, SUBPROTOCOL, Access
from kernel.doors.web.greeting import PUBLIC_PATHS, come_in, sorry
from kernel.doors.web.outbox import Outbox
from kernel.doors.web.pages import HEADERS, HTML, Pages
from kernel.doors.websocket import WebSockets
from kernel.transport.http_head import RequestHead
from kernel.transport.http_response import render_response
from kernel.transport.listener import Listener, listen
from kernel.transport.peer_account import is_own_account
from kernel.transport.quiet_log import QuietLog

SOCKET_PATH = "/kernel"
# Gives a page that was let in its cookie again.
COOKIE_PATH = "/cookie"
# Browsers ask for it by themselves, and complain on the console if there is none.
ICON_PATH = "/favicon.ico"
# A tab each; beyond it somebody has lost count.
MOST_TABS = 64
# For a browser to take a file; most are smaller than what a socket takes at once.
SEND_TIMEOUT_SECONDS = 20.0
# What holds a secret is kept by nobody.
_NOT_STORED = {"Cache-Control": "no-store"}

logger = logging.getLogger(__name__)


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
        self._public = {
            path: _response(HTTPStatus.OK, file.content, file.type)
            for path in PUBLIC_PATHS
            if (file := pages.read(path))
        }
        self._quiet = QuietLog(logger, "refused to let a browser in")
        self._websockets = WebSockets(SUBPROTOCOL)
        listening = listen(HOST, port)
        self.access = Access(listening.getsockname()[1])
        self._listener = Listener(listening, self._judge, self._serve, "web")

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Serve from now on."""
        threads.start("web", self._listener.run, on_crash)

    def stop(self) -> None:
        """Close every connection, and wait a moment for the browsers to agree."""
        self._listener.stop()
        self._websockets.close_all()

    def _judge(self, head: RequestHead) -> bytes | None:
        """Refuse a request, or answer it where that takes no time; None admits it."""
        if not self.access.is_known_host(head):
            return _foreigner()
        if head.method != "GET":
            return _page(HTTPStatus.METHOD_NOT_ALLOWED, sorry("Only GET is answered here."))
        if head.path in self._public:
            return self._public[head.path]
        refuse = {COOKIE_PATH: self._cookie_again, SOCKET_PATH: self._refuse_tab}
        return refuse.get(head.path, self._refuse_page)(head)

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        if head.path == SOCKET_PATH:
            self._websockets.serve(sock, head, self._serve_tab)
            return
        response = self._greet(sock, head) if head.path == "/" else self._file(head.path)
        try:
            sock.settimeout(SEND_TIMEOUT_SECONDS)
            sock.sendall(response)
        except OSError:
            pass  # the browser has gone elsewhere

    def _file(self, path: str) -> bytes:
        if path == ICON_PATH:
            return _response(HTTPStatus.NO_CONTENT, b"", HTML)
        file = self._pages.read(path)
        if file is None:
            return _page(HTTPStatus.NOT_FOUND, sorry("There is no such page."))
        return _response(HTTPStatus.OK, file.content, file.type)

    def _greet(self, sock: socket.socket, head: RequestHead) -> bytes:
        """Let a browser in that brings a token, and show the first page."""
        is_new = self.access.exchange(_token_in(head), partial(is_own_account, sock))
        if not is_new and not self.access.has_cookie(head):
            return self._stranger(head)
        if not is_new:
            return _page(HTTPStatus.OK, come_in(self._first_page(), None))
        content = come_in(self._first_page(), self.access.page_secret)
        headers = {"Set-Cookie": self.access.set_cookie, **_NOT_STORED}
        return _response(HTTPStatus.OK, content, HTML, headers)

    def _refuse_page(self, head: RequestHead) -> bytes | None:
        has_token = head.path == "/" and self.access.is_token(_token_in(head))
        return None if has_token or self.access.has_cookie(head) else self._stranger(head)

    def _cookie_again(self, head: RequestHead) -> bytes:
        if not self.access.has_bearer(head):
            return self._stranger(head)
        headers = {"Set-Cookie": self.access.set_cookie, **_NOT_STORED}
        return _response(HTTPStatus.NO_CONTENT, b"", HTML, headers)

    def _refuse_tab(self, head: RequestHead) -> bytes | None:
        if not self.access.has_page_secret(head):
            return self._stranger(head)
        if not self.access.is_own_page(head):
            return _foreigner()
        with self._lock:
            if self._tabs < MOST_TABS:
                return None
        return _page(HTTPStatus.SERVICE_UNAVAILABLE, sorry("Too many tabs; close some."))

    def _serve_tab(self, connection: Connection) -> None:
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

    def _stranger(self, head: RequestHead) -> bytes:
        token = _token_in(head)
        self._quiet.note("its address was used before, or is too old" if token else head.path)
        sentence = (
            "This browser has not been let in. Open the address that codekernel web printed in its "
            "terminal; it is good once, so start codekernel web again if it was used elsewhere."
        )
        return _page(HTTPStatus.FORBIDDEN, sorry(sentence, retry=True))


def _write(connection: Connection, tab: Tab) -> None:
    """Write what the tab is told, as fast as the browser takes it."""
    try:
        for text in tab.outbox:
            connection.send(text, text=True)
            tab.wrote()
    except ConnectionClosed:
        tab.outbox.close()


def _token_in(head: RequestHead) -> str:
    return parse_qs(head.query).get("token", [""])[0]


def _foreigner() -> bytes:
    return _page(HTTPStatus.FORBIDDEN, sorry("Only codekernel's own pages may ask this."))


def _page(status: HTTPStatus, content: bytes) -> bytes:
    return _response(status, content, HTML)


def _response(
    status: HTTPStatus, content: bytes, kind: str, headers: dict[str, str] | None = None
) -> bytes:
    return render_response(status, content, kind, {**HEADERS, **(headers or {})})
