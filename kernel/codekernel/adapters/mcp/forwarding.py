"""An MCP server whose requests are answered by the one in the kernel."""

from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from codekernel import __version__
from codekernel.adapters.mcp.kernel_client import KernelMcpClient
from codekernel.adapters.mcp.server import (
    INSTRUCTIONS,
    SERVER_NAME,
    McpServer,
    ProgressQueue,
    RequestContext,
    send_progress,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import KernelError, RefusedByKernel

# Of all agents together; the kernel has a limit for each of its clients.
MAX_CONCURRENT_REQUESTS = 64

Result = TypeVar("Result", bound=types.Result)


def make_forwarding_server(kernel: KernelMcpClient) -> McpServer:
    """Return the server for any transport, and any number of agents."""
    handlers = _ForwardingHandlers(kernel)
    return Server(
        SERVER_NAME,
        version=__version__,
        title="codekernel",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class _ForwardingHandlers:
    """The handlers of the protocol's requests."""

    def __init__(self, kernel: KernelMcpClient) -> None:
        self._kernel = kernel
        self._limiter = CapacityLimiter(MAX_CONCURRENT_REQUESTS)

    async def list_tools(
        self, context: RequestContext, request: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools with their schemas."""
        return await self._forward(context, "tools/list", request, types.ListToolsResult)

    async def call_tool(
        self, context: RequestContext, request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool; its progress is forwarded, too."""
        return await self._forward(context, "tools/call", request, types.CallToolResult)

    async def list_resources(
        self, context: RequestContext, request: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the index status and every indexed file, page by page."""
        return await self._forward(context, "resources/list", request, types.ListResourcesResult)

    async def list_templates(
        self, context: RequestContext, request: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the template of any file."""
        result = types.ListResourceTemplatesResult
        return await self._forward(context, "resources/templates/list", request, result)

    async def read_resource(
        self, context: RequestContext, request: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one resource as text."""
        return await self._forward(context, "resources/read", request, types.ReadResourceResult)

    async def _forward(
        self,
        context: RequestContext,
        method: str,
        request: types.RequestParams | None,
        result_type: type[Result],
    ) -> Result:
        # ``_meta`` is about the agent's own connection.
        params: dict[str, Any] = (
            request.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})
            if request
            else {}
        )
        cancel, progress = CancelToken(), ProgressQueue(maxlen=1)

        def work() -> Any:
            return self._kernel.request(
                method, params, cancel, lambda *latest: progress.append(latest)
            )

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send_progress, context, progress)
                found = await to_thread.run_sync(
                    work, abandon_on_cancel=True, limiter=self._limiter
                )
                tasks.cancel_scope.cancel()
        except* RefusedByKernel as errors:
            error = errors.exceptions[0]
            code = int(error.status) if isinstance(error, RefusedByKernel) else 0
            raise MCPError(code, str(error)) from None
        except* KernelError as errors:
            raise MCPError(types.INTERNAL_ERROR, str(errors.exceptions[0])) from None
        finally:
            cancel.cancel()
        return result_type.model_validate(found)
