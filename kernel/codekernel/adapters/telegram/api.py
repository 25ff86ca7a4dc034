"""A client of Telegram's Bot API: the few methods that a conversation needs, and its errors.

The token is part of every address. httpx logs addresses, so that its log is switched off, and no
error carries one.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from codekernel.domain.settings import DEFAULT_TELEGRAM_API_BASE
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import NetworkError
from codekernel.llm.http_client import HttpConnection, HttpConnectionPool, get_route
from codekernel.llm.network_errors import explain_network_error, explain_stopped

# How long Telegram keeps a request for updates open; its documentation's examples have 50 to 60.
POLL_SECONDS: Final = 50

# Telegram answers within a second or two; uploads take longer.
_TIMEOUTS = httpx.Timeout(connect=10.0, read=30.0, write=60.0, pool=10.0)

_POLL_MARGIN_SECONDS = 15.0

_ALLOWED_UPDATES = ("message", "callback_query")

MAX_CALLBACK_ANSWER_CHARS: Final = 200

# What is said where Telegram's own words help a person little.
_ADVICE: Final = {
    401: "Telegram does not know this token: copy it from @BotFather again, and store it with"
    " `codekernel key set telegram:bot`.",
    404: "Telegram does not know this token, or telegram.apiBase in the settings is no Bot API.",
    409: "Another program asks for the updates of this bot, or it has a webhook: end it, or give"
    " this hub a bot of its own.",
}

_TOO_MANY_REQUESTS = 429

_FORBIDDEN = 403

_SERVER_ERRORS = 500


class TelegramRefused(NetworkError):
    """Telegram understood the request and did not do it."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, Any]) -> None:
        super().__init__(_ADVICE.get(code, f"Telegram refused: {description} ({code})."))
        self.error_code = code
        self.description = description.lower()
        self.retry_after_seconds = float(parameters.get("retry_after", 0))

    @property
    def is_rate_limited(self) -> bool:
        """Whether the same request succeeds after ``retry_after_seconds``."""
        return self.error_code == _TOO_MANY_REQUESTS

    @property
    def is_unchanged(self) -> bool:
        """Whether an edit would change nothing: the message has this text already."""
        return "message is not modified" in self.description

    @property
    def is_passing(self) -> bool:
        """Whether the fault is not the message's: another one would be refused as well."""
        return self.is_rate_limited or self.is_chat_gone or self.error_code in _ADVICE

    @property
    def is_chat_gone(self) -> bool:
        """Whether the bot cannot write to the chat any more."""
        return self.error_code == _FORBIDDEN or "chat not found" in self.description


class TelegramUnreachable(NetworkError):
    """No answer came; if ``is_sent``, Telegram may have done what was asked."""

    def __init__(self, message: str, *, is_sent: bool) -> None:
        super().__init__(message)
        self.is_sent = is_sent


@dataclass(frozen=True, slots=True)
class BotUser:
    """The bot itself."""

    id: int
    name: str


