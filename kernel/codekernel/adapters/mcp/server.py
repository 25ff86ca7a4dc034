"""The MCP tools and resources on the official SDK, served to a client of the kernel.

Resources are the index status and the files of the repository, listed in pages. Calls run on
threads; a cancelled call sets its cancel token and is not waited for.
"""

import json
import logging
import mimetypes
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar, cast
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from codekernel import __version__
from codekernel.adapters.indexed_repository import dump_index_status
from codekernel.adapters.mcp.tools import TOOL_TITLES, McpTools
from codekernel.agent.tool import ToolOutcome
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import load_text_file
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import encode_path, escape_json
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.masking.masker import mask_secrets
from codekernel.storage.catalog.catalog import Catalog
from codekernel.transport.lines import Line, OversizedLine
from codekernel.transport.local_endpoint import LocalPipe

logger = logging.getLogger(__name__)

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

STATUS_URI = "codekernel://index/status"

FILE_URI_PREFIX = "codekernel://file/"

PAGE_SIZE = 500

JSON_MIME_TYPE, TEXT_MIME_TYPE = "application/json", "text/plain"

McpServer = Server[Any]

RequestContext = ServerRequestContext[Any, Any]

# The latest progress of a call: set by its thread, read by the event loop.
ProgressQueue = deque[tuple[float, float | None, str]]

Value = TypeVar("Value")


def make_server(toolbox: McpTools) -> McpServer:
    """Return the server for any transport."""
    handlers = _McpHandlers(toolbox)
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

    def __init__(self, toolbox: McpTools) -> None:
        self._toolbox = toolbox
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
        cancel, progress = CancelToken(), ProgressQueue(maxlen=1)
        arguments = request.arguments or {}

        def work() -> ToolOutcome:
            return self._toolbox.call(
                request.name, arguments, cancel, lambda *latest: progress.append(latest)
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send_progress, context, progress)
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
        return await self._run_on_thread(lambda: self._list_page(cursor))

    async def list_templates(
        self, _: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the template of any file of the repository, indexed or not."""
        file = types.ResourceTemplate(
            uri_template=f"{FILE_URI_PREFIX}{{+path}}",
            name="file",
            description="A text file of the repository, by its path in it.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[file])

    async def read_resource(
        self, _: RequestContext, request: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one resource as text."""
        text, mime_type = await self._run_on_thread(lambda: self._read(str(request.uri)))
        content = types.TextResourceContents(
            uri=request.uri, text=mask_secrets(text).text, mime_type=mime_type
        )
        return types.ReadResourceResult(contents=[content])

    def _list_page(self, cursor: str | None) -> types.ListResourcesResult:
        """Return a page of the files in the order of their paths. Raises KernelError."""
        files = self._toolbox.repository.index.query_catalog(Catalog.list_files)
        paths = sorted(files)
        first = bisect_right(paths, _decode_cursor(cursor)) if cursor else 0
        here = paths[first : first + PAGE_SIZE]
        listed = [
            types.Resource(
                uri=FILE_URI_PREFIX + quote(path, safe="/", errors="surrogateescape"),
                name=encode_path(path),
                mime_type=_guess_mime_type(path),
                size=files[path].size,
            )
            for path in here
        ]
        if not cursor:
            status = types.Resource(uri=STATUS_URI, name="index status", mime_type=JSON_MIME_TYPE)
            listed.insert(0, status)
        more = first + PAGE_SIZE < len(paths)
        return types.ListResourcesResult(
            resources=listed, next_cursor=_encode_cursor(here[-1]) if more else None
        )

    def _read(self, uri: str) -> tuple[str, str]:
        """Return the text of the index status or a file, and its type. Raises KernelError."""
        if uri == STATUS_URI:
            repository = self._toolbox.repository
            status = dump_index_status(repository.get_status(), str(repository.root.folder))
            return json.dumps(status, indent=2), JSON_MIME_TYPE
        if not uri.startswith(FILE_URI_PREFIX):
            raise ToolError(f"There is no resource {uri}: see resources/list.")
        path = unquote(uri.removeprefix(FILE_URI_PREFIX), errors="surrogateescape")
        text = load_text_file(self._toolbox.context, path).text
        return text.encode("utf-8", "replace").decode(), _guess_mime_type(path)

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


def _guess_mime_type(path: str) -> str:
    """Return the MIME type of a text file."""
    guessed = mimetypes.guess_type(path)[0] or TEXT_MIME_TYPE
    return guessed if guessed.startswith("text/") or guessed == JSON_MIME_TYPE else TEXT_MIME_TYPE


def _encode_cursor(path: str) -> str:
    return urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode("ascii")


def _decode_cursor(cursor: str) -> str:
    try:
        return urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8", "surrogateescape")
    except ValueError:
        raise WrongParam(f"{cursor} is no cursor: begin again without one.") from None


async def send_progress(context: RequestContext, progress: ProgressQueue) -> None:
    """Send new progress while the call runs; the number never decreases."""
    sent = -1.0
    while True:
        await anyio.sleep(PROGRESS_INTERVAL_SECONDS)
        if progress and progress[0][0] > sent:
            latest = progress[0]
            sent = latest[0]
            await context.session.report_progress(*latest)


def serve_lines(
    server: McpServer,
    lines: Iterator[Line],
    pipe: LocalPipe,
    on_written: Callable[[bytes], object],
) -> None:
    """Answer the lines of a client of the shared kernel until they end, or it is gone.

    ``on_written`` is called after each line that was written.
    """
    try:
        anyio.run(_serve_lines, server, lines, _PipeWriter(pipe, on_written))
    except* OSError as errors:
        logger.info("an MCP client is gone: %s", errors.exceptions[0])


async def _serve_lines(server: McpServer, lines: Iterator[Line], writer: "_PipeWriter") -> None:
    async with stdio_server(
        anyio.wrap_file(cast("IO[str]", _LineReader(lines))),
        anyio.wrap_file(cast("IO[str]", writer)),
    ) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _LineReader:
    """Lines as the SDK reads them from a file."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines

    def readline(self) -> str:
        """Return the next line; nothing at the end."""
        line = next(self._lines, b"")
        if isinstance(line, OversizedLine):
            line = line.prefix  # half a message, which the SDK refuses
        return f"{line.decode('utf-8', 'replace')}\n" if line else ""


class _PipeWriter:
    """A connection as the SDK writes to a file."""

    def __init__(self, pipe: LocalPipe, on_written: Callable[[bytes], object]) -> None:
        self._pipe = pipe
        self._on_written = on_written

    def write(self, text: str) -> None:
        """Write the escaped text: the SDK does not escape C1 control characters."""
        line = escape_json(text).encode("ascii")
        self._pipe.write(line)
        self._on_written(line)

    def flush(self) -> None:
        """Do nothing: everything is written."""
