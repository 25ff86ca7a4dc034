"""The routes of a team kernel: who asks, whether they may, and what they get."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from codekernel.adapters.mcp import protocol
from codekernel.adapters.mcp.server import McpServer
from codekernel.adapters.team.callers import Caller
from codekernel.adapters.team.queries import MAX_FILES, MAX_HITS, TeamQueries
from codekernel.adapters.team.requests import (
    MAX_BODY_BYTES,
    AskedTooOften,
    Facts,
    NotAdmitted,
    TeamServerParts,
    admit,
    describe_fields,
    explain,
    find_queries,
    find_status,
    record_request,
)
from codekernel.adapters.team.sockets import SOCKET_PATH, serve_socket
from codekernel.adapters.team.tools import make_team_methods
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import encode_path, parse_json
from codekernel.errors import KernelError, WrongParam
from codekernel.masking.masker import mask_secrets

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request, once it is known who sends it."""

    caller: Caller
    repository: str
    fields: Fields
    headers: Mapping[str, str]

    def get(self, name: str, default: Any) -> Any:
        """Return a field of the type of its default. Raises WrongParam."""
        value = self.fields.get(name, default)
        if type(value) is not type(default):
            raise WrongParam(f"{name} must be {type(default).__name__}")
        return value


Action = Callable[[TeamServerParts, _Asked], Any]


def build_team_app(services: TeamServerParts) -> Starlette:
    """Return the application."""

    def route(path: str, name: str, action: Action, method: str = "POST") -> Route:
        async def endpoint(request: Request) -> Response:
            return await _serve(services, name, action, request)

        return Route(path, endpoint, methods=[method])

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def socket(websocket: WebSocket) -> None:
        await serve_socket(services, websocket)

    place = "/v1/repositories/{repository}"
    return Starlette(
        routes=[
            Route("/health", health),
            route("/metrics", "metrics", _render_metrics, "GET"),
            route("/v1/repositories", "repositories", _list_repositories, "GET"),
            route(f"{place}/search", "search", _search),
            route(f"{place}/files", "files", _list_files),
            route(f"{place}/read", "read", _read),
            route(f"{place}/grep", "grep", _grep),
            route("/mcp/{repository}", "mcp", _answer_mcp),
            WebSocketRoute(SOCKET_PATH, socket),
        ]
    )


