"""Two hundred devices on twenty sessions: each gets every event once and in order."""

import asyncio
import json

from codekernel.adapters.hub.devices import DeviceRegistry
from support.hub_world import HubWorld

DEVICES, SESSIONS, CHANGES = 200, 20, 5
READ_TIMEOUT_SECONDS = 100.0


async def follow(port: int, token: str, query: str, ready: asyncio.Event, count: int) -> list[str]:
    """Return the names that a device was told, and what its ids were."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    head = f"GET /api/events?{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    writer.write(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
    told: list[str] = []
    while len(told) < count:
        line = await asyncio.wait_for(reader.readline(), READ_TIMEOUT_SECONDS)
        assert line, "the stream has ended"
        if line.startswith(b"data: "):
            event = json.loads(line.removeprefix(b"data: "))
            if event["type"] == "connection-changed":
                ready.set()
            if event["type"] == "session-updated":
                told.append(event["data"]["metadata"]["value"]["name"])
    writer.close()
    return told


def test_no_device_of_a_crowd_misses_anything(hub: HubWorld) -> None:
    context = hub.service.context
    sessions = [hub.world.start().id for _ in range(SESSIONS)]
    registry = DeviceRegistry(hub.database)
    tokens = [context.tokens.make_token(registry.add(f"d{it}")[0]) for it in range(DEVICES)]

    async def run() -> list[list[str]]:
        ready = [asyncio.Event() for _ in tokens]
        # Half of them follow everything, half of them one session.
        plans = [
            ("all=1", SESSIONS * CHANGES)
            if number % 2
            else (f"sessionId={sessions[number % SESSIONS]}", CHANGES)
            for number in range(DEVICES)
        ]
        port = context.rules.port
        following = [
            asyncio.create_task(follow(port, token, plan[0], event, plan[1]))
            for token, plan, event in zip(tokens, plans, ready, strict=True)
        ]
        for event in ready:
            await asyncio.wait_for(event.wait(), READ_TIMEOUT_SECONDS)
        await asyncio.to_thread(change_all)
        return list(await asyncio.gather(*following))

    def change_all() -> None:
        for change in range(CHANGES):
            for session_id in sessions:
                hub.world.engine.update_session(session_id, name=f"{session_id} {change}")

    told = asyncio.run(run())
    everything = [f"{session} {change}" for change in range(CHANGES) for session in sessions]
    for number, names in enumerate(told):
        own = sessions[number % SESSIONS]
        expected = [name for name in everything if number % 2 or name.startswith(own)]
        assert names == expected
