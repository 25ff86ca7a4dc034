"""The platform's HTTP API: token, sending and updating messages, and what its errors mean."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from codekernel.errors import NetworkError
from codekernel.llm.http_client import get_route, make_http_client
from codekernel.llm.network_errors import explain_network_error

DOMAINS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}

# The platform answers within a second; a person waits for the card.
TIMEOUTS = httpx.Timeout(connect=10.0, read=20.0, write=20.0, pool=20.0)

# A token is renewed this long before it ends; one that has less than 30 minutes left is replaced
# by the platform itself.
TOKEN_MARGIN_SECONDS = 600.0

RATE_RESET_HEADER = "x-ogw-ratelimit-reset"

# For a refusal that says no time: one window of the platform's rates.
DEFAULT_RETRY_SECONDS = 1.0

_INVALID_TOKEN_CODES = frozenset({99991661, 99991663, 99991664, 99991665, 99991668})

# Too many requests; 230049: the same message is on its way.
_RATE_CODES = frozenset({230020, 230049, 99991400, 11232, 1000004, 1000005})

# The chat, the user or the message is gone: no later try can succeed.
GONE_CODES = frozenset({230002, 230011, 230013, 230031, 230053, 230110, 232009})

# What is wrong is the card itself.
CARD_CODES = frozenset({230001, 230025, 230028, 230099})

_EXPLANATIONS = {
    10003: "the app id or the app secret is wrong: copy both from the app's credentials page",
    10014: "the app secret is wrong: store it again with `codekernel key set lark:secret`",
    10013: "no tenant has installed the app: publish a version of it",
    99991672: "the app lacks a right: grant the rights of docs/lark.md and publish a version",
    99991679: "the app lacks a right: grant the rights of docs/lark.md and publish a version",
    230002: "the bot is not in this chat any more",
    230006: "the app is no bot yet: add the bot capability and publish a version",
    230011: "the message was recalled",
    230013: "the user may not use the bot: extend the app's availability",
    230020: "too many messages at a time",
    230025: "the card is larger than 30 KB",
    230027: "the app lacks a right: grant the rights of docs/lark.md and publish a version",
    230031: "the message is older than 14 days and cannot be updated",
    230099: "the platform refuses the card",
    99991400: "too many requests at a time",
    1000040343: "the platform has no connection free now",
    1000040350: "the app has 50 connections already, which are all that it may have",
}


class LarkRefused(NetworkError):
    """The platform refused a request; ``retry_seconds`` if a later try may succeed."""

    def __init__(self, code: int, message: str, retry_seconds: float | None = None) -> None:
        reason = _EXPLANATIONS.get(code) or message or "no reason given"
        super().__init__(f"Lark refused a request: {reason} (code {code}).")
        self.lark_code = code
        self.retry_seconds = retry_seconds


@dataclass(frozen=True, slots=True)
class ReconnectPolicy:
    """How a client of the long connection behaves; the platform says so."""

    interval_seconds: float = 120.0
    jitter_seconds: float = 30.0
    ping_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class LarkEndpoint:
    """Where the long connection is dialled; the url holds a ticket and is never logged."""

    url: str
    policy: ReconnectPolicy


def resolve_domain(domain: str) -> str:
    """Return the address of ``feishu``, ``lark``, or of a server given by its address."""
    return DOMAINS.get(domain.lower(), domain).rstrip("/")


def parse_policy(data: Mapping[str, Any]) -> ReconnectPolicy:
    """Return what the platform says; a number that is none or not positive is left out."""

    def read(name: str, default: float) -> float:
        value = data.get(name)
        return float(value) if isinstance(value, int | float) and value > 0 else default

    default = ReconnectPolicy()
    return ReconnectPolicy(
        read("ReconnectInterval", default.interval_seconds),
        read("ReconnectNonce", 0.0),
        read("PingInterval", default.ping_seconds),
    )


class LarkApi:
    """A client of one app; safe to use from any thread. Every method may raise NetworkError."""

    def __init__(self, app_id: str, app_secret: str, domain: str) -> None:
        self._app_id = app_id
        self._app_secret = app_secret
        self._base = resolve_domain(domain)
        self._lock = threading.Lock()
        self._token = ""
        self._token_ends_at = 0.0
        is_local = urlsplit(self._base).hostname in {"127.0.0.1", "localhost", "::1"}
        self._client = make_http_client(TIMEOUTS, is_local=is_local)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send_message(self, chat_id: str, kind: str, content: str, unique_id: str) -> str:
        """Send a message and return its id; the same ``unique_id`` sends it once in an hour."""
        body = {"receive_id": chat_id, "msg_type": kind, "content": content, "uuid": unique_id}
        data = self._call("POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", body)
        return str(data.get("message_id", ""))

    def send_card(self, chat_id: str, card: Mapping[str, Any], unique_id: str) -> str:
        """Send a card and return the id of its message."""
        return self.send_message(chat_id, "interactive", dump_json(card), unique_id)

    def update_card(self, message_id: str, card: Mapping[str, Any]) -> None:
        """Replace a card that was sent."""
        path = f"/open-apis/im/v1/messages/{quote(message_id, safe='')}"
        self._call("PATCH", path, {"content": dump_json(card)})

    def get_bot_name(self) -> str:
        """Return the name of the app's bot."""
        return str(self._call("GET", "/open-apis/bot/v3/info", key="bot").get("app_name", ""))

    def list_scopes(self) -> set[str]:
        """Return the rights that were granted to the app."""
        found = self._call("GET", "/open-apis/application/v6/scopes").get("scopes") or ()
        return {str(each["scope_name"]) for each in found if each.get("grant_status") == 1}

    def get_endpoint(self) -> LarkEndpoint:
        """Return where the long connection is dialled now."""
        body = {"AppID": self._app_id, "AppSecret": self._app_secret}
        data = self._request("POST", "/callback/ws/endpoint", body, {"locale": "en"})["data"]
        return LarkEndpoint(str(data["URL"]), parse_policy(data.get("ClientConfig") or {}))

    def get_token(self, *, is_renewed: bool = False) -> str:
        """Return a token that is good for some minutes at least."""
        with self._lock:
            if is_renewed or time.monotonic() > self._token_ends_at - TOKEN_MARGIN_SECONDS:
                body = {"app_id": self._app_id, "app_secret": self._app_secret}
                path = "/open-apis/auth/v3/tenant_access_token/internal"
                reply = self._request("POST", path, body, {})
                self._token = str(reply["tenant_access_token"])
                self._token_ends_at = time.monotonic() + float(reply.get("expire", 0))
            return self._token

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str = "data"
    ) -> dict[str, Any]:
        """Return what a call with the app's token gives; one that has ended is renewed."""
        for is_renewed in (False, True):
            token = self.get_token(is_renewed=is_renewed)
            try:
                reply = self._request(method, path, body, {"Authorization": f"Bearer {token}"})
            except LarkRefused as error:
                if is_renewed or error.lark_code not in _INVALID_TOKEN_CODES:
                    raise
            else:
                return dict(reply.get(key) or {})
        raise AssertionError("the second round returns or raises")

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: dict[str, str]
    ) -> dict[str, Any]:
        content = None
        if body is not None:
            headers = {**headers, "Content-Type": "application/json; charset=utf-8"}
            content = dump_json(body).encode()
        request = self._client.build_request(
            method, self._base + path, content=content, headers=headers
        )
        route = get_route(request)
        try:
            response = self._client.send(request)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            # The cause is left out on purpose: httpx's texts may quote headers.
            raise NetworkError(explain_network_error(error, route)) from None
        return _read_reply(response)


def _read_reply(response: httpx.Response) -> dict[str, Any]:
    """Return the fields of a reply. Raises LarkRefused."""
    try:
        reply = response.json()
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        retry = DEFAULT_RETRY_SECONDS if response.status_code >= httpx.codes.BAD_REQUEST else None
        raise LarkRefused(response.status_code, "the reply is not the platform's", retry)
    code = reply.get("code", 0)
    if code == 0 and response.is_success:
        return reply
    is_rate = response.status_code == httpx.codes.TOO_MANY_REQUESTS or code in _RATE_CODES
    is_passing = is_rate or response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR
    reset = response.headers.get(RATE_RESET_HEADER, "")
    seconds = float(reset) if reset.isdecimal() else DEFAULT_RETRY_SECONDS
    raise LarkRefused(
        code or response.status_code, str(reply.get("msg", "")), seconds if is_passing else None
    )


def dump_json(value: object) -> str:
    """Return JSON as small as it can be; cards.py counts the same bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
