"""A client of the MCP server in the kernel, for a process that serves others with it."""

import itertools
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path

from codekernel import __version__
from codekernel.adapters.mcp import protocol
from codekernel.adapters.mcp.protocol import Message, Params
from codekernel.adapters.mcp.server import McpMethod
from codekernel.client.link_channel import LinkChannel
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay import Connect, KernelLink, make_attach_line
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback, ignore_progress
from codekernel.errors import Cancelled, KernelUnavailable, RefusedByKernel

# How soon a call that waits notices that it is cancelled.
_POLL_INTERVAL_SECONDS = 0.1


class KernelMcpClient:
    """Calls from any number of threads at once; a kernel that dies is replaced under them."""

    def __init__(self, user_data: Path, name: str, folder: Path, connect: Connect) -> None:
        """Attach to the kernel. Raises KernelError."""
        attach_line = make_attach_line(name, mode="mcp", folder=str(folder))
        self._envelope = {
            protocol.VERSION_KEY: protocol.ENVELOPE_VERSION,
            protocol.CAPABILITIES_KEY: {},
            protocol.CLIENT_KEY: {"name": name, "version": __version__},
        }
        self._link = KernelLink(user_data, McpRelayState(), attach_line, connect)
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[Future[Message], ProgressCallback]] = {}
        self._lock = threading.Lock()
        self._is_lost = False
        threading.Thread(target=self._read, name="mcp:kernel", daemon=True).start()
        self.request("server/discover", {}, CancelToken())  # fails if it cannot be attached

    def request(
        self,
        method: str,
        params: Params,
        cancel: CancelToken,
        report: ProgressCallback = ignore_progress,
    ) -> Message:
        """Return the result. Raises RefusedByKernel, Cancelled, KernelUnavailable."""
        number, result = next(self._ids), Future[Message]()
        with self._lock:
            if self._is_lost:
                raise KernelUnavailable("the kernel has ended")
            self._waiting[number] = result, report
        meta = {"_meta": {**self._envelope, "progressToken": number}}
        self._send({"id": number, "method": method, "params": {**params, **meta}})
        try:
            while not cancel.is_cancelled:
                with suppress(TimeoutError):
                    return result.result(_POLL_INTERVAL_SECONDS)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        self._send({"method": "notifications/cancelled", "params": {"requestId": number}})
        raise Cancelled("the call was cancelled")

    def _send(self, message: Message) -> None:
        self._link.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _read(self) -> None:
        for line in LinkChannel(self._link).iter_sent():
            content = line if isinstance(line, bytes) else b"".join(line.iter_pieces())
            with suppress(ValueError):  # torn by a death, and answered again
                self._handle(json.loads(content))
        with self._lock:
            self._is_lost = True
            waiting = list(self._waiting.values())
        for result, _ in waiting:
            result.set_exception(KernelUnavailable("the kernel has ended"))

    def _handle(self, message: Message) -> None:
        params = message.get("params") or {}
        is_progress = message.get("method") == "notifications/progress"
        number = params.get("progressToken") if is_progress else message.get("id")
        with self._lock:
            waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None:
            return
        result, report = waiting
        if is_progress:
            report(params["progress"], params.get("total"), params.get("message") or "")
        elif "error" in message:
            error = message["error"]
            result.set_exception(RefusedByKernel(error["message"], str(error["code"])))
        else:
            result.set_result(protocol.strip_envelope(message["result"]))


# What the server in the kernel answers.
_FORWARDED_METHODS = (
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


def make_forwarding_methods(kernel: KernelMcpClient) -> Mapping[str, McpMethod]:
    """Return methods that the server in the kernel answers."""
    return {method: partial(kernel.request, method) for method in _FORWARDED_METHODS}
