"""Requests and replies of one command, on one thread."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from codekernel import __version__
from codekernel.client.launcher import connect_to_kernel
from codekernel.errors import KernelRetired, KernelUnavailable, RefusedByKernel
from codekernel.protocol import PROTOCOL_VERSION
from codekernel.transport.local_endpoint import LocalPipe

MAIN_SESSION_ID = -1

# Programs of an older version may start one at the same moment.
MAX_RETIRED_KERNELS = 5

_READ_BYTES = 256 * 1024
# What the kernel wants confirmed.
_CONFIRMED_TYPES = {"sessionPrepared", "embeddingStatus"}

Fields = dict[str, Any]


class KernelConnection:
    """An attached command.

    with KernelConnection.open(user_data, "search") as kernel:
        kernel.request("openFolder", {"path": path, "sessionId": 1})
    """

    def __init__(self, pipe: LocalPipe) -> None:
        self._pipe = pipe
        self._buffer = b""
        self._next_id = 1
        self._replies: dict[int, list[Fields]] = {}

    @classmethod
    def open(
        cls, user_data: Path, client: str, *, may_start: bool = True, mode: str = "lines"
    ) -> Self:
        """Attach to the kernel of a userData folder, as ``connect_to_kernel`` does.

        An older kernel retires, and is replaced, unless ``mode`` is "control".
        """
        for _ in range(MAX_RETIRED_KERNELS):
            pipe = connect_to_kernel(user_data, may_start=may_start)
            try:
                return cls._attach(pipe, client, mode)
            except KernelRetired:
                pipe.close()
            except BaseException:
                pipe.close()
                raise
        raise KernelUnavailable(
            "older kernels are started again and again; end the programs of the older codekernel"
        )

    @classmethod
    def _attach(cls, pipe: LocalPipe, client: str, mode: str) -> Self:
        connection = cls(pipe)
        fields = {
            "protocolVersion": PROTOCOL_VERSION,
            "client": client,
            "pid": os.getpid(),
            "clientVersion": __version__,
            "mode": mode,
        }
        connection.request("attach", fields)
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()

    def post(self, message_type: str, fields: Fields, session_id: int = MAIN_SESSION_ID) -> int:
        """Send a request; return its callbackId, for ``wait_for_reply``."""
        callback_id, self._next_id = self._next_id, self._next_id + 1
        self._send(
            {
                "sessionId": session_id,
                "toMain": session_id == MAIN_SESSION_ID,
                "callbackId": callback_id,
                "isReply": False,
                "message": {**fields, "type": message_type},
            }
        )
        return callback_id

    def request(
        self, message_type: str, fields: Fields | None = None, session_id: int = MAIN_SESSION_ID
    ) -> Any:
        """Return the data of the reply to a request. Raises RefusedByKernel."""
        return self.wait_for_reply(self.post(message_type, fields or {}, session_id))

    def wait_for_reply(self, callback_id: int) -> Any:
        """Return the data of the next reply to a posted request. Raises RefusedByKernel."""
        while not self._replies.get(callback_id):
            self._handle(self._read_line())
        reply = self._replies[callback_id].pop(0)
        status = reply.get("status") or {}
        if status.get("code") != "SUCCESS":
            raise RefusedByKernel(str(status.get("message")), str(status.get("code")))
        return reply.get("data")

    def iterate_parts(self, callback_id: int, is_last: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield the data of each reply to a request, up to the last. Raises RefusedByKernel."""
        while True:
            part = self.wait_for_reply(callback_id)
            yield part
            if is_last(part):
                return

    def _handle(self, line: bytes) -> None:
        envelope = json.loads(line)
        if envelope["isReply"]:
            self._replies.setdefault(envelope["callbackId"], []).append(envelope)
            return
        message = envelope["message"]
        if message["type"] == "kernelStopping":
            error = KernelRetired if message.get("retired") else KernelUnavailable
            raise error(f"the kernel has stopped: {message['reason']}")
        if message["type"] in _CONFIRMED_TYPES:
            confirmed = {"code": "SUCCESS", "message": ""}
            self._send(
                {**envelope, "isReply": True, "message": {"type": message["type"]}}
                | {"status": confirmed}
            )

    def _send(self, envelope: Fields) -> None:
        try:
            self._pipe.write(json.dumps(envelope).encode() + b"\n")
        except OSError:
            while True:  # until the line that says why, or the end
                self._handle(self._read_line())

    def _read_line(self) -> bytes:
        parts = [self._buffer]
        while b"\n" not in parts[-1]:
            try:
                chunk = self._pipe.read(_READ_BYTES)
            except OSError:
                chunk = b""
            if not chunk:
                raise KernelUnavailable("the kernel has ended; try again")
            parts.append(chunk)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line
