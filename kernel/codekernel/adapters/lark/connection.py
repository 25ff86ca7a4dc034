"""The long connection: dialled by us, so that no public address is needed.

Events and clicks come in, each is answered on the same connection within three seconds, or the
platform sends it again. A lost connection is dialled again as the platform asks for.
"""

import base64
import json
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from codekernel.adapters.lark.api import LarkEndpoint, ReconnectPolicy, dump_json, parse_policy
from codekernel.adapters.lark.frames import (
    CONTROL_METHOD,
    EVENT_TYPE,
    PONG_TYPE,
    TYPE_HEADER,
    FrameDamaged,
    FrameParts,
    LarkFrame,
    decode_frame,
    make_ping,
    make_reply,
)
from codekernel.errors import KernelError, NetworkError
from codekernel.llm.http_client import load_ssl_context

logger = logging.getLogger(__name__)

CLICK_EVENT = "card.action.trigger"

MESSAGE_EVENT = "im.message.receive_v1"

# A frame has at most one event; the platform splits those of more than some hundred KB.
MAX_FRAME_BYTES = 16 * 1024 * 1024

OPEN_TIMEOUT_SECONDS = 15.0

# A connection on which neither a pong nor an event comes for this many pings is dead.
MAX_SILENT_PINGS = 2.5

FIRST_RETRY_SECONDS = 0.5

STOP_TIMEOUT_SECONDS = 5.0

# What is answered: the object that the platform gets, None for an empty answer.
EventHandler = Callable[[dict[str, Any]], dict[str, Any] | None]