async def _serve(
    services: TeamServerParts, name: str, action: Action, request: Request
) -> Response:
    """Answer one request, and keep what it was."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                return _refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too long")
    except ClientDisconnect:
        return _refuse(HTTPStatus.BAD_REQUEST, "the client is gone")
    answer = partial(_answer, services, name, action, request, bytes(body))
    return await run_in_threadpool(answer)


def _answer(
    services: TeamServerParts, name: str, action: Action, request: Request, body: bytes
) -> Response:
    address = request.client.host if request.client else ""
    with record_request(services, name, address) as facts:
        try:
            response = _carry_out(services, action, request, body, facts)
        except KernelError as error:
            response = _refuse(find_status(error), explain(error), _make_headers(error))
        facts["status"] = response.status_code
        return response


def _make_headers(error: KernelError) -> Mapping[str, str]:
    if isinstance(error, NotAdmitted):
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(error.seconds)} if isinstance(error, AskedTooOften) else {}


def _carry_out(
    services: TeamServerParts, action: Action, request: Request, body: bytes, facts: Facts
) -> Response:
    caller = admit(services, request.headers.get("authorization", ""), facts)
    repository = str(request.path_params.get("repository", ""))
    fields = _parse_fields(body)
    if repository:
        facts["repository"] = repository
    facts.update(describe_fields(fields))
    answer = action(services, _Asked(caller, repository, fields, request.headers))
    if isinstance(answer, Response):
        return answer
    facts["results"] = len(answer.get("results", ())) if isinstance(answer, dict) else 0
    return JSONResponse(answer)


def _parse_fields(body: bytes) -> Fields:
    if not body:
        return {}
    try:
        fields = parse_json(body)
    except ValueError:
        raise WrongParam("the request is no JSON") from None
    if not isinstance(fields, dict):
        raise WrongParam("the request must be an object")
    return fields


def _refuse(status: HTTPStatus, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": reason}, status, headers)


def _find(services: TeamServerParts, asked: _Asked) -> TeamQueries:
    return find_queries(services, asked.caller, asked.repository)


def _list_repositories(_: TeamServerParts, asked: _Asked) -> Any:
    return {"repositories": asked.caller.list_repositories()}


def _search(services: TeamServerParts, asked: _Asked) -> Any:
    found = _find(services, asked).search(
        asked.get("query", ""),
        max(1, min(asked.get("limit", 10), MAX_HITS)),
        accuracy=asked.get("accuracy", False),
        cancel=CancelToken(),
    )
    results = [
        {
            "filePath": encode_path(hit.chunk.path),
            "beginLine": hit.chunk.begin_line,
            "endLine": hit.chunk.end_line,
            "score": round(hit.score, 6),
            "symbol": ">".join(hit.chunk.symbols),
            "language": hit.chunk.language,
            "freshness": hit.freshness,
            "content": hit.content,
        }
        for hit in found.hits
    ]
    return {"results": results, "isComplete": found.is_complete}


def _list_files(services: TeamServerParts, asked: _Asked) -> Any:
    paths = _find(services, asked).list_paths(asked.get("glob", ""))
    first = max(0, asked.get("offset", 0))
    shown = [encode_path(path) for path in paths[first : first + MAX_FILES]]
    return {"results": shown, "total": len(paths)}


def _read(services: TeamServerParts, asked: _Asked) -> Any:
    first = max(1, asked.get("startLine", 1))
    lines, count = _find(services, asked).read_lines(
        asked.get("path", ""), first, asked.get("endLine", 0)
    )
    text = mask_secrets("\n".join(lines)).text
    return {"content": text, "startLine": first, "lineCount": count}


def _grep(services: TeamServerParts, asked: _Asked) -> Any:
    found, is_complete = _find(services, asked).grep(
        asked.get("pattern", ""),
        glob=asked.get("path", ""),
        is_regex=asked.get("regex", False),
        ignore_case=asked.get("ignoreCase", False),
        cancel=CancelToken(),
    )
    results = [
        {
            "filePath": encode_path(each.path),
            "line": each.line,
            "text": mask_secrets(each.text[:1000]).text,
        }
        for each in found
    ]
    return {"results": results, "isComplete": is_complete}


def _answer_mcp(services: TeamServerParts, asked: _Asked) -> Any:
    """Answer one message; the server keeps no sessions, so any copy of it may answer the next."""
    version = asked.headers.get("mcp-protocol-version", "")
    known = version if version in protocol.HANDSHAKE_VERSIONS else protocol.HANDSHAKE_VERSIONS[-1]
    is_first = asked.fields.get("method") == "initialize"
    methods = make_team_methods(_find(services, asked))
    work = McpServer(methods, "" if is_first else known).accept(dict(asked.fields), _ignore)
    reply = work() if work else None
    if reply is None:
        return Response(status_code=HTTPStatus.ACCEPTED)
    return Response(json.dumps(reply), media_type="application/json")


def _ignore(_message: object) -> None:
    """Send no notifications: there is no stream."""


def _render_metrics(services: TeamServerParts, asked: _Asked) -> Any:
    rights = asked.caller.rights
    counts = services.repositories.count_chunks()
    chunks = {
        name: counts[folder]
        for name, folder in rights.repositories.items()
        if folder in counts and _reads_all(asked.caller, name)
    }
    return PlainTextResponse(services.metrics.render(chunks))


def _reads_all(caller: Caller, repository: str) -> bool:
    """Return whether counts of a whole repository say nothing that a person may not know."""
    rules = caller.find_rules(repository)
    return rules is not None and not rules.forbidden and rules.is_readable("any/path/at all")
