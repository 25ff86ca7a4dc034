"""The tools and resources on the official SDK: calls run on threads, progress is told from here.

A call that is cancelled sets its token, and its thread ends at its next step; nobody waits for it.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from kernel import __version__
from kernel.agent.tool import Outcome
from kernel.domain.cancel import CancelToken
from kernel.domain.path_text import encode_path
from kernel.doors.mcp import resources as at
from kernel.doors.mcp.resources import Resources
from kernel.doors.mcp.tools import TITLES, Toolbox
from kernel.errors import Cancelled, KernelError
from kernel.masking.masker import mask_secrets

NAME = "codekernel"
INSTRUCTIONS = (
    "codekernel has an index of this repository that follows its files. Use search first, in plain"
    " words or with names; then read the lines it names. symbols finds definitions, call_chain who"
    " calls what. All paths are relative to the repository. A remark in brackets at the end of an"
    " answer says what the index lacks at the moment. [masked: ...] stands for a secret that is not"
    " shown; never write such a mark into a file."
)
# Calls at a time; more wait. Each is a thread.
MOST_CALLS = 16
PROGRESS_SECONDS = 0.2

Context = ServerRequestContext[Any, Any]
Value = TypeVar("Value")


def make_server(toolbox: Toolbox) -> Server[Any]:
    """The server, to be put on any transport."""
    desk = _Desk(toolbox, Resources(toolbox.repository, toolbox.context))
    return Server(
        NAME,
        version=__version__,
        title="codekernel",
        instructions=INSTRUCTIONS,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
    )


class _Desk:
    """The handlers."""

    def __init__(self, toolbox: Toolbox, resources: Resources) -> None:
        self._toolbox = toolbox
        self._resources = resources
        self._tools = toolbox.registry()
        self._limiter = CapacityLimiter(MOST_CALLS)

    async def list_tools(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Every tool, with its schema."""
        tools = [
            types.Tool(
                name=spec.name,
                title=TITLES[spec.name],
                description=spec.description,
                input_schema=dict(spec.parameters),
                annotations=types.ToolAnnotations(
                    read_only_hint=True, open_world_hint=spec.name == "ask"
                ),
            )
            for spec in self._tools.specs()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Context, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call one; what goes wrong inside of it is told as its result."""
        if asked.name not in self._tools:
            names = ", ".join(self._tools.names)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {asked.name}. Tools: {names}.")
        cancel, reached = CancelToken(), _Reached()
        given = asked.arguments or {}

        def work() -> Outcome:
            return self._toolbox.call(asked.name, given, cancel, reached.report)

        async with anyio.create_task_group() as beside:
            beside.start_soon(_tell, context, reached)
            outcome = await self._on_thread(work, cancel)
            beside.cancel_scope.cancel()
        return types.CallToolResult(
            content=[types.TextContent(text=mask_secrets(outcome.text).text)],
            # A client that gets both shows its model the data, and the text is made for models.
            structured_content=dict(outcome.data) if asked.name == "index_status" else None,
            is_error=not outcome.success,
        )

    async def list_resources(
        self, _: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The state of the index, then every indexed file, page by page."""
        cursor = asked.cursor if asked else None
        page = await self._on_thread(lambda: self._resources.page(cursor))
        listed = [
            types.Resource(
                uri=one.address,
                name=encode_path(one.path),
                mime_type=at.kind_of(one.path),
                size=one.size,
            )
            for one in page.files
        ]
        if not cursor:
            status = types.Resource(uri=at.STATUS_ADDRESS, name="index status", mime_type=at.JSON)
            listed.insert(0, status)
        return types.ListResourcesResult(resources=listed, next_cursor=page.next)

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Any file of the repository, indexed or not."""
        file = types.ResourceTemplate(
            uri_template=at.FILE_TEMPLATE,
            name="file",
            description="A text file of the repository, by its path in it.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[file])

    async def read_resource(
        self, _: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """One resource as text."""
        read = await self._on_thread(lambda: self._resources.read(str(asked.uri)))
        content = types.TextResourceContents(
            uri=asked.uri, text=mask_secrets(read.text).text, mime_type=read.kind
        )
        return types.ReadResourceResult(contents=[content])

    async def _on_thread(
        self, work: Callable[[], Value], cancel: CancelToken | None = None
    ) -> Value:
        """Do it on a thread; a caller that is gone is not waited for."""
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except Cancelled as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        except KernelError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        finally:
            if cancel:
                cancel.cancel()


class _Reached:
    """How far a call is; written by its thread, read here now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: tuple[float, float | None, str] | None = None

    def report(self, done: float, whole: float | None, about: str) -> None:
        """Note it; what was noted before and not told is forgotten."""
        with self._lock:
            self._latest = (done, whole, about)

    @property
    def latest(self) -> tuple[float, float | None, str] | None:
        """The last that was noted."""
        with self._lock:
            return self._latest


async def _tell(context: Context, reached: _Reached) -> None:
    """Tell what is new for as long as the call is under way; a number never goes back."""
    told = -1.0
    while True:
        await anyio.sleep(PROGRESS_SECONDS)
        latest = reached.latest
        if latest and latest[0] > told:
            told = latest[0]
            await context.session.report_progress(*latest)
