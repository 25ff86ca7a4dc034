"""Devices that follow a hub, in a process of their own: ``hub_devices.py PLAN``.

Reads a plan (JSON) from the command line, opens a stream of events for each device, writes
``ready``, and when every device has its events, when each arrived.
"""

import asyncio
import json
import sys
import time
from typing import Any

MARK = b'"name":"at '
READ_TIMEOUT_SECONDS = 120.0
READ_BYTES = 256 * 1024


async def follow(device: dict[str, Any], port: int, ready: asyncio.Event) -> list[tuple[str, int]]:
    """Return the marked events of one device with the moments at which they were read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_BYTES)
    lines = [
        f"GET /api/events?{device['query']} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {device['token']}",
    ]
    if device.get("lastEventId"):
        lines.append(f"Last-Event-ID: {device['lastEventId']}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    found: list[tuple[str, int]] = []
    rest = b""
    while len(found) < device["count"]:
        chunk = await asyncio.wait_for(reader.read(READ_BYTES), READ_TIMEOUT_SECONDS)
        if not chunk:
            break
        moment = time.monotonic_ns()
        *frames, rest = (rest + chunk).split(b"\n\n")
        for frame in frames:
            _, mark, after = frame.partition(MARK)
            if mark:
                found.append((after[: after.index(b'"')].decode(), moment))
            elif b"connection-changed" in frame:
                ready.set()
    writer.close()
    return found


async def run(plan: dict[str, Any]) -> None:
    """Follow with every device of a plan."""
    began = time.monotonic_ns()
    events = [asyncio.Event() for _ in plan["devices"]]
    following = [
        asyncio.create_task(follow(device, plan["port"], ready))
        for device, ready in zip(plan["devices"], events, strict=True)
    ]
    for ready in events:
        await asyncio.wait_for(ready.wait(), READ_TIMEOUT_SECONDS)
    print("ready", flush=True)
    arrivals = await asyncio.gather(*following)
    print(json.dumps({"began": began, "arrivals": arrivals}), flush=True)


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
