"""Run the MCP SDK's server over stdin and stdout or over HTTP.

Imports the SDK, so it is loaded by ``codekernel mcp`` alone.
"""

import os

from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.adapters.mcp.server import make_server, serve_stdio
from codekernel.adapters.mcp.tools import MCP_LIMITS, McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.cli.mcp_conversations import McpConversations
from codekernel.cli.output.terminal import print_notice
from codekernel.transport.descriptors import StdioPipe

TOKEN_ENV_VARIABLE = "CODEKERNEL_MCP_TOKEN"  # noqa: S105 - the name of a variable

EXIT_ERROR = 2


def serve_mcp(
    repository: IndexedRepository, asking: McpConversations, wire: StdioPipe | None, port: int
) -> int:
    """Answer until stdin ends, or without a wire, on a port until a signal comes; an exit code."""
    # Nothing here writes, so the journal stays empty.
    journal = ChangeJournal.from_user_data(asking.user_data.root, "mcp", repository.root)
    context = ToolContext(repository.root, journal, limits=MCP_LIMITS)
    server = make_server(McpTools(repository, asking.begin_turn, context))
    if wire is not None:
        serve_stdio(server, wire)
        return 0
    from codekernel.adapters.mcp.http_server import McpHttpServer  # noqa: PLC0415 - seldom needed

    try:
        door = McpHttpServer(port, os.environ.get(TOKEN_ENV_VARIABLE, ""))
    except OSError as error:
        print_notice(f"port {port} cannot be used: {error.strerror}. Choose another one, or 0.")
        return EXIT_ERROR
    print(f"{door.url}\nAuthorization: Bearer {door.token}", flush=True)
    print_notice(
        f"the token is new each time unless ${TOKEN_ENV_VARIABLE} has one; Ctrl-C stops codekernel"
    )
    door.serve(server)
    return 0
