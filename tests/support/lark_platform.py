"""A Lark on loopback: its HTTP API and its long connection, with the platform's limits.

The official SDK accepts it as real (scripts/check_lark_sdk.py). Faults can be injected: refusals,
connections that are cut before or after a request had its effect, restarts.
"""

import base64
import itertools
import json
import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from codekernel.adapters.lark.frames import LarkFrame, decode_frame
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from support.lark_card_rules import MAX_PLATFORM_BYTES, CardRefused, check_card
from support.loopback_server import LoopbackServer

APP_ID, APP_SECRET = "cli_loopback", "the-secret-of-the-loopback-app"
MAX_TEXT_BYTES = 150 * 1024
MAX_PER_SECOND = 5
SERVICE_ID = 77
SCOPES = ("im:message", "im:message:send_as_bot", "im:message.p2p_msg:readonly")


@dataclass
class SentMessage:
    """A message of the bot; every state of it that was accepted."""

    id: str
    chat_id: str
    kind: str
    versions: list[Any]
    is_recalled: bool = False
    is_too_old: bool = False

    @property
    def content(self) -> Any:
        return self.versions[-1]


@dataclass
class PushedEvent:
    """An event that was sent to a client, and what it answered."""

    id: str
    payload: dict[str, Any]
    answers: list[Any] = field(default_factory=list)
    sent_count: int = 0
    answered: threading.Event = field(default_factory=threading.Event)


@dataclass
class Faults:
    """Probabilities of what goes wrong with a request.

    ``refusals`` are the next answers for sure; ``lost_answers`` of the next ones never arrive.
    """

    rng: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311
    rate: float = 0.0
    error: float = 0.0
    cut_before: float = 0.0
    cut_after: float = 0.0
    lost_answers: int = 0
    refusals: deque[tuple[int, dict[str, Any], dict[str, str]]] = field(default_factory=deque)


