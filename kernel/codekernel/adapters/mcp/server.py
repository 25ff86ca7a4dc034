"""The MCP tools and resources on the official SDK, served over stdin and stdout.

Calls run on threads; a cancelled call sets its cancel token and is not waited for.
"""

import os
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from codekernel import __version__
from codekernel.adapters.mcp import resources
from codekernel.adapters.mcp.resources import RepositoryResources
from codekernel.adapters.mcp.tools import TOOL_TITLES, McpTools
from codekernel.agent.tool import ToolOutcome
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import encode_path, escape_json
from codekernel.errors import Cancelled, KernelError
from codekernel.masking.masker import mask_secrets
from codekernel.transport.descriptors import StdioPipe

SERVER_NAME = "codekernel"

INSTRUCTIONS = (
    "codekernel has an index of this repository that follows its files. Use search first, in plain"
    " words or with names; then read the lines it names. symbols finds definitions, call_chain who"
    " calls what. All paths are relative to the repository. A remark in brackets at the end of an"
    " answer says what the index lacks at the moment. [masked: ...] stands for a secret that is not"
    " shown; never write such a mark into a file."
)

# Calls at a time; more wait. Each is a thread.
MAX_CONCURRENT_CALLS = 16

PROGRESS_INTERVAL_SECONDS = 0.2

McpServer = Server[Any]

RequestContext = ServerRequestContext[Any, Any]

Value = TypeVar("Value")


def make_server(toolbox: McpTools) -> McpServer:
    """Return the server for any transport."""
    handlers = _McpHandlers(toolbox, RepositoryResources(toolbox.repository, toolbox.context))
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


class _McpHandlers:
    """The handlers of the protocol's requests."""

    def __init__(self, toolbox: McpTools, repository_resources: RepositoryResources) -> None:
        self._toolbox = toolbox
        self._resources = repository_resources
        self._tools = toolbox.make_registry()
        self._limiter = CapacityLimiter(MAX_CONCURRENT_CALLS)

    async def list_tools(
        self, _: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools with their schemas."""
        tools = [
            types.Tool(
                name=spec.name,
                title=TOOL_TITLES[spec.name],
                description=spec.description,
                input_schema=dict(spec.parameters),
                annotations=types.ToolAnnotations(
                    read_only_hint=True, open_world_hint=spec.name == "ask"
                ),
            )
            for spec in self._tools.build_specs()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: RequestContext, request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool; its failures are results, too."""
        if request.name not in self._tools:
            names = ", ".join(self._tools.names)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {request.name}. Tools: {names}."
            )
        cancel, progress = CancelToken(), _LatestProgress()
        arguments = request.arguments or {}

        def work() -> ToolOutcome:
            return self._toolbox.call(request.name, arguments, cancel, progress.report)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send_progress, context, progress)
            outcome = await self._run_on_thread(work, cancel)
            tasks.cancel_scope.cancel()
        return types.CallToolResult(
            content=[types.TextContent(text=mask_secrets(outcome.text).text)],
            # A client that gets both shows its model the data, but the text is meant for models.
            structured_content=dict(outcome.data) if request.name == "index_status" else None,
            is_error=not outcome.success,
        )

    async def list_resources(
        self, _: RequestContext, request: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the index status, then every indexed file, page by page."""
        cursor = request.cursor if request else None
        page = await self._run_on_thread(lambda: self._resources.list_page(cursor))
        listed = [
            types.Resource(
                uri=one.uri,
                name=encode_path(one.path),
                mime_type=resources.guess_mime_type(one.path),
                size=one.size,
            )
            for one in page.files
        ]
        if not cursor:
            status = types.Resource(
                uri=resources.STATUS_URI, name="index status", mime_type=resources.JSON_MIME_TYPE
            )
            listed.insert(0, status)
        return types.ListResourcesResult(resources=listed, next_cursor=page.next_cursor)

    async def list_templates(
        self, _: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the template of any file of the repository, indexed or not."""
        file = types.ResourceTemplate(
            uri_template=resources.FILE_URI_TEMPLATE,
            name="file",
            description="A text file of the repository, by its path in it.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[file])

    async def read_resource(
        self, _: RequestContext, request: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one resource as text."""
        resource = await self._run_on_thread(lambda: self._resources.read(str(request.uri)))
        content = types.TextResourceContents(
            uri=request.uri, text=mask_secrets(resource.text).text, mime_type=resource.mime_type
        )
        return types.ReadResourceResult(contents=[content])

    async def _run_on_thread(
        self, work: Callable[[], Value], cancel: CancelToken | None = None
    ) -> Value:
        """Run ``work`` on a thread; a cancelled request does not wait for it."""
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except Cancelled as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        except KernelError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        finally:
            if cancel:
                cancel.cancel()


class _LatestProgress:
    """The latest progress of a call: set by its thread, read by the event loop."""

    latest: tuple[float, float | None, str] | None = None

    def report(self, done: float, total: float | None, message: str) -> None:
        """Replace the latest progress."""
        self.latest = (done, total, message)


async def _send_progress(context: RequestContext, progress: _LatestProgress) -> None:
    """Send new progress while the call runs; the number never decreases."""
    sent = -1.0
    while True:
        await anyio.sleep(PROGRESS_INTERVAL_SECONDS)
        latest = progress.latest
        if latest and latest[0] > sent:
            sent = latest[0]
            await context.session.report_progress(*latest)


class _AsciiWrapper(TextIOWrapper):
    """Writes JSON as ASCII: the SDK does not escape C1 control characters."""

    def write(self, text: str) -> int:
        """Write the escaped text."""
        return super().write(escape_json(text))


def serve_stdio(server: McpServer, wire: StdioPipe) -> None:
    """Answer until stdin ends."""
    anyio.run(_serve_streams, server, wire)


async def _serve_streams(server: McpServer, wire: StdioPipe) -> None:
    # Never closed: a thread may still wait on them at the end.
    stdin = os.fdopen(wire.read_descriptor, "rb", closefd=False)
    stdout = os.fdopen(wire.write_descriptor, "wb", closefd=False)
    async with stdio_server(
        anyio.wrap_file(TextIOWrapper(stdin, encoding="utf-8", errors="replace")),
        anyio.wrap_file(_AsciiWrapper(stdout, encoding="ascii", newline="\n")),
    ) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
