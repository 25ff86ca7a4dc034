"""What the official SDK answers, message by message, in every version of the protocol."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from adapters.mcp.test_indexed_repository import toolbox_of
from codekernel import __version__
from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp import protocol
from codekernel.adapters.mcp.methods import make_methods
from codekernel.adapters.mcp.protocol import McpError, Message
from codekernel.adapters.mcp.server import McpServer
from codekernel.adapters.mcp.tools import McpTools
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ignore_progress
from codekernel.errors import KernelError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCRequest, jsonrpc_message_adapter
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

CLIENT_INFO = {"name": "test", "version": "1"}
ENVELOPE = {
    protocol.VERSION_KEY: protocol.ENVELOPE_VERSION,
    protocol.CAPABILITIES_KEY: {},
    protocol.CLIENT_KEY: CLIENT_INFO,
}
RESULTS: dict[str, type[types.Result]] = {
    "tools/list": types.ListToolsResult,
    "tools/call": types.CallToolResult,
    "resources/list": types.ListResourcesResult,
    "resources/templates/list": types.ListResourceTemplatesResult,
    "resources/read": types.ReadResourceResult,
}


@pytest.fixture
def toolbox(project: Path, tmp_path: Path) -> Iterator[McpTools]:
    (project / "a b ü.md").write_text("# Grüße \x7f\u2028\x9b\n", encoding="utf-8")
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)
    index.start(IndexPlan())  # words alone
    repository = IndexedRepository(project, lambda: OpenedIndex(index))
    repository.wait_until_complete(CancelToken(), 60, ignore_progress)
    with toolbox_of(repository, tmp_path / "journal") as toolbox:
        yield toolbox


def list_requests(meta: Message) -> Iterator[tuple[str, Message]]:
    """Every method, with what is right and what is wrong about its parameters."""
    for method in (*RESULTS, "ping", "server/discover", "prompts/list", "no/such"):
        yield method, meta
    yield "tools/list", {"cursor": 5, **meta}
    for cursor in ("é", "bWFpbi5weQ=="):
        yield "resources/list", {"cursor": cursor, **meta}
    for name in ("sing", 5, None):
        yield "tools/call", {"name": name, **meta}
    arguments: list[tuple[str, object]] = [
        ("search", {"query": "add_route"}),
        ("search", {"quest": "add_route"}),
        ("search", []),
        ("search", None),
        ("read", {"path": "a b ü.md"}),
        ("symbols", {"path": "session.py"}),
        ("call_chain", {"method": "add_route"}),
        ("ask", {"question": " "}),
        ("index_status", {}),
    ]
    for name, given in arguments:
        yield "tools/call", {"name": name, "arguments": given, **meta}
    for path in ("index/status", "file/a%20b%20%C3%BC.md", "file/none.py", "song"):
        yield "resources/read", {"uri": f"codekernel://{path}", **meta}


def list_opening(version: str) -> Iterator[tuple[str, Message]]:
    """How a client begins, and how it should not."""
    if version == protocol.ENVELOPE_VERSION:
        yield "server/discover", {"_meta": ENVELOPE}
        yield "tools/list", {}
        yield "tools/list", {"_meta": {}}
        for key, value in [
            (protocol.VERSION_KEY, "2999-01-01"),
            (protocol.VERSION_KEY, 5),
            (protocol.CAPABILITIES_KEY, 5),
            (protocol.CLIENT_KEY, {}),
        ]:
            yield "tools/list", {"_meta": {**ENVELOPE, key: value}}
    else:
        yield "tools/list", {}
        yield "ping", {}
        yield "initialize", {"protocolVersion": version, "capabilities": {}}
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO}
    yield "initialize", hello


def make_sdk_server(toolbox: McpTools) -> Server[Any]:
    """The SDK's server around the same methods."""
    methods = make_methods(toolbox)

    def handle(method: str) -> Any:
        async def answer(_: object, params: types.RequestParams | None) -> types.Result:
            given = params.model_dump(by_alias=True) if params else {}
            try:
                result = methods[method](given, CancelToken(), ignore_progress)
            except McpError as error:
                raise MCPError(error.code, str(error)) from None
            except KernelError as error:
                raise MCPError(types.INVALID_PARAMS, str(error)) from None
            return RESULTS[method].model_validate(result)

        return answer

    return Server(
        "codekernel",
        version=__version__,
        title="codekernel",
        instructions=protocol.INSTRUCTIONS,
        on_list_tools=handle("tools/list"),
        on_call_tool=handle("tools/call"),
        on_list_resources=handle("resources/list"),
        on_list_resource_templates=handle("resources/templates/list"),
        on_read_resource=handle("resources/read"),
    )


async def ask_sdk(server: Server[Any], requests: list[Message], replies: list[Message]) -> None:
    with anyio.fail_after(90):
        async with (
            create_client_server_memory_streams() as ((reading, writing), (other, answering)),
            anyio.create_task_group() as group,
        ):
            options = server.create_initialization_options()
            group.start_soon(server.run, other, answering, options)
            for request in requests:
                message = jsonrpc_message_adapter.validate_python(request)
                assert isinstance(message, JSONRPCRequest)
                await writing.send(SessionMessage(message))
                received = await reading.receive()
                assert isinstance(received, SessionMessage)
                replies.append(received.message.model_dump(by_alias=True, exclude_unset=True))
            group.cancel_scope.cancel()


@pytest.mark.parametrize("version", [*KNOWN_PROTOCOL_VERSIONS, "1999-01-01"])
def test_every_reply_is_that_of_the_official_server(toolbox: McpTools, version: str) -> None:
    meta = {"_meta": ENVELOPE} if version == protocol.ENVELOPE_VERSION else {}
    asked = [*list_opening(version), *list_requests(meta)]
    requests: list[Message] = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(asked)
    ]
    expected: list[Message] = []
    anyio.run(ask_sdk, make_sdk_server(toolbox), requests, expected)
    server = McpServer(make_methods(toolbox))
    for request, reply in zip(requests, expected, strict=True):
        work = server.accept(json.loads(json.dumps(request)), lambda _: None)
        assert work
        assert json.loads(json.dumps(work())) == reply, request


def test_the_versions_are_those_of_the_sdk() -> None:
    versions = (*protocol.HANDSHAKE_VERSIONS, protocol.ENVELOPE_VERSION)
    assert versions == KNOWN_PROTOCOL_VERSIONS
