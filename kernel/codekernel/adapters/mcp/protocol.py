"""The Model Context Protocol without a transport: versions, checks, the form of replies.

Up to 2025-11-25 a client begins with ``initialize``; since 2026-07-28 each request says in its
``_meta`` which version it speaks. The first request decides for a connection.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeGuard

from codekernel import __version__

Message = dict[str, Any]

Params = Mapping[str, Any]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

# Each request carries its version.
ENVELOPE_VERSION = "2026-07-28"

# The only version with arrays of messages.
BATCH_VERSION = "2025-03-26"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603

HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"

CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

CLIENT_KEY = "io.modelcontextprotocol/clientInfo"

SERVER_KEY = "io.modelcontextprotocol/serverInfo"

SERVER_INFO = {"name": "codekernel", "title": "codekernel", "version": __version__}

INSTRUCTIONS = (
    "codekernel has an index of this repository that follows its files. Use search first, in plain"
    " words or with names, before grep or reading whole files; then read the lines it names. calls"
    " says who calls what and what a change reaches, history why lines are as they are. Paths are"
    " relative to the repository; repo names another one, or several for search. A remark in"
    " brackets at the end of an answer says what was left out or what the index lacks."
    " [masked: ...] stands for a secret; never write it into a file."
)

CAPABILITIES = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}

# Optional and required parameters of a method, with their types.
_OPTIONAL_PARAMS: Mapping[str, Mapping[str, type]] = {
    "tools/list": {"cursor": str},
    "tools/call": {"arguments": dict},
    "resources/list": {"cursor": str},
    "resources/templates/list": {"cursor": str},
}

_REQUIRED_PARAMS: Mapping[str, Mapping[str, type]] = {
    "initialize": {"protocolVersion": str, "capabilities": dict, "clientInfo": dict},
    "tools/call": {"name": str},
    "resources/read": {"uri": str},
}

# What a result of ENVELOPE_VERSION has besides; every answer may differ from the last one.
_CACHE_HINTS = {"ttlMs": 0, "cacheScope": "private"}

_ENVELOPE_FIELDS = frozenset({"resultType", "_meta", *_CACHE_HINTS})


class McpError(Exception):
    """An error of a request, as JSON-RPC has them."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def parse_message(content: bytes) -> object:
    """Return what was sent. Raises McpError."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise McpError(PARSE_ERROR, "Parse error") from None


def make_result_reply(request_id: str | int, result: Message) -> Message:
    """Return the reply; a relay looks for the id at its beginning."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def make_error_reply(request_id: str | int | None, error: McpError) -> Message:
    """Return the reply of a request that failed."""
    content = {"code": error.code, "message": str(error)}
    if error.data is not None:
        content["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": content}


def is_request_id(value: object) -> TypeGuard[str | int]:
    """Return whether a value can be the id of a request, or a progress token."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def negotiate_version(params: Params) -> str:
    """Return the version for a client that sends ``initialize``."""
    asked: str = params["protocolVersion"]
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def get_meta(params: Params) -> Params:
    """Return what a request says about itself."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def check_envelope(params: Params) -> None:
    """Check that a request says which version it speaks. Raises McpError."""
    required = (VERSION_KEY, CAPABILITIES_KEY)
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise McpError(
            INVALID_PARAMS,
            "params._meta must be an object carrying the required "
            f"{VERSION_KEY!r} and {CAPABILITIES_KEY!r} envelope keys",
        )
    if missing := [key for key in required if key not in meta]:
        names = ", ".join(missing)
        raise McpError(
            INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {names}"
        )
    version = meta[VERSION_KEY]
    if not isinstance(version, str):
        raise McpError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version != ENVELOPE_VERSION:
        data = {"supported": [ENVELOPE_VERSION], "requested": version}
        raise McpError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def refuse_handshake(params: Params) -> McpError:
    """Return the error of ``initialize`` on a connection of ENVELOPE_VERSION."""
    data: Message = {"supported": [ENVELOPE_VERSION]}
    if isinstance(asked := params.get("protocolVersion"), str):
        data["requested"] = asked
    return McpError(
        UNSUPPORTED_VERSION,
        f"connection is serving the {ENVELOPE_VERSION} protocol;"
        " the initialize handshake is not accepted",
        data,
    )


def check_params(method: str, params: Params) -> None:
    """Check the parameters of a method. Raises McpError."""
    optional = {"_meta": dict, **_OPTIONAL_PARAMS.get(method, {})}
    required = _REQUIRED_PARAMS.get(method, {})
    meta = get_meta(params)
    clients = [params.get("clientInfo"), meta.get(CLIENT_KEY)]
    token = meta.get("progressToken")
    if not (
        all(isinstance(params.get(name), kind) for name, kind in required.items())
        and all(isinstance(params.get(name), kind | None) for name, kind in optional.items())
        and all(_is_implementation(client) for client in clients if client is not None)
        and isinstance(meta.get(CAPABILITIES_KEY), dict | None)
        and (token is None or is_request_id(token))
    ):
        raise McpError(INVALID_PARAMS, "Invalid request parameters", "")


def _is_implementation(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("name", "version")
    )


def make_initialize_result(version: str) -> Message:
    """Return the reply to ``initialize``."""
    return {"protocolVersion": version, "serverInfo": SERVER_INFO, **_describe_server()}


def make_discover_result() -> Message:
    """Return the reply to ``server/discover``."""
    return {"supportedVersions": [ENVELOPE_VERSION], **_describe_server()}


def _describe_server() -> Message:
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def shape_result(method: str, version: str, result: Message) -> Message:
    """Return a result as a version of the protocol has it."""
    if version != ENVELOPE_VERSION:
        return result
    hints = {} if method == "tools/call" else _CACHE_HINTS
    return {**result, **hints, "resultType": "complete", "_meta": {SERVER_KEY: SERVER_INFO}}


def strip_envelope(result: Message) -> Message:
    """Return a result without what ``shape_result`` adds for ENVELOPE_VERSION."""
    return {name: value for name, value in result.items() if name not in _ENVELOPE_FIELDS}
