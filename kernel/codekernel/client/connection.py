"""Requests and replies of one command; another kernel goes on where one dies or leaves."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

from codekernel.client.launcher import connect_to_kernel
from codekernel.client.link_channel import LinkChannel
from codekernel.client.relay import Connect, KernelLink, make_attach_line
from codekernel.client.relay_state import RelayState
from codekernel.errors import KernelUnavailable, RefusedByKernel
from codekernel.protocol import MAIN_SESSION_ID

# What the kernel wants confirmed.
_CONFIRMED_TYPES = {"sessionPrepared", "embeddingStatus"}

Fields = dict[str, Any]


class KernelConnection:
    """An attached command. One thread reads replies; any thread may post.

    with KernelConnection.open(user_data, "search") as kernel:
        kernel.request("openFolder", {"path": path, "sessionId": 1})
    """

    def __init__(self, link: KernelLink, state: RelayState) -> None:
        self._link = link
        self._state = state
        self._lines = LinkChannel(link).iter_sent()
        self._next_id = 1
        self._replies: dict[int, list[Fields]] = {}

    @classmethod
    def open(
        cls,
        user_data: Path,
        client: str,
        *,
        may_start: bool = True,
        mode: str = "lines",
        connect: Connect = connect_to_kernel,
    ) -> Self:
        """Attach to the kernel of a userData folder; raises as ``connect_to_kernel`` does.

        Unless one ``may_start``, the end of the kernel is the end of the connection. An older
        kernel retires, and is replaced, unless ``mode`` is "control".
        """
        state = RelayState()
        state.is_stopping = not may_start
        if not may_start:
            connect = partial(connect_to_kernel, may_start=False)
        attach_line = make_attach_line(client, mode=mode, reattaches=may_start)
        return cls(KernelLink(user_data, state, attach_line, connect), state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()

    @property
    def replaced_count(self) -> int:
        """How many kernels have died or left so far; replies after that come from another one."""
        return self._link.replaced_count

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

    def iterate_turn(self, callback_id: int) -> Iterator[Fields | RefusedByKernel]:
        """Yield what is streamed for a turn, an error as a value; the last part is ``done``."""
        while True:
            try:
                part = self.wait_for_reply(callback_id)
            except RefusedByKernel as error:
                yield error
                continue
            if part is not None:  # else it was accepted
                yield part
                if part["type"] == "done":
                    return

    def _handle(self, line: bytes) -> None:
        envelope = json.loads(line)
        if envelope["isReply"]:
            self._replies.setdefault(envelope["callbackId"], []).append(envelope)
            return
        message = envelope["message"]
        if message["type"] == "kernelServerCrashed":  # and no other one can be had
            raise KernelUnavailable(message["error"])
        if message["type"] in _CONFIRMED_TYPES:
            confirmed = {"code": "SUCCESS", "message": ""}
            self._send(
                {**envelope, "isReply": True, "message": {"type": message["type"]}}
                | {"status": confirmed}
            )

    def _send(self, envelope: Fields) -> None:
        self._link.send(json.dumps(envelope).encode() + b"\n")

    def _read_line(self) -> bytes:
        line = next(self._lines, None)
        if line is None:
            raise KernelUnavailable(self._state.refusal or "the kernel has ended")
        return line if isinstance(line, bytes) else b"".join(line.iter_pieces())
