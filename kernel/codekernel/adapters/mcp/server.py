"""Answers the messages of one MCP client, over any transport."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from codekernel.adapters.mcp import protocol
from codekernel.adapters.mcp.protocol import McpError, Message, Params
from codekernel.adapters.mcp.roots import RootsFollower
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback, ignore_progress
from codekernel.domain.untrusted_text import escape_json
from codekernel.errors import Cancelled, KernelError, KernelUnavailable, RefusedByKernel
from codekernel.transport.lines import Line, OversizedLine
from codekernel.transport.local_endpoint import LocalPipe

logger = logging.getLogger(__name__)

# Calls of a client at a time; more wait. Each is a thread.
MAX_CONCURRENT_CALLS = 16

# A client that asks faster than it is answered is not read further beyond this.
MAX_UNANSWERED_BYTES = 16 * 1024 * 1024

# What a waiting request takes besides its line.
REQUEST_OVERHEAD_BYTES = 2048

PROGRESS_INTERVAL_SECONDS = 0.2

# A method of the protocol. Raises McpError, KernelError.
McpMethod = Callable[[Params, CancelToken, ProgressCallback], Message]

# Sends a notification that belongs to a request.
Notify = Callable[[Message], None]

# What is sent back: one reply, those of a batch, or nothing for a request that was cancelled.
Reply = Message | list[Message] | None


def encode_message(message: Message | list[Message]) -> bytes:
    """Return a message in one line of ASCII."""
    return escape_json(json.dumps(message, separators=(",", ":"))).encode("ascii")


class McpServer:
    """One client: the version it speaks, and its requests that are not answered."""

    def __init__(
        self,
        methods: Mapping[str, McpMethod],
        version: str = "",
        roots: RootsFollower | None = None,
    ) -> None:
        self._methods = methods
        self._roots = roots
        self.version = version  # unknown before the first request
        self._running: dict[str | int, CancelToken] = {}
        self._lock = threading.Lock()

    def accept(self, message: object, notify: Notify) -> Callable[[], Reply] | None:
        """Return what makes the reply to a message, or None if it gets none.

        Messages are accepted in their order; the replies may be made on any threads.
        """
        if isinstance(message, list) and message and self.version == protocol.BATCH_VERSION:
            works = [work for each in message if (work := self._accept(each, notify))]
            return partial(_answer_batch, works) if works else None
        return self._accept(message, notify)

    def cancel_all(self) -> None:
        """End every call that runs: the client is gone."""
        with self._lock:
            tokens = list(self._running.values())
        for token in tokens:
            token.cancel()

    def _accept(self, message: Any, notify: Notify) -> Callable[[], Message | None] | None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _make_refusal(McpError(protocol.INVALID_REQUEST, "Invalid request"))
        method, params = message.get("method"), message.get("params", {})
        if method is None and ("result" in message or "error" in message):
            self._note_reply(message)
            return None
        if not isinstance(method, str) or not isinstance(params, dict | None):
            return _make_refusal(McpError(protocol.INVALID_REQUEST, "Invalid request"))
        params = params or {}
        if "id" not in message:
            self._note(method, params, notify)
            return None
        request_id = message["id"]
        if not protocol.is_request_id(request_id):
            return _make_refusal(McpError(protocol.INVALID_REQUEST, "Invalid request"))
        token = CancelToken()
        with self._lock:
            self._running[request_id] = token
        try:
            call = self._begin(method, params)
        except McpError as error:
            call = partial(_raise, error)
        report = _make_progress_callback(protocol.get_meta(params).get("progressToken"), notify)
        return partial(self._answer, request_id, partial(call, params, token, report), token)

    def _note_reply(self, reply: Message) -> None:
        """Handle what a client answers, which is asked for nothing but its roots."""
        if self._roots:
            self._roots.note_reply(reply)

    def _note(self, method: str, params: Params, notify: Notify) -> None:
        """Handle a notification."""
        if self._roots:
            self._roots.note_notification(method, notify)
        request_id = params.get("requestId")
        if method == "notifications/cancelled" and protocol.is_request_id(request_id):
            with self._lock:
                token = self._running.get(request_id)
            if token:
                token.cancel()

    def _begin(self, method: str, params: Params) -> McpMethod:
        """Check a request and return what answers it. Raises McpError."""
        if not self.version and method != "initialize" and _has_envelope(params):
            self.version = protocol.ENVELOPE_VERSION
        if self.version == protocol.ENVELOPE_VERSION:
            return self._begin_enveloped(method, params)
        return self._begin_handshaken(method, params)

    def _begin_enveloped(self, method: str, params: Params) -> McpMethod:
        if method == "initialize":
            raise protocol.refuse_handshake(params)
        protocol.check_envelope(params)
        protocol.check_params(method, params)
        if method == "server/discover":
            return self._shape(method, lambda *_: protocol.make_discover_result())
        return self._shape(method, self._find(method))

    def _begin_handshaken(self, method: str, params: Params) -> McpMethod:
        if method == "initialize":
            protocol.check_params(method, params)
            self.version = version = protocol.negotiate_version(params)
            if self._roots:
                self._roots.note_initialize(params)
            return lambda *_: protocol.make_initialize_result(version)
        if _has_envelope(params):
            raise McpError(
                protocol.INVALID_REQUEST,
                "this connection serves the handshake protocol era; requests carrying the"
                f" {protocol.ENVELOPE_VERSION} envelope are not accepted on it",
            )
        protocol.check_params(method, params)
        if method == "ping":
            return lambda *_: {}
        found = self._find(method)
        if not self.version:
            raise McpError(protocol.INVALID_PARAMS, "Invalid request parameters", "")
        return self._shape(method, found)

    def _find(self, method: str) -> McpMethod:
        if found := self._methods.get(method):
            return found
        raise McpError(protocol.METHOD_NOT_FOUND, "Method not found", method)

    def _shape(self, method: str, call: McpMethod) -> McpMethod:
        version = self.version
        return lambda *given: protocol.shape_result(method, version, call(*given))

    def _answer(
        self, request_id: str | int, call: Callable[[], Message], token: CancelToken
    ) -> Message | None:
        """Return the reply; None if the client has cancelled the request."""
        try:
            reply = protocol.make_result_reply(request_id, call())
        except Exception as error:  # noqa: BLE001 - the boundary from errors to replies
            reply = protocol.make_error_reply(request_id, _convert_error(error))
        with self._lock:
            if self._running.get(request_id) is token:
                del self._running[request_id]
        return None if token.is_cancelled else reply


def _has_envelope(params: Params) -> bool:
    return protocol.VERSION_KEY in protocol.get_meta(params)


def _raise(error: McpError, *_: object) -> Message:
    raise error


def _make_refusal(error: McpError) -> Callable[[], Message]:
    """Return the reply to what has no id that could be read."""
    return lambda: protocol.make_error_reply(None, error)


def _answer_batch(works: list[Callable[[], Message | None]]) -> list[Message] | None:
    return [reply for work in works if (reply := work()) is not None] or None


def _convert_error(error: Exception) -> McpError:
    match error:
        case McpError():
            return error
        case RefusedByKernel():
            return McpError(int(error.status), str(error))
        case Cancelled() | KernelUnavailable():
            return McpError(protocol.INTERNAL_ERROR, str(error))
        case KernelError():
            return McpError(protocol.INVALID_PARAMS, str(error))
    logger.error("an MCP request failed", exc_info=error)
    return McpError(protocol.INTERNAL_ERROR, "Internal server error")


def _make_progress_callback(progress_token: str | int | None, notify: Notify) -> ProgressCallback:
    """Return what reports progress: numbers increase, and the same message is sent seldom."""
    if progress_token is None:
        return ignore_progress
    sent, sent_message, sent_at = -1.0, "", 0.0

    def report(done: float, total: float | None, message: str) -> None:
        nonlocal sent, sent_message, sent_at
        now = time.monotonic()
        is_due = message != sent_message or now - sent_at >= PROGRESS_INTERVAL_SECONDS
        if done <= sent or not is_due:
            return
        sent, sent_message, sent_at = done, message, now
        params = {"progressToken": progress_token, "progress": done, "total": total}
        params = {name: value for name, value in params.items() if value is not None}
        method = "notifications/progress"
        notify({"jsonrpc": "2.0", "method": method, "params": {**params, "message": message}})

    return report


class McpLineServer:
    """Serves a client that sends lines."""

    def __init__(self, pipe: LocalPipe) -> None:
        self._pipe = pipe
        self._write_lock = threading.Lock()
        self._unanswered_bytes = 0
        self._changed = threading.Condition()

    def has_unanswered(self) -> bool:
        """Return whether a request waits for its reply."""
        return self._unanswered_bytes > 0

    def serve(
        self,
        methods: Mapping[str, McpMethod],
        lines: Iterator[Line],
        roots: RootsFollower | None = None,
    ) -> None:
        """Answer until the lines end, or the client is gone."""
        server = McpServer(methods, roots=roots)
        pool = ThreadPoolExecutor(MAX_CONCURRENT_CALLS, thread_name_prefix="mcp")
        try:
            for line in lines:
                # The beginning of a message that is too long is refused as half a message.
                content = line.prefix if isinstance(line, OversizedLine) else line
                if work := self._accept(server, content):
                    cost = len(content) + REQUEST_OVERHEAD_BYTES
                    with self._changed:
                        self._changed.wait_for(self._has_room)
                        self._unanswered_bytes += cost
                    pool.submit(self._reply, work, cost)
        finally:
            server.cancel_all()
            pool.shutdown(wait=False, cancel_futures=True)

    def _accept(self, server: McpServer, content: bytes) -> Callable[[], Reply] | None:
        try:
            return server.accept(protocol.parse_message(content), self._write)
        except McpError as error:
            return _make_refusal(error)

    def _has_room(self) -> bool:
        return self._unanswered_bytes <= MAX_UNANSWERED_BYTES

    def _reply(self, work: Callable[[], Reply], cost: int) -> None:
        try:
            reply = work()
            # Those of a batch on lines of their own, where a relay finds their ids.
            for each in reply if isinstance(reply, list) else [reply]:
                if each is not None:
                    self._write(each)
        except OSError as error:
            logger.info("an MCP client is gone: %s", error)
            self._pipe.close_reading()
        finally:
            with self._changed:
                self._unanswered_bytes -= cost
                self._changed.notify_all()

    def _write(self, message: Message) -> None:
        content = encode_message(message) + b"\n"
        with self._write_lock:
            self._pipe.write(content)