class LarkPlatform:
    """The servers; ``with LarkPlatform() as lark: LarkApi(APP_ID, APP_SECRET, lark.url)``."""

    def __init__(self, *, resend_seconds: float = 3.0, ping_seconds: int = 1) -> None:
        self.faults = Faults()
        self.messages: dict[str, SentMessage] = {}
        self.requests: list[tuple[str, str, int]] = []
        self.refused: list[int] = []
        self.largest_request = 0
        self.events: dict[str, PushedEvent] = {}
        self.tokens: set[str] = set()
        self.scopes = set(SCOPES)
        self.unknown_chats: set[str] = set()
        self.frames: list[bytes] = []
        self.pings = 0
        self.changed = threading.Condition()
        self._resend_seconds = resend_seconds
        self._config = {
            "ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0,
            "PingInterval": ping_seconds,
        }  # fmt: skip
        self._unique: dict[tuple[str, str], str] = {}
        self._recent: dict[str, deque[float]] = {}
        self._numbers = itertools.count(1)
        self._connections: list[ServerConnection] = []
        self._http: _HttpServer | None = None
        self._ws: Server | None = None
        self._http_port = self._ws_port = 0
        self._is_stopping = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http_port}"

    @property
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self._ws_port}/ws?device_id=d1&service_id={SERVICE_ID}&ticket=t"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopping = True
        self.stop()

    def start(self) -> None:
        """Serve, on the same ports as before if it was stopped."""
        self._http = _HttpServer(("127.0.0.1", self._http_port), self)
        self._http_port = self._http.server_port
        self._ws = serve(self._serve_connection, "127.0.0.1", self._ws_port, max_size=None)
        self._ws_port = self._ws.socket.getsockname()[1]
        for server in (self._http, self._ws):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Cut every connection and listen no more."""
        if self._ws:
            self._ws.shutdown()
        self.cut_connections()
        if self._http:
            self._http.shutdown()
            self._http.server_close()
            self._http.cut_connections()

    def cut_connections(self) -> None:
        """Cut the long connections as a network does: without a closing handshake."""
        with self.changed:
            connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError):
                connection.socket.shutdown(2)

    def count_connections(self) -> int:
        with self.changed:
            return len(self._connections)

    def wait_until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait for something that a request or a frame brings about."""
        with self.changed:
            assert self.changed.wait_for(holds, seconds), self.describe()

    def describe(self) -> str:
        kept = [(each.id, each.chat_id, each.content) for each in self.messages.values()]
        return f"requests {self.requests[-20:]}, messages {kept[-5:]}"

    def list_cards(self, chat_id: str) -> list[Any]:
        """Return the cards of a chat as they are now, in the order in which they were sent."""
        with self.changed:
            found = [each for each in self.messages.values() if each.chat_id == chat_id]
        return [each.content for each in found if each.kind == "interactive"]

    # The long connection.

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def push(self, event_type: str, event: dict[str, Any], *, parts: int = 1) -> PushedEvent:
        """Send an event to one client, and again until it is answered."""
        event_id = f"ev{next(self._numbers)}"
        header = {"event_id": event_id, "event_type": event_type, "app_id": APP_ID, "token": ""}
        pushed = PushedEvent(event_id, {"schema": "2.0", "header": header, "event": event})
        self.events[event_id] = pushed
        threading.Thread(target=self._deliver, args=(pushed, parts), daemon=True).start()
        return pushed

    def say(
        self, text: str, chat_id: str = "oc_1", user: str = "ou_ann", kind: str = "text",
        parts: int = 1,
    ) -> PushedEvent:  # fmt: skip
        """Have a user write something."""
        content = {"text": text} if kind == "text" else {"image_key": "img_1"}
        message = {
            "message_id": f"om_user_{next(self._numbers)}", "chat_id": chat_id, "chat_type": "p2p",
            "message_type": kind, "content": json.dumps(content), "create_time": "1",
        }  # fmt: skip
        sender = {"sender_id": {"open_id": user}, "sender_type": "user", "tenant_key": "t"}
        return self.push(
            "im.message.receive_v1", {"sender": sender, "message": message}, parts=parts
        )

    def click(self, message_id: str, value: dict[str, Any], user: str = "ou_ann") -> PushedEvent:
        """Have a user press a button of a card."""
        message = self.messages[message_id]
        event = {
            "operator": {"open_id": user, "tenant_key": "t"},
            "token": "c-1",
            "action": {"tag": "button", "value": value},
            "host": "im_message",
            "context": {"open_message_id": message_id, "open_chat_id": message.chat_id},
        }
        return self.push("card.action.trigger", event)

    def _deliver(self, pushed: PushedEvent, parts: int) -> None:
        payload = json.dumps(pushed.payload, ensure_ascii=False).encode()
        size = -(-len(payload) // parts)
        while not pushed.answered.is_set() and not self._is_stopping:
            with self.changed:
                self.changed.wait_for(lambda: self._connections or self._is_stopping, 1)
                chosen = self.faults.rng.choice(self._connections) if self._connections else None
            if chosen is None:
                continue
            pushed.sent_count += 1
            with suppress(ConnectionClosed, OSError):
                for index in range(parts):
                    headers = (
                        ("type", "event"), ("message_id", pushed.id), ("sum", str(parts)),
                        ("seq", str(index)), ("trace_id", f"trace-{pushed.id}"),
                    )  # fmt: skip
                    piece = payload[index * size : (index + 1) * size]
                    frame = LarkFrame(next(self._numbers), 9, SERVICE_ID, 1, headers, payload=piece)
                    chosen.send(frame.encode())
            pushed.answered.wait(self._resend_seconds)

    def _serve_connection(self, connection: ServerConnection) -> None:
        with self.changed:
            self._connections.append(connection)
            self.changed.notify_all()
        try:
            for data in connection:
                assert isinstance(data, bytes)
                self.frames.append(data)
                self._receive(connection, decode_frame(data))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self.changed, suppress(ValueError):
                self._connections.remove(connection)

    def _receive(self, connection: ServerConnection, frame: LarkFrame) -> None:
        if frame.get_header("type") == "ping":
            payload = json.dumps(self._config).encode()
            pong = LarkFrame(service=SERVICE_ID, headers=(("type", "pong"),), payload=payload)
            connection.send(pong.encode())
            with self.changed:
                self.pings += 1
                self.changed.notify_all()
            return
        reply = json.loads(frame.payload)
        pushed = self.events[frame.get_header("message_id")]
        if reply["code"] == 200:
            assert frame.get_header("biz_rt").isdecimal()
            data = reply.get("data")
            with self.changed:
                pushed.answers.append(json.loads(base64.b64decode(data)) if data else None)
                pushed.answered.set()
                self.changed.notify_all()

    # The HTTP API.

    def answer(  # noqa: PLR0911 - one per route
        self, method: str, target: str, headers: Any, body: bytes
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        """Return status, reply and headers of a request."""
        path = urlsplit(target).path
        if path == "/open-apis/auth/v3/tenant_access_token/internal":
            return self._give_token(json.loads(body))
        if path == "/callback/ws/endpoint":
            return self._give_endpoint(json.loads(body))
        if headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return _refuse(99991663, "Invalid access token for authorization")
        if path == "/open-apis/bot/v3/info":
            return 200, {"code": 0, "msg": "ok", "bot": {"app_name": "Loop", "open_id": "ou_b"}}, {}
        if path == "/open-apis/application/v6/scopes":
            scopes = [{"scope_name": name, "grant_status": 1} for name in sorted(self.scopes)]
            return 200, {"code": 0, "msg": "ok", "data": {"scopes": scopes}}, {}
        if path == "/open-apis/im/v1/messages" and method == "POST":
            kind = parse_qs(urlsplit(target).query).get("receive_id_type")
            return self._send(body) if kind == ["chat_id"] else _refuse(230001, "receive_id_type")
        if found := re.fullmatch(r"/open-apis/im/v1/messages/(\w+)", path):
            return self._update(found[1], body)
        return 404, {"code": 404, "msg": "no such route"}, {}

    def _give_token(self, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
        if body.get("app_id") != APP_ID:
            return 200, {"code": 10003, "msg": "invalid param"}, {}
        if body.get("app_secret") != APP_SECRET:
            return 200, {"code": 10014, "msg": "app secret invalid"}, {}
        token = f"t-{next(self._numbers)}"
        self.tokens.add(token)
        return 200, {"code": 0, "msg": "ok", "tenant_access_token": token, "expire": 7200}, {}

    def _give_endpoint(self, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
        if (body.get("AppID"), body.get("AppSecret")) != (APP_ID, APP_SECRET):
            return 200, {"code": 1000040344, "msg": "app_id or app_secret is invalid"}, {}
        data = {"URL": self.ws_url, "ClientConfig": self._config}
        return 200, {"code": 0, "msg": "", "data": data}, {}

    def _send(self, body: bytes) -> tuple[int, dict[str, Any], dict[str, str]]:
        fields = json.loads(body)
        chat_id, kind = fields["receive_id"], fields["msg_type"]
        if chat_id in self.unknown_chats:
            return _refuse(230002, "The bot can not be outside the group.")
        unique = (chat_id, fields.get("uuid", ""))
        with self.changed:
            if unique[1] and unique in self._unique:
                return self._confirm(self.messages[self._unique[unique]])
        if problem := self._check(body, kind, fields["content"]):
            return problem
        if self._is_too_often(chat_id):
            return _refuse(230020, "This operation triggers the frequency limit.")
        message = SentMessage(
            f"om_{next(self._numbers)}", chat_id, kind, [json.loads(fields["content"])]
        )
        with self.changed:
            self.messages[message.id] = message
            if unique[1]:
                self._unique[unique] = message.id
            self.changed.notify_all()
        return self._confirm(message)

    def _confirm(self, message: SentMessage) -> tuple[int, dict[str, Any], dict[str, str]]:
        data = {
            "message_id": message.id, "chat_id": message.chat_id, "msg_type": message.kind,
            "create_time": "1", "update_time": "1", "deleted": False, "updated": False,
            "sender": {"id": APP_ID, "id_type": "app_id", "sender_type": "app"},
            "body": {"content": json.dumps(message.content)},
        }  # fmt: skip
        return 200, {"code": 0, "msg": "success", "data": data}, {}

    def _update(self, message_id: str, body: bytes) -> tuple[int, dict[str, Any], dict[str, str]]:
        message = self.messages.get(message_id)
        content = json.loads(body)["content"]
        if message is None or message.kind != "interactive":
            return _refuse(230001, "invalid message_id")
        if message.is_recalled:
            return _refuse(230011, "The message was recalled.")
        if message.is_too_old:
            return _refuse(230031, "The message exceeds the time limit for editing.")
        if problem := self._check(body, "interactive", content):
            return problem
        if self._is_too_often(message_id):
            return _refuse(230020, "This operation triggers the frequency limit.")
        with self.changed:
            message.versions.append(json.loads(content))
            self.changed.notify_all()
        return 200, {"code": 0, "msg": "success", "data": {}}, {}

    def _check(
        self, body: bytes, kind: str, content: str
    ) -> tuple[int, dict[str, Any], dict[str, str]] | None:
        self.largest_request = max(self.largest_request, len(body))
        if kind != "interactive":
            too_large = len(body) > MAX_TEXT_BYTES
            return _refuse(230025, "The length of the text is too long.") if too_large else None
        if len(body) > MAX_PLATFORM_BYTES:
            return _refuse(230025, "The length of the message content reaches its limit.")
        try:
            check_card(json.loads(content))
        except CardRefused as error:
            return _refuse(230099, f"Failed to create card content, ext={error}")
        return None

    def _is_too_often(self, what: str) -> bool:
        with self.changed:
            recent = self._recent.setdefault(what, deque())
            now = time.monotonic()
            while recent and now - recent[0] >= 1.0:
                recent.popleft()
            if len(recent) >= MAX_PER_SECOND:
                return True
            recent.append(now)
            return False


def _refuse(code: int, message: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    return 400, {"code": code, "msg": message, "error": {"log_id": "1"}}, {}


RATE_REFUSAL = (
    429,
    {"code": 99991400, "msg": "request trigger frequency limit"},
    {"x-ogw-ratelimit-reset": "1"},
)  # fmt: skip


class _HttpServer(LoopbackServer):
    def __init__(self, address: tuple[str, int], platform: LarkPlatform) -> None:
        self.platform = platform
        self.open_sockets: set[Any] = set()
        super().__init__(address, _HttpHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open_sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open_sockets.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        for each in tuple(self.open_sockets):
            with suppress(OSError):
                each.shutdown(2)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that a test cuts are no news."""


class _HttpHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        platform, faults = self.server.platform, self.server.platform.faults
        is_message = "/im/v1/" in self.path
        chance = faults.rng.random() if is_message else 1.0
        reply: dict[str, Any] = {"code": 2200, "msg": "Internal Error"}
        status, headers = 500, dict[str, str]()
        if is_message and faults.refusals:
            status, reply, headers = faults.refusals.popleft()
        elif chance < faults.cut_before:
            self.close_connection = True
            return
        elif chance < (limit := faults.cut_before + faults.rate):
            status, reply, headers = RATE_REFUSAL
        elif chance >= limit + faults.error:
            status, reply, headers = platform.answer(self.command, self.path, self.headers, body)
            is_lost = faults.lost_answers > 0 or faults.rng.random() < faults.cut_after
            if is_message and is_lost:
                faults.lost_answers -= 1
                self.close_connection = True
                return
        with platform.changed:
            code = reply.get("code", 0)
            platform.requests.append((self.command, urlsplit(self.path).path, code))
            if code:
                platform.refused.append(code)
            platform.changed.notify_all()
        content = json.dumps(reply).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: tests read ``requests``."""
