"""MCP over stdin and stdout, which have been claimed: nothing else gets onto the wire."""

import os
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from kernel.domain.terminal_text import escape_json
from kernel.transport.descriptors import Wire


class _AsciiWrapper(TextIOWrapper):
    """Writes JSON in ASCII: the SDK leaves control characters of C1 as they are."""

    def write(self, text: str) -> int:
        """Write, escaped."""
        return super().write(escape_json(text))


def serve_stdio(server: Server[Any], wire: Wire) -> None:
    """Answer until stdin ends."""
    anyio.run(_serve, server, wire)


async def _serve(server: Server[Any], wire: Wire) -> None:
    # Never closed: a thread may still wait on them when everything ends.
    asked = os.fdopen(wire.read_descriptor, "rb", closefd=False)
    answered = os.fdopen(wire.write_descriptor, "wb", closefd=False)
    async with stdio_server(
        anyio.wrap_file(TextIOWrapper(asked, encoding="utf-8", errors="replace")),
        anyio.wrap_file(_AsciiWrapper(answered, encoding="ascii", newline="\n")),
    ) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
