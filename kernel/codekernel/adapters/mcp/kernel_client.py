"""A client of the MCP server in the kernel, for a process that serves others with it."""

import itertools
import json
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from codekernel.adapters.indexed_repository import ProgressCallback, ignore_progress
from codekernel.client.link_channel import LinkChannel
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay import Connect, KernelLink, make_attach_line
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, KernelUnavailable, RefusedByKernel

_PROTOCOL_VERSION = "2025-06-18"

# How soon a call that waits notices that it is cancelled.
_POLL_INTERVAL_SECONDS = 0.1


class KernelMcpClient:
    """Calls from any number of threads at once; a kernel that dies is replaced under them."""

    def __init__(self, user_data: Path, name: str, folder: Path, connect: Connect) -> None:
        """Attach to the kernel. Raises KernelError."""
        attach_line = make_attach_line(name, mode="mcp", folder=str(folder))
        self._link = KernelLink(user_data, McpRelayState(), attach_line, connect)
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[Future[Any], ProgressCallback]] = {}
        self._lock = threading.Lock()
        self._is_lost = False
        threading.Thread(target=self._read, name="mcp:kernel", daemon=True).start()
        client_info = {"name": name, "version": "1"}
        hello = {"protocolVersion": _PROTOCOL_VERSION, "capabilities": {}}
        self.request("initialize", hello | {"clientInfo": client_info}, CancelToken())
        self._send({"method": "notifications/initialized"})

    def request(
        self,
        method: str,
        params: dict[str, Any],
        cancel: CancelToken,
        report: ProgressCallback = ignore_progress,
    ) -> Any:
        """Return the result. Raises RefusedByKernel, Cancelled, KernelUnavailable."""
        number, result = next(self._ids), Future[Any]()
        with self._lock:
            if self._is_lost:
                raise KernelUnavailable("the kernel has ended")
            self._waiting[number] = result, report
        meta = {"_meta": {"progressToken": number}}
        self._send({"id": number, "method": method, "params": params | meta})
        try:
            while not cancel.is_cancelled:
                with suppress(TimeoutError):
                    return result.result(_POLL_INTERVAL_SECONDS)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        self._send({"method": "notifications/cancelled", "params": {"requestId": number}})
        raise Cancelled("the call was cancelled")

    def _send(self, message: dict[str, Any]) -> None:
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

    def _handle(self, message: dict[str, Any]) -> None:
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
            result.set_result(message.get("result"))