class LongConnection:
    """A connection that is kept open on a thread of its own until ``stop``."""

    def __init__(
        self,
        get_endpoint: Callable[[], LarkEndpoint],
        handle: EventHandler,
        on_pong: Callable[[], None] = lambda: None,
    ) -> None:
        """``handle`` is called in the order of events, and for clicks on threads of their own.

        It returns within a second, or for a click within three; an event for which it raises is
        sent again by the platform.
        """
        self._get_endpoint = get_endpoint
        self._handle = handle
        self._on_pong = on_pong
        self._policy = ReconnectPolicy()
        self._stopping = threading.Event()
        self._connection: ClientConnection | None = None
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="lark:connection", daemon=True)

    @property
    def is_connected(self) -> bool:
        """Whether events can arrive now."""
        return self._connection is not None

    @property
    def problem(self) -> str:
        """Why the last try failed; empty while it is connected."""
        return "" if self.is_connected else self._problem

    def start(self) -> None:
        """Begin to dial."""
        self._thread.start()

    def stop(self) -> None:
        """Close the connection and dial no more."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            connection.close()
        if self._thread.ident is not None:
            self._thread.join(STOP_TIMEOUT_SECONDS)

    def _run(self) -> None:
        retry_seconds = FIRST_RETRY_SECONDS
        while not self._stopping.is_set():
            try:
                self._serve_once()
            except (KernelError, OSError, WebSocketException, FrameDamaged) as error:
                self._note_problem(error)
                wait = retry_seconds
                retry_seconds = min(2 * retry_seconds, self._policy.interval_seconds)
            else:
                # All clients of a server that restarts must not dial at the same moment.
                jitter = random.SystemRandom().uniform(0, self._policy.jitter_seconds)
                wait = max(jitter, FIRST_RETRY_SECONDS)
                retry_seconds = FIRST_RETRY_SECONDS
            self._stopping.wait(wait)

    def _note_problem(self, error: Exception) -> None:
        # Texts of the library may quote the url, and with it the ticket.
        text = str(error) if isinstance(error, KernelError) else type(error).__name__
        if text != self._problem:
            logger.warning("the long connection to Lark cannot be had: %s", text)
        self._problem = text

    def _serve_once(self) -> None:
        """Dial and serve until the connection ends. Raises if it cannot be had."""
        endpoint = self._get_endpoint()
        self._policy = endpoint.policy
        connection = dial(endpoint.url)
        with connection:
            self._connection, self._problem = connection, ""
            logger.info("connected to Lark")
            try:
                self._serve(connection, _read_service(endpoint.url))
            except ConnectionClosed:
                logger.info("the connection to Lark has ended")
            finally:
                self._connection = None

    def _serve(self, connection: ClientConnection, service: int) -> None:
        parts = FrameParts()
        ping_at, heard_at = 0.0, time.monotonic()
        while not self._stopping.is_set():
            now = time.monotonic()
            if now - heard_at > MAX_SILENT_PINGS * self._policy.ping_seconds:
                logger.info("Lark has not answered for %d seconds", now - heard_at)
                return
            if now >= ping_at:
                connection.send(make_ping(service).encode())
                ping_at = now + self._policy.ping_seconds
            try:
                data = connection.recv(max(ping_at - time.monotonic(), 0.0))
            except TimeoutError:
                continue
            heard_at = time.monotonic()
            if isinstance(data, bytes):
                self._receive(connection, data, parts)

    def _receive(self, connection: ClientConnection, data: bytes, parts: FrameParts) -> None:
        try:
            frame = decode_frame(data)
            if frame.method == CONTROL_METHOD:
                self._receive_control(frame)
                return
            payload = parts.join(frame)
            event = json.loads(payload) if payload is not None else None
        except (FrameDamaged, ValueError) as error:
            logger.warning("a frame of Lark cannot be read: %s", error)
            return
        if frame.get_header(TYPE_HEADER) != EVENT_TYPE or not isinstance(event, dict):
            return
        if get_event_type(event) == CLICK_EVENT:
            answer = threading.Thread(
                target=self._answer, args=(connection, frame, event), name="lark:click", daemon=True
            )
            answer.start()
        else:
            self._answer(connection, frame, event)

    def _receive_control(self, frame: LarkFrame) -> None:
        if frame.get_header(TYPE_HEADER) != PONG_TYPE:
            return
        if frame.payload:
            policy = json.loads(frame.payload)
            if isinstance(policy, dict):
                self._policy = parse_policy(policy)
        self._on_pong()

    def _answer(
        self, connection: ClientConnection, frame: LarkFrame, event: dict[str, Any]
    ) -> None:
        began = time.monotonic()
        try:
            answer = self._handle(event)
        except KernelError as error:
            logger.warning("an event of Lark could not be handled: %s", error)
            reply: dict[str, Any] = {"code": 500}
        else:
            reply = {"code": 200}
            if answer is not None:
                reply["data"] = base64.b64encode(dump_json(answer).encode()).decode()
        milliseconds = round((time.monotonic() - began) * 1000)
        try:
            connection.send(make_reply(frame, dump_json(reply).encode(), milliseconds).encode())
        except ConnectionClosed:
            logger.info("the connection ended before an event was answered; it comes again")


def dial(url: str) -> ClientConnection:
    """Open the connection. Raises NetworkError."""
    parts = urlsplit(url)
    context: ssl.SSLContext | None = load_ssl_context() if parts.scheme == "wss" else None
    is_local = parts.hostname in {"127.0.0.1", "localhost"}
    try:
        return connect(
            url,
            ssl=context,
            proxy=None if is_local else True,
            open_timeout=OPEN_TIMEOUT_SECONDS,
            max_size=MAX_FRAME_BYTES,
        )
    except (OSError, WebSocketException, TimeoutError) as error:
        status = getattr(getattr(error, "response", None), "headers", {}).get("handshake-msg")
        reason = f": {status}" if status else ""
        raise NetworkError(
            f"The long connection to {parts.hostname} was not accepted{reason}"
            f" ({type(error).__name__}); it is tried again."
        ) from None


def get_event_type(event: dict[str, Any]) -> str:
    """Return what an event is about."""
    header = event.get("header")
    return str(header.get("event_type", "")) if isinstance(header, dict) else ""


def _read_service(url: str) -> int:
    value = parse_qs(urlsplit(url).query).get("service_id", ["0"])[0]
    return int(value) if value.isdecimal() else 0
