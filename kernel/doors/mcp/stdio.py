"""MCP over stdin and stdout, which have been claimed: nothing else gets onto the wire."""

import os
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from kernel.transport.descriptors import Wire


def serve_stdio(server: Server[Any], wire: Wire) -> None:
    """Answer until stdin ends."""
    anyio.run(_serve, server, wire)


async def _serve(server: Server[Any], wire: Wire) -> None:
    # Never closed: a thread may still wait on them when everything ends.
    asked = os.fdopen(wire.read_descriptor, "rb", closefd=False)
    answered = os.fdopen(wire.write_descriptor, "wb", closefd=False)
    async with stdio_server(
        anyio.wrap_file(TextIOWrapper(asked, encoding="utf-8", errors="replace")),
        anyio.wrap_file(TextIOWrapper(answered, encoding="utf-8", newline="\n")),
    ) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
