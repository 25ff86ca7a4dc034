"""The hub's end of the connection of another machine.

The machine dials the hub and carries lines between it and its own kernel, so that the hub uses the
same client as on its own machine. The lines cross a pair of sockets: one end is the WebSocket's, on
the event loop, the other the client's, on threads.
"""

import asyncio
import socket
import threading
from pathlib import Path

from starlette.websockets import WebSocket, WebSocketDisconnect

from codekernel.adapters.hub.contract.sessions import encode_json
from codekernel.adapters.hub.devices import DeviceKind, PairedDevice
from codekernel.adapters.hub.routes.requests import HubContext
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.errors import KernelError, KernelUnavailable
from codekernel.transport.local_endpoint import LocalPipe
from codekernel.transport.unix_socket import SocketPipe

# Headers of the handshake: a key, or a code for the first time.
KEY_PREFIX, CODE_PREFIX = "Bearer ", "Pairing "

NAME_HEADER = "X-Machine-Name"

LINK_PATH = "/api/machines/link"

# The machine sends it every ten seconds.
ALIVE_FRAME = "alive"

_READ_BYTES = 64 * 1024

_POLICY_VIOLATION = 1008


async def serve_machine(hub: HubContext, websocket: WebSocket) -> None:
    """Let a paired machine in and serve it until the connection ends."""
    device, key = await hub.run_in_thread(_identify, hub, websocket)
    if device is None:
        await websocket.close(_POLICY_VIOLATION)  # before it is accepted: 403
        return
    await websocket.accept()
    await websocket.send_text(encode_json({"type": "welcome", "key": key}).decode())
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    link = _MachineLink(hub, device, SocketPipe(ours))
    threading.Thread(target=link.attach, name="hub:machine", daemon=True).start()
    sending = asyncio.create_task(_send_lines(websocket, reader))
    try:
        await _receive_frames(hub, websocket, writer, link)
    finally:
        sending.cancel()
        writer.close()
        await hub.run_in_thread(link.close)


def _identify(hub: HubContext, websocket: WebSocket) -> tuple[PairedDevice | None, str]:
    """Return the machine of a handshake, and its new key if it was paired by this."""
    header = websocket.headers.get("authorization", "")
    address = websocket.client.host if websocket.client else ""
    if hub.pairing_failures.get_wait(address):
        return None, ""
    if header.startswith(CODE_PREFIX):
        name = websocket.headers.get(NAME_HEADER, "")
        paired = hub.pairing.redeem(header.removeprefix(CODE_PREFIX), name, DeviceKind.MACHINE)
        if paired:
            return paired
    elif header.startswith(KEY_PREFIX):
        device = hub.devices.find_by_key(header.removeprefix(KEY_PREFIX))
        if device and device.kind is DeviceKind.MACHINE:
            return device, ""
    hub.pairing_failures.note_failure(address)
    return None, ""


async def _receive_frames(
    hub: HubContext, websocket: WebSocket, writer: asyncio.StreamWriter, link: "_MachineLink"
) -> None:
    """Pass lines of the machine on, until it goes or is revoked."""
    while True:
        frame = await websocket.receive()
        if frame["type"] == "websocket.disconnect":
            return
        if content := frame.get("bytes"):
            writer.write(content)
            await writer.drain()
        elif frame.get("text") == ALIVE_FRAME and not await hub.run_in_thread(link.note_alive):
            await websocket.close(_POLICY_VIOLATION)
            return


async def _send_lines(websocket: WebSocket, reader: asyncio.StreamReader) -> None:
    try:
        while content := await reader.read(_READ_BYTES):
            await websocket.send_bytes(content)
        await websocket.close()
    except (WebSocketDisconnect, RuntimeError, OSError):
        pass  # it is gone, which the receiving side notices


class _MachineLink:
    """The sessions of a machine that is connected; used by threads."""

    def __init__(self, hub: HubContext, device: PairedDevice, pipe: SocketPipe) -> None:
        self._hub = hub
        self._device = device
        self._pipe = pipe
        self._pipes: list[LocalPipe] = [pipe]
        self._sessions: RemoteAgentSessions | None = None
        self._machine_id = ""
        self._is_closed = False
        self._lock = threading.Lock()

    def attach(self) -> None:
        """Add the machine to the hub's; end the connection if that fails."""
        try:
            sessions = RemoteAgentSessions(KernelRequests(Path(), "hub", self._connect))
            with self._lock:
                self._sessions = sessions
                is_late = self._is_closed
            if is_late:
                sessions.close()
                return
            machine_id = self._hub.table.attach(sessions, self._device.id)
        except KernelError:
            self._pipe.close()
            return
        with self._lock:
            self._machine_id = machine_id
            is_late = self._is_closed
        if is_late:
            self._hub.table.detach(machine_id, sessions)

    def note_alive(self) -> bool:
        """Note that the machine is there; False if it is not paired any longer."""
        if self._hub.devices.find(self._device.id) is None:
            return False
        self._hub.table.note_alive(self._machine_id)
        return True

    def close(self) -> None:
        """Let go of the machine; it may come back."""
        with self._lock:
            self._is_closed = True
            sessions, machine_id = self._sessions, self._machine_id
        if sessions is not None:
            if machine_id:
                self._hub.table.detach(machine_id, sessions)
            sessions.close()
        self._pipe.close()

    def _connect(self, _: str | Path) -> LocalPipe:
        """Return the connection, once: after it, the machine dials again."""
        if not self._pipes:
            raise KernelUnavailable("The machine is not connected to the hub.")
        return self._pipes.pop()
