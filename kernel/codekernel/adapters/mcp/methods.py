"""The methods of the MCP server in the kernel: its tools, and files and index status as resources.

Resources are listed in pages.
"""

import json
import mimetypes
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote

from codekernel.adapters.indexed_repository import dump_index_status
from codekernel.adapters.mcp.protocol import INVALID_PARAMS, McpError, Message, Params
from codekernel.adapters.mcp.repositories import REPO_FIELD, McpRepositories
from codekernel.adapters.mcp.server import McpMethod
from codekernel.adapters.mcp.tools import FIRST_TOOL, TOOL_TITLES, McpTools
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import load_text_file
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import WrongParam
from codekernel.masking.masker import mask_secrets
from codekernel.storage.catalog.catalog import Catalog

STATUS_URI = "codekernel://index/status"

FILE_URI_PREFIX = "codekernel://file/"

PAGE_SIZE = 500

JSON_MIME_TYPE, TEXT_MIME_TYPE = "application/json", "text/plain"


REPO_DESCRIPTION = "other repositories: names or folders, with commas; * for all"

# Understood by Claude Code, which else loads schemas when a model asks for them.
_ALWAYS_LOADED = {"anthropic/alwaysLoad": True}


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without what every model knows: no title, and no default of nothing."""
    fields = {
        name: {
            key: value
            for key, value in field.items()
            if key not in {"title", "minimum", "maximum"}
            and not (key == "default" and value in ("", 0, None))
        }
        for name, field in schema["properties"].items()
    }
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": fields, **required}


def make_methods(
    toolbox: McpTools, repositories: McpRepositories | None = None
) -> Mapping[str, McpMethod]:
    """Return the methods by their names; without ``repositories`` of one repository alone."""
    methods = _RepositoryMethods(toolbox, repositories)
    return {
        "tools/list": methods.list_tools,
        "tools/call": methods.call_tool,
        "resources/list": methods.list_resources,
        "resources/templates/list": methods.list_templates,
        "resources/read": methods.read_resource,
    }


class _RepositoryMethods:
    def __init__(self, toolbox: McpTools, repositories: McpRepositories | None) -> None:
        self._toolbox = toolbox
        self._repositories = repositories
        self._tools = toolbox.make_registry()

    def list_tools(self, *_: object) -> Message:
        """List the tools with their schemas."""
        specs = {spec.name: spec for spec in self._tools.build_specs()}
        tools = [
            {
                "name": name,
                "title": title,
                "description": specs[name].description,
                "inputSchema": self._make_schema(name, specs[name].parameters),
                "annotations": {"readOnlyHint": True, "openWorldHint": name == "ask"},
            }
            | ({"_meta": _ALWAYS_LOADED} if name == FIRST_TOOL else {})
            for name, title in TOOL_TITLES.items()
        ]
        return {"tools": tools}

    def _make_schema(self, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        schema = compact_schema(parameters)
        if self._repositories is None:
            return schema
        field = {"type": "string"}
        if name == FIRST_TOOL:
            field = {"description": REPO_DESCRIPTION, **field}
        return {**schema, "properties": {**schema["properties"], REPO_FIELD: field}}

    @contextmanager
    def _open_default(self) -> Iterator[McpTools]:
        if self._repositories is None:
            yield self._toolbox
        else:
            with self._repositories.open_default() as tools:
                yield tools

    def call_tool(self, params: Params, cancel: CancelToken, report: ProgressCallback) -> Message:
        """Call a tool; its failures are results, too."""
        name = params["name"]
        if name not in self._tools:
            names = ", ".join(TOOL_TITLES)
            raise McpError(INVALID_PARAMS, f"There is no tool {name}. Tools: {names}.")
        call = (self._repositories or self._toolbox).call
        outcome = call(name, params.get("arguments") or {}, cancel, report)
        text = mask_secrets(outcome.text).text
        result = {"content": [{"type": "text", "text": text}], "isError": not outcome.success}
        # A client that gets both shows its model the data, but the text is meant for models.
        data = {"structuredContent": dict(outcome.data)} if name == "index_status" else {}
        return result | data

    def list_resources(self, params: Params, *_: object) -> Message:
        """List the index status, then every indexed file, in the order of the paths."""
        cursor = params.get("cursor")
        with self._open_default() as tools:
            files = tools.repository.index.query_catalog(Catalog.list_files)
        paths = sorted(files)
        first = bisect_right(paths, _decode_cursor(cursor)) if cursor else 0
        here = paths[first : first + PAGE_SIZE]
        listed: list[Message] = [
            {
                "uri": FILE_URI_PREFIX + quote(path, safe="/", errors="surrogateescape"),
                "name": encode_path(path),
                "mimeType": _guess_mime_type(path),
                "size": files[path].size,
            }
            for path in here
        ]
        if not cursor:
            status = {"uri": STATUS_URI, "name": "index status", "mimeType": JSON_MIME_TYPE}
            listed.insert(0, status)
        more = first + PAGE_SIZE < len(paths)
        return {"resources": listed} | ({"nextCursor": _encode_cursor(here[-1])} if more else {})

    def list_templates(self, *_: object) -> Message:
        """List the template of any file of the repository, indexed or not."""
        file = {
            "uriTemplate": f"{FILE_URI_PREFIX}{{+path}}",
            "name": "file",
            "description": "A text file of the repository, by its path in it.",
        }
        return {"resourceTemplates": [file]}

    def read_resource(self, params: Params, *_: object) -> Message:
        """Read one resource as text."""
        text, mime_type = self._read(params["uri"])
        content = {"uri": params["uri"], "mimeType": mime_type, "text": mask_secrets(text).text}
        return {"contents": [content]}

    def _read(self, uri: str) -> tuple[str, str]:
        """Return the text of the index status or a file, and its type. Raises KernelError."""
        with self._open_default() as tools:
            return self._read_from(tools, uri)

    def _read_from(self, tools: McpTools, uri: str) -> tuple[str, str]:
        if uri == STATUS_URI:
            repository = tools.repository
            status = dump_index_status(repository.get_status(), str(repository.root.folder))
            return json.dumps(status, indent=2), JSON_MIME_TYPE
        if not uri.startswith(FILE_URI_PREFIX):
            raise ToolError(f"There is no resource {uri}: see resources/list.")
        path = unquote(uri.removeprefix(FILE_URI_PREFIX), errors="surrogateescape")
        text = load_text_file(tools.context, path).text
        return text.encode("utf-8", "replace").decode(), _guess_mime_type(path)


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