class TelegramApi:
    """Calls methods of one bot; safe to use from any thread."""

    def __init__(self, token: str, api_base: str = DEFAULT_TELEGRAM_API_BASE) -> None:
        self._prefix = f"{api_base.rstrip('/')}/bot{token}/"
        self._pool = HttpConnectionPool(_TIMEOUTS)
        self._lock = threading.Lock()
        self._running: set[HttpConnection] = set()
        self._is_closed = False

    def get_me(self) -> BotUser:
        """Return who the bot is. Raises NetworkError, as all methods do."""
        found = self._call("getMe")
        return BotUser(found["id"], found.get("username", ""))

    def get_updates(self, offset: int, seconds: int = POLL_SECONDS) -> list[dict[str, Any]]:
        """Wait for updates from a number on; those before it are acknowledged."""
        fields = {"offset": offset, "timeout": seconds, "allowed_updates": _ALLOWED_UPDATES}
        timeouts = httpx.Timeout(**_TIMEOUTS.as_dict() | {"read": seconds + _POLL_MARGIN_SECONDS})
        found: list[dict[str, Any]] = self._call("getUpdates", fields, timeouts=timeouts)
        return found

    def send_message(
        self, chat_id: str, html: str, buttons: Sequence[Any] = (), *, is_silent: bool = False
    ) -> int:
        """Send a message and return its number."""
        fields = {"chat_id": int(chat_id), **_make_text_fields(html, buttons)}
        if is_silent:
            fields["disable_notification"] = True
        return int(self._call("sendMessage", fields)["message_id"])

    def edit_message(
        self, chat_id: str, message_id: int, html: str, buttons: Sequence[Any] = ()
    ) -> None:
        """Replace a message; one that has this text already is left as it is."""
        place = {"chat_id": int(chat_id), "message_id": message_id}
        self._call("editMessageText", {**place, **_make_text_fields(html, buttons)})

    def delete_message(self, chat_id: str, message_id: int) -> None:
        """Delete a message of the bot."""
        self._call("deleteMessage", {"chat_id": int(chat_id), "message_id": message_id})

    def send_document(self, chat_id: str, name: str, text: str, caption: str) -> int:
        """Send a file and return the number of its message."""
        fields = {"chat_id": str(int(chat_id)), "caption": caption}
        content = text.encode(errors="replace")
        files = {"document": (name, content, "text/plain; charset=utf-8")}
        return int(self._call("sendDocument", fields, files)["message_id"])

    def answer_callback(self, callback_id: str, text: str, *, is_alert: bool = False) -> None:
        """Say something to who has pressed a button; without it the button seems to hang."""
        shown = text[:MAX_CALLBACK_ANSWER_CHARS]
        fields = {"callback_query_id": callback_id, "text": shown, "show_alert": is_alert}
        self._call("answerCallbackQuery", fields)

    def set_commands(self, commands: Mapping[str, str]) -> None:
        """Have the commands offered while a person types."""
        listed = [{"command": name, "description": text} for name, text in commands.items()]
        self._call("setMyCommands", {"commands": listed})

    def close(self) -> None:
        """End all requests at once; later ones fail."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for connection in running:
            connection.abort()
        self._pool.close()

    def _call(
        self,
        method: str,
        fields: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
        timeouts: httpx.Timeout = _TIMEOUTS,
    ) -> Any:
        connection = self._pool.acquire()
        is_reusable = False
        try:
            with self._lock:
                self._running.add(connection)
                is_closed = self._is_closed
            request = self._build_request(connection, method, fields or {}, files, timeouts)
            response = _send_request(connection, request, is_closed=is_closed)
            is_reusable = True
        finally:
            with self._lock:
                self._running.discard(connection)
            self._pool.release(connection, is_reusable=is_reusable)
        return _read_result(response)

    def _build_request(
        self,
        connection: HttpConnection,
        method: str,
        fields: Mapping[str, Any],
        files: Mapping[str, Any] | None,
        timeouts: httpx.Timeout,
    ) -> httpx.Request:
        content: dict[str, Any] = {"data": fields, "files": files} if files else {"json": fields}
        try:
            request = connection.client.build_request(
                "POST", self._prefix + method, timeout=timeouts, **content
            )
            get_route(request)
        except (httpx.InvalidURL, UnicodeError, KeyError):
            message = "telegram.apiBase in the settings, or the token, makes no address."
            raise TelegramUnreachable(message, is_sent=False) from None
        return request


def _send_request(
    connection: HttpConnection, request: httpx.Request, *, is_closed: bool
) -> httpx.Response:
    route = get_route(request)
    if is_closed:
        raise TelegramUnreachable(explain_stopped(route), is_sent=False)
    route.connection = connection
    try:
        return connection.client.send(request)
    except (httpx.HTTPError, UnicodeError) as error:
        # The cause is left out: it holds the request, and that the token.
        raise TelegramUnreachable(
            explain_network_error(error, route), is_sent=route.is_request_sent
        ) from None


def _make_text_fields(html: str, buttons: Sequence[Any]) -> dict[str, Any]:
    rows = [[{"text": each.label, "callback_data": each.data}] for each in buttons]
    fields = {
        "text": html,
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
    }
    # An edit without buttons removes those that were there.
    return {**fields, "reply_markup": {"inline_keyboard": rows}} if rows else fields


def _read_result(response: httpx.Response) -> Any:
    """Return the result of an answer. Raises TelegramRefused or TelegramUnreachable."""
    try:
        answer = parse_json(response.content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "ok" not in answer:
        message = f"{response.url.host} does not answer as a Bot API does ({response.status_code})."
        raise TelegramUnreachable(message, is_sent=True)
    if answer["ok"]:
        return answer.get("result")
    code = int(answer.get("error_code", response.status_code))
    description = str(answer.get("description", ""))
    if code >= _SERVER_ERRORS:
        raise TelegramUnreachable(f"Telegram is in trouble: {description} ({code}).", is_sent=True)
    raise TelegramRefused(code, description, answer.get("parameters") or {})
