"""The web server: one loopback port with HTTP for the pages and a WebSocket per browser tab.

Requests are authenticated on the listener's thread; only admitted ones get a thread.
"""

import logging
import socket
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from urllib.parse import parse_qs

from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from codekernel.adapters.static_pages import HTML_TYPE, SECURITY_HEADERS, StaticPages
from codekernel.adapters.web.authentication import HOST, SUBPROTOCOL, BrowserAuth
from codekernel.adapters.web.versioned_pages import VersionedPages
from codekernel.adapters.web.web_client import WebClient
from codekernel.adapters.websocket_server import WebSocketServer
from codekernel.domain.concurrency import start_thread
from codekernel.domain.untrusted_text import escape_html
from codekernel.transport.connections import RateLimitedLog, is_own_account
from codekernel.transport.http_messages import RequestHead, render_response
from codekernel.transport.listener import HttpListener, open_listening_socket

# Saves the page secret, or requests a lost cookie again; public, as there may be no cookie yet.
_SCRIPT_PATH = "/web/enter.js"

PUBLIC_PATHS = (_SCRIPT_PATH, "/web/page_secret.js")

_PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>codekernel</title>{head}
  </head>
  <body>
    {body}
  </body>
</html>
"""

_SCRIPT_TAG = f'\n    <script type="module" src="{_SCRIPT_PATH}"></script>'


def render_landing_page(address: str, page_secret: str | None) -> bytes:
    """Render the page that saves the secret and then goes on to ``address``.

    Not a redirect: the browser would follow it in the name of whatever page had the link, and keep
    back the cookie that it was just given. A refresh waits until the scripts of a page have run.
    """
    target = escape_html(address)
    refresh = f'\n    <meta http-equiv="refresh" content="0;url={target}" />'
    secret = f'\n    <meta name="codekernel-secret" content="{page_secret}" />{_SCRIPT_TAG}'
    return _PAGE_TEMPLATE.format(
        head=(secret if page_secret else "") + refresh,
        body=f'<p><a href="{target}">Open codekernel</a></p>',
    ).encode()


SOCKET_PATH = "/kernel"

# Sets the cookie again for a page that has the secret.
COOKIE_PATH = "/cookie"

# Browsers request it by themselves, and log an error if there is none.
ICON_PATH = "/favicon.ico"

# Each has a thread and a session; nobody reads more tabs.
MAX_TABS = 64

# For sending a file; most are smaller than the buffer of a socket.
SEND_TIMEOUT_SECONDS = 20.0

logger = logging.getLogger(__name__)


class WebServer:
    """Serves the pages; ``open_client`` makes the client of a tab."""

    def __init__(
        self,
        pages: StaticPages,
        open_client: Callable[[], WebClient],
        first_page: Callable[[], str],
        port: int,
    ) -> None:
        """Bind the port, 0 for any. Raises OSError if it is taken."""
        self._pages = VersionedPages(pages)
        self._open_client = open_client
        self._first_page = first_page
        self._tab_count = 0
        self._lock = threading.Lock()
        self._public = {
            path: _respond(*file) for path in PUBLIC_PATHS if (file := pages.read(path))
        }
        self._throttled_log = RateLimitedLog(logger, "refused to let a browser in")
        self._websockets = WebSocketServer(SUBPROTOCOL)
        listening = open_listening_socket(HOST, port)
        self.auth = BrowserAuth(listening.getsockname()[1])
        self._listener = HttpListener(listening, self._reject_request, self._serve, "web")

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Start the thread that accepts connections."""
        start_thread("web", self._listener.run, on_crash)

    def stop(self) -> None:
        """Close every connection; waits a moment for the closing handshakes."""
        self._listener.stop()
        self._websockets.close_all()

    def _reject_request(self, head: RequestHead) -> bytes | None:
        """Return a refusal, or a response that takes no time; None for a request to be served."""
        if not self.auth.is_known_host(head):
            return _respond_foreign_origin()
        if head.method != "GET":
            return _respond_error(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is answered here.")
        if head.path in self._public:
            return self._public[head.path]
        refuse = {COOKIE_PATH: self._respond_with_cookie, SOCKET_PATH: self._reject_tab}
        return refuse.get(head.path, self._reject_page)(head)

    def _serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        if head.path == SOCKET_PATH:
            self._websockets.serve(sock, head, self._serve_tab)
            return
        response = (
            self._respond_with_landing(sock, head)
            if head.path == "/"
            else self._respond_with_file(head.path)
        )
        try:
            sock.settimeout(SEND_TIMEOUT_SECONDS)
            sock.sendall(response)
        except OSError:
            pass  # the browser has gone elsewhere

    def _respond_with_file(self, path: str) -> bytes:
        if path == ICON_PATH:
            return _respond(b"", status=HTTPStatus.NO_CONTENT)
        file = self._pages.read(path)
        if file is None:
            return _respond_error(HTTPStatus.NOT_FOUND, "There is no such page.")
        headers = {"Cache-Control": file.cache_control} if file.cache_control else None
        return _respond(file.content, file.kind, headers)

    def _respond_with_landing(self, sock: socket.socket, head: RequestHead) -> bytes:
        """Redeem a token, or check the cookie, and respond with the landing page."""
        is_new = self.auth.redeem_token(_read_token(head), partial(is_own_account, sock))
        if not is_new and not self.auth.has_cookie(head):
            return self._respond_unauthorized(head)
        secret = self.auth.page_secret if is_new else None
        page = render_landing_page(self._first_page(), secret)
        return _respond(page, headers=self._make_cookie_headers() if is_new else None)

    def _reject_page(self, head: RequestHead) -> bytes | None:
        has_token = head.path == "/" and self.auth.is_valid_token(_read_token(head))
        return None if has_token or self.auth.has_cookie(head) else self._respond_unauthorized(head)

    def _respond_with_cookie(self, head: RequestHead) -> bytes:
        if not self.auth.has_bearer(head):
            return self._respond_unauthorized(head)
        return _respond(b"", headers=self._make_cookie_headers(), status=HTTPStatus.NO_CONTENT)

    def _make_cookie_headers(self) -> dict[str, str]:
        return {"Set-Cookie": self.auth.cookie_header, "Cache-Control": "no-store"}

    def _reject_tab(self, head: RequestHead) -> bytes | None:
        if not self.auth.has_page_secret(head):
            return self._respond_unauthorized(head)
        if not self.auth.is_own_page(head):
            return _respond_foreign_origin()
        with self._lock:
            if self._tab_count < MAX_TABS:
                return None
        return _respond_error(HTTPStatus.SERVICE_UNAVAILABLE, "Too many tabs; close some.")

    def _serve_tab(self, connection: Connection) -> None:
        with self._lock:
            self._tab_count += 1
        tab = self._open_client()
        writing = threading.Thread(
            target=_write_outbox, args=(connection, tab), name="web:write", daemon=True
        )
        writing.start()
        try:
            for message in connection:
                tab.handle_message(message)
        except ConnectionClosed:
            pass  # it broke, or sent what is too long; either way it is gone
        except ValueError:
            connection.close(1007, "not a message")
        finally:
            with self._lock:
                self._tab_count -= 1
            tab.disconnect()

    def _respond_unauthorized(self, head: RequestHead) -> bytes:
        token = _read_token(head)
        self._throttled_log.log_event(
            "its address was used before, or is too old" if token else head.path
        )
        sentence = (
            "This browser has not been let in. Open the address that codekernel web printed in its "
            "terminal; it is good once, so start codekernel web again if it was used elsewhere."
        )
        return _respond_error(HTTPStatus.FORBIDDEN, sentence, retry=True)


def _write_outbox(connection: Connection, tab: WebClient) -> None:
    """Send what is in the outbox, as fast as the browser reads."""
    try:
        for text in tab.outbox:
            connection.send(text, text=True)
            tab.on_written()
    except ConnectionClosed:
        tab.outbox.close()


def _read_token(head: RequestHead) -> str:
    return parse_qs(head.query).get("token", [""])[0]


def _respond_foreign_origin() -> bytes:
    return _respond_error(HTTPStatus.FORBIDDEN, "Only codekernel's own pages may ask this.")


def _respond_error(status: HTTPStatus, sentence: str, *, retry: bool = False) -> bytes:
    """Return a page with a sentence; ``retry`` adds a link to try again."""
    more = ' <a href="/">Try again</a>' if retry else ""
    head = _SCRIPT_TAG if retry else ""
    page = _PAGE_TEMPLATE.format(head=head, body=f"<p>{escape_html(sentence)}{more}</p>")
    return _respond(page.encode(), status=status)


def _respond(
    content: bytes,
    kind: str = HTML_TYPE,
    headers: dict[str, str] | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> bytes:
    return render_response(status, content, kind, {**SECURITY_HEADERS, **(headers or {})})
