"""Telegram's Bot API on loopback, with its limits and its words; official SDKs take it for real.

People write and press buttons by methods of ``BotApi``; programs use it by HTTP.
"""

import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.bot_html import MAX_UNITS, BadHtmlError, count_units, parse_html
from support.loopback_server import LoopbackServer

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx"
BOT = {"id": 110201543, "is_bot": True, "first_name": "Code", "username": "code_test_bot"}
METHOD = re.compile(r"/bot(?P<token>[^/]+)/(?P<method>\w+)")
MAX_CALLBACK_DATA_BYTES = 64
MAX_DEADLINE_SECONDS = 60.0
FIRST_SUPERGROUP = -1_000_000_000_000

# What may go wrong on the way: returns "before", "after" (the answer is lost), "half", "error"
# (500), or nothing.
Fault = Callable[[str], str]


class BotApiError(Exception):
    """A refusal, as the platform words it."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.parameters = parameters


@dataclass
class BotMessage:
    """A message of a chat."""

    id: int
    chat_id: int
    is_own: bool
    text: str = ""
    entities: list[dict[str, Any]] = field(default_factory=list)
    keyboard: list[list[dict[str, str]]] = field(default_factory=list)
    document: bytes | None = None
    edits: int = 0

    @property
    def labels(self) -> list[str]:
        return [button["text"] for row in self.keyboard for button in row]


@dataclass
class BotChat:
    id: int
    messages: list[BotMessage] = field(default_factory=list)
    accepted_at: deque[float] = field(default_factory=deque)
    is_blocked: bool = False


class BotApi:
    """The state of the platform for one bot; safe to use from any thread."""

    def __init__(self, *, interval_seconds: float = 1.0, max_per_minute: int = 20) -> None:
        self.interval_seconds = interval_seconds
        self.max_per_minute = max_per_minute
        self.fault: Fault = lambda _method: ""
        self.calls: list[str] = []
        self.callback_answers: dict[str, str] = {}
        self.problems: list[str] = []
        self.refusals: Counter[int] = Counter()
        self.changed = threading.Condition()
        self._chats: dict[int, BotChat] = {}
        self._updates: list[dict[str, Any]] = []
        self._update_ids = count(1000)
        self._account_ids = count(1)
        self._group_ids: dict[int, Iterator[int]] = {}
        self._callback_ids = count(1)
        self._polling = 0

    # What people do.

    def say(self, user_id: int, text: str, chat_id: int | None = None, name: str = "Ann") -> int:
        """A person writes; return the number of the message."""
        with self.changed:
            chat = self._get_chat(user_id if chat_id is None else chat_id)
            message = self._add(
                chat, BotMessage(self._next_id(chat.id), chat.id, is_own=False, text=text)
            )
            self.add_update("message", self._dump(message, user_id, name))
            return message.id

    def press(self, user_id: int, message: BotMessage, label: str, name: str = "Ann") -> str:
        """A person presses a button; return the id of the query."""
        data = {it["text"]: it["callback_data"] for row in message.keyboard for it in row}
        return self.press_data(user_id, message, data[label], name)

    def press_data(self, user_id: int, message: BotMessage, data: str, name: str = "Ann") -> str:
        with self.changed:
            query_id = f"query{next(self._callback_ids)}"
            query = {
                "id": query_id,
                "from": make_user(user_id, name),
                "message": self._dump(message, user_id, name),
                "chat_instance": "1",
                "data": data,
            }
            self.callback_answers[query_id] = ""
            self.add_update("callback_query", query)
            return query_id

    def block(self, chat_id: int) -> None:
        with self.changed:
            self._get_chat(chat_id).is_blocked = True

    def list_messages(self, chat_id: int) -> list[BotMessage]:
        """What the bot has written to a chat, in order."""
        with self.changed:
            return [it for it in self._get_chat(chat_id).messages if it.is_own]

    def wait_until(
        self, is_true: Callable[[], bool], seconds: float = MAX_DEADLINE_SECONDS
    ) -> None:
        """Wait for a state of the platform."""
        with self.changed:
            assert self.changed.wait_for(is_true, seconds), self._describe()

    def wait_for_text(self, chat_id: int, text: str, button: str = "") -> BotMessage:
        """Wait until a message of the bot has a text, and a button if one is named; return it."""

        def fits(message: BotMessage) -> bool:
            labels = [each["text"] for row in message.keyboard for each in row]
            return message.is_own and text in message.text and (not button or button in labels)

        def find() -> BotMessage | None:
            found = [each for each in self._get_chat(chat_id).messages if fits(each)]
            return found[-1] if found else None

        with self.changed:
            assert self.changed.wait_for(lambda: find() is not None, MAX_DEADLINE_SECONDS), (
                text,
                self._describe(),
            )
            found = find()
        assert found is not None
        return found

    def _describe(self) -> str:
        return "\n".join(
            f"{chat.id}: {message.text[:200]!r}"
            for chat in self._chats.values()
            for message in chat.messages
        )

    # What the bot asks for.

    def call(self, method: str, fields: dict[str, Any]) -> Any:
        """Carry out a method. Raises BotApiError."""
        with self.changed:
            self.calls.append(method)
            action = getattr(self, f"_do_{method.lower()}", None)
            if action is None:
                raise BotApiError(404, "Not Found: method not found")
            if method.lower() == "getupdates":
                return action(fields)
            result = action(fields)
            self.changed.notify_all()
            return result

    def _do_getme(self, _fields: dict[str, Any]) -> Any:
        return {
            **BOT,
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _do_deletewebhook(self, _fields: dict[str, Any]) -> Any:
        return True

    def _do_setmycommands(self, fields: dict[str, Any]) -> Any:
        for each in fields["commands"]:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", each["command"]):
                raise BotApiError(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(each["description"]) <= 256:
                raise BotApiError(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        return True

    def _do_getupdates(self, fields: dict[str, Any]) -> Any:
        offset = int(fields.get("offset") or 0)
        limit = int(fields.get("limit") or 100)
        self._updates = [it for it in self._updates if it["update_id"] >= offset]
        self._polling += 1
        me = self._polling
        self.changed.notify_all()

        def is_over() -> bool:
            return bool(self._updates) or self._polling != me

        self.changed.wait_for(is_over, float(fields.get("timeout") or 0))
        if self._polling != me:
            raise BotApiError(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot"
                " instance is running",
            )
        return self._updates[:limit]

    def _do_sendmessage(self, fields: dict[str, Any]) -> Any:
        chat = self._require_chat(fields)
        text, entities = self._parse_text(fields, "message is too long")
        keyboard = parse_keyboard(fields)
        self._check_rate(chat)
        message = BotMessage(
            self._next_id(chat.id),
            chat.id,
            is_own=True,
            text=text,
            entities=entities,
            keyboard=keyboard,
        )
        return self._dump(self._add(chat, message), BOT["id"], "Code")

    def _do_editmessagetext(self, fields: dict[str, Any]) -> Any:
        chat = self._require_chat(fields)
        message = self._find(chat, fields, "message to edit not found")
        if not message.is_own:
            raise BotApiError(400, "Bad Request: message can't be edited")
        if message.document is not None:
            raise BotApiError(400, "Bad Request: there is no text in the message to edit")
        text, entities = self._parse_text(fields, "MESSAGE_TOO_LONG")
        keyboard = parse_keyboard(fields)
        if (text, entities, keyboard) == (message.text, message.entities, message.keyboard):
            raise BotApiError(
                400,
                "Bad Request: message is not modified: specified new message content and reply"
                " markup are exactly the same as a current content and reply markup of the message",
            )
        self._check_rate(chat)
        message.text, message.entities, message.keyboard = text, entities, keyboard
        message.edits += 1
        return self._dump(message, BOT["id"], "Code")

    def _do_deletemessage(self, fields: dict[str, Any]) -> Any:
        chat = self._require_chat(fields)
        chat.messages.remove(self._find(chat, fields, "message to delete not found"))
        return True

    def _do_senddocument(self, fields: dict[str, Any]) -> Any:
        chat = self._require_chat(fields)
        self._check_rate(chat)
        given = fields["document"]
        if isinstance(given, str):
            given = fields[given.removeprefix("attach://")]
        name, content = given
        message = BotMessage(self._next_id(chat.id), chat.id, is_own=True, document=content)
        self._add(chat, message)
        file = {"file_id": "f", "file_unique_id": "u", "file_name": name, "file_size": len(content)}
        return {**self._dump(message, BOT["id"], "Code"), "document": file}

    def _do_answercallbackquery(self, fields: dict[str, Any]) -> Any:
        query_id = fields["callback_query_id"]
        if query_id not in self.callback_answers:
            raise BotApiError(
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            )
        if len(fields.get("text") or "") > 200:
            raise BotApiError(400, "Bad Request: MESSAGE_TOO_LONG")
        self.callback_answers[query_id] = fields.get("text") or "(nothing)"
        return True

    # How it works.

    def _get_chat(self, chat_id: int) -> BotChat:
        return self._chats.setdefault(chat_id, BotChat(chat_id))

    def _require_chat(self, fields: dict[str, Any]) -> BotChat:
        chat = self._chats.get(int(fields["chat_id"]))
        if chat is None:
            raise BotApiError(400, "Bad Request: chat not found")
        if chat.is_blocked:
            raise BotApiError(403, "Forbidden: bot was blocked by the user")
        return chat

    def _find(self, chat: BotChat, fields: dict[str, Any], missing: str) -> BotMessage:
        for message in chat.messages:
            if message.id == int(fields["message_id"]):
                return message
        raise BotApiError(400, f"Bad Request: {missing}")

    def _next_id(self, chat_id: int) -> int:
        if chat_id > FIRST_SUPERGROUP:
            return next(self._account_ids)
        return next(self._group_ids.setdefault(chat_id, count(1)))

    def _add(self, chat: BotChat, message: BotMessage) -> BotMessage:
        chat.messages.append(message)
        return message

    def add_update(self, kind: str, content: dict[str, Any]) -> None:
        with self.changed:
            self._updates.append({"update_id": next(self._update_ids), kind: content})
            self.changed.notify_all()

    def _parse_text(self, fields: dict[str, Any], too_long: str) -> tuple[str, list[Any]]:
        text, entities = str(fields.get("text") or ""), list[Any]()
        if str(fields.get("parse_mode") or "").upper() == "HTML":
            try:
                parsed = parse_html(text)
            except BadHtmlError as error:
                raise BotApiError(400, f"Bad Request: can't parse entities: {error}") from None
            self.problems += parsed.problems
            text, entities = parsed.text, parsed.entities
        if not text.strip():
            raise BotApiError(400, "Bad Request: message text is empty")
        if count_units(text.rstrip()) > MAX_UNITS:
            raise BotApiError(400, f"Bad Request: {too_long}")
        return text.rstrip(), entities

    def _check_rate(self, chat: BotChat) -> None:
        now = time.monotonic()
        recent = chat.accepted_at
        waits = [recent[-1] + self.interval_seconds - now] if recent else []
        if chat.id < 0 and len(recent) >= self.max_per_minute:
            waits.append(recent[-self.max_per_minute] + 60.0 - now)
        wait = max(waits, default=0.0)
        if wait > 0:
            # Whole seconds, except where a test has shortened them.
            seconds = int(wait) + 1 if self.interval_seconds >= 1 else wait
            description = f"Too Many Requests: retry after {seconds}"
            raise BotApiError(429, description, retry_after=seconds)
        recent.append(now)
        while len(recent) > self.max_per_minute:
            recent.popleft()

    def _dump(self, message: BotMessage, sender: Any, name: str) -> dict[str, Any]:
        is_group = message.chat_id < 0
        chat = {"id": message.chat_id, "type": "supergroup" if is_group else "private"}
        chat |= {"title": "Team"} if is_group else {"first_name": "Ann"}
        own = message.is_own
        dumped: dict[str, Any] = {
            "message_id": message.id,
            "from": dict(BOT) if own else make_user(sender, name),
            "chat": chat,
            "date": int(time.time()),
        }
        if message.document is None:
            dumped |= {"text": message.text, "entities": message.entities}
        if message.keyboard:
            dumped["reply_markup"] = {"inline_keyboard": message.keyboard}
        return dumped


def make_user(user_id: int, name: str) -> dict[str, Any]:
    return {"id": user_id, "is_bot": False, "first_name": name}


def parse_keyboard(fields: dict[str, Any]) -> list[list[dict[str, str]]]:
    rows: list[list[dict[str, str]]] = (fields.get("reply_markup") or {}).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        if not button.get("text"):
            raise BotApiError(400, "Bad Request: text buttons are unallowed in the inline keyboard")
        if not 1 <= len(button["callback_data"].encode()) <= MAX_CALLBACK_DATA_BYTES:
            raise BotApiError(400, "Bad Request: BUTTON_DATA_INVALID")
    return rows


class _Handler(BaseHTTPRequestHandler):
    """Speaks the platform's HTTP: forms, multipart and JSON, GET and POST."""

    protocol_version = "HTTP/1.1"
    api: BotApi

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _serve(self) -> None:
        address = urlsplit(self.path)
        body = self._read_body()
        found = METHOD.fullmatch(address.path)
        method = found["method"] if found else ""
        fault = self.api.fault(method)
        if fault == "before":
            self.close_connection = True
            return
        if found is None or found["token"] != TOKEN:
            code, answer = 401, _refuse(401, "Unauthorized")
        elif fault == "error":
            code, answer = 502, {"ok": False, "error_code": 502, "description": "Bad Gateway"}
        else:
            code, answer = self._call(method, self._parse(address.query, body))
        content = json.dumps(answer).encode()
        if fault == "after":
            self.close_connection = True
            return
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "half" else content)
        self.close_connection = fault == "half" or self.close_connection

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _call(self, method: str, fields: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        try:
            return 200, {"ok": True, "result": self.api.call(method, fields)}
        except BotApiError as error:
            self.api.refusals[error.code] += 1
            return error.code, _refuse(error.code, str(error), error.parameters)

    def _parse(self, query: str, body: bytes) -> dict[str, Any]:
        fields: dict[str, Any] = dict(parse_qsl(query))
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("application/json"):
            given: dict[str, Any] = json.loads(body or b"{}")
            return fields | given
        if kind.startswith("application/x-www-form-urlencoded"):
            fields |= dict(parse_qsl(body.decode(), keep_blank_values=True))
        elif kind.startswith("multipart/form-data"):
            head = f"Content-Type: {kind}\r\n\r\n".encode()
            for part in message_from_bytes(head + body, policy=HTTP).iter_parts():
                name = part.get_param("name", header="content-disposition")
                file = part.get_filename()
                raw = part.get_payload(decode=True)
                assert isinstance(raw, bytes)
                fields[str(name)] = (file, raw) if file else raw.decode()
        return {name: _parse_value(name, value) for name, value in fields.items()}


def _parse_value(name: str, value: Any) -> Any:
    """Forms have objects as JSON; texts are texts, whatever they look like."""
    if name in {"text", "caption", "callback_query_id"} or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _refuse(
    code: int, description: str, parameters: dict[str, Any] | None = None
) -> dict[str, Any]:
    refused = {"ok": False, "error_code": code, "description": description}
    return {**refused, "parameters": parameters} if parameters else refused


class _Server(LoopbackServer):
    def handle_error(self, *_: object) -> None:
        """A client may leave at any time."""


@contextmanager
def serve_bot_api(api: BotApi) -> Iterator[str]:
    """Serve on loopback; yield the base address."""
    handler = type("Handler", (_Handler,), {"api": api})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
