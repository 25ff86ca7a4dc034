"""``codekernel mcp --http``: any number of agents over HTTP, served by the kernel.

Imported late: a relay needs nothing of it.
"""

import os
from pathlib import Path

from codekernel.adapters.mcp.http_server import McpHttpServer
from codekernel.adapters.mcp.kernel_client import KernelMcpClient, make_forwarding_methods
from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.output.terminal import print_bearer_address, print_notice, silence_logging
from codekernel.cli.process import ExitCode, exit_now

BEARER_ENV_VARIABLE = "CODEKERNEL_MCP_TOKEN"


def serve_mcp_http(port: int, root: str, user_data: str, finder: KernelFinder) -> int:
    """Serve until a signal comes; end the process."""
    silence_logging()
    try:
        http_server = McpHttpServer(port, os.environ.get(BEARER_ENV_VARIABLE, ""))
    except OSError as error:
        print_notice(f"port {port} cannot be used: {error.strerror}. Choose another one, or 0.")
        return ExitCode.ERROR
    kernel = KernelMcpClient(Path(user_data), "mcp", Path(root), finder.connect)
    print_bearer_address(http_server.url, http_server.token, BEARER_ENV_VARIABLE)
    http_server.serve(make_forwarding_methods(kernel))
    return exit_now(ExitCode.OK, finder.close)
