"""A repository on the SDK of MCP, over stdin and stdout or over HTTP."""

import os

from kernel.agent.context import ToolContext
from kernel.agent.journal import Journal
from kernel.cli.mcp_asking import Asking
from kernel.cli.search_streams import say
from kernel.doors.mcp.repository import Repository
from kernel.doors.mcp.server import make_server
from kernel.doors.mcp.stdio import serve_stdio
from kernel.doors.mcp.tools import LIMITS, Toolbox
from kernel.transport.descriptors import Wire

TOKEN_VARIABLE = "CODEKERNEL_MCP_TOKEN"  # noqa: S105 - the name of a variable
TROUBLE = 2


def serve(repository: Repository, asking: Asking, wire: Wire | None, port: int) -> int:
    """Answer until stdin ends, or without a wire, on a port until a signal comes; an exit code."""
    # Nothing here writes, so the journal stays empty.
    journal = Journal.under(asking.user_data.root, "mcp", repository.root)
    context = ToolContext(repository.root, journal, limits=LIMITS)
    server = make_server(Toolbox(repository, asking.begin, context))
    if wire is not None:
        serve_stdio(server, wire)
        return 0
    from kernel.doors.mcp.over_http import HttpDoor  # noqa: PLC0415 - seldom needed

    try:
        door = HttpDoor(port, os.environ.get(TOKEN_VARIABLE, ""))
    except OSError as error:
        say(f"port {port} cannot be used: {error.strerror}. Choose another one, or 0.")
        return TROUBLE
    print(f"{door.address}\nAuthorization: Bearer {door.token}", flush=True)
    say(f"the token is new each time unless ${TOKEN_VARIABLE} has one; Ctrl-C stops codekernel")
    door.serve(server)
    return 0
