"""The kernel's own protocol over a WebSocket, for one person and as they may.

A message is a line as PROTOCOL.md has it. Requests of a connection are answered one after another;
the token, the rights and the limits count anew for each of them. Where repositories lie on the
machine is not told.
"""

from collections.abc import Callable
from http import HTTPStatus
from itertools import count
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket

from codekernel.adapters.team.callers import Caller
from codekernel.adapters.team.queries import MAX_HITS, TeamQueries
from codekernel.adapters.team.requests import (
    MAX_BODY_BYTES,
    Facts,
    NotAdmitted,
    TeamServerParts,
    admit,
    describe_fields,
    explain,
    find_queries,
    find_status,
    identify,
    record_request,
)
from codekernel.dispatch.dispatcher import HandlerReply
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import detect_language
from codekernel.errors import (
    InvalidType,
    KernelError,
    SessionExists,
    SessionNotFound,
    WrongParam,
)
from codekernel.masking.masker import mask_secrets
from codekernel.protocol import MAIN_SESSION_ID
from codekernel.protocol.envelope import (
    Envelope,
    Message,
    OutgoingEnvelope,
    ReplyStatus,
    build_failure,
    build_reply,
    build_request,
    decode_envelope,
    decode_message,
    encode_ascii_json,
    get_message_type,
    recover_envelope,
)
from codekernel.protocol.messages.repos import (
    CloseRepo,
    GetRepos,
    GetReposReply,
    OpenRepo,
    OpenRepoReply,
    ReadLines,
    ReadLinesReply,
    Ready,
    RepoEntry,
    SessionPrepared,
)
from codekernel.protocol.messages.search import Search, SearchReply
from codekernel.search.highlight import Highlighter, build_search_result

SOCKET_PATH = "/v1/socket"

# Windows of one connection.
MAX_SESSIONS = 64

DEFAULT_HITS = 10

_POLICY_VIOLATION = 1008

M = TypeVar("M", bound=Message)


async def serve_socket(parts: TeamServerParts, websocket: WebSocket) -> None:
    """Answer one person until they go, or may no longer ask."""
    address = websocket.client.host if websocket.client else ""
    connection = TeamConnection(parts, websocket.headers.get("authorization", ""), address)
    if not await run_in_threadpool(connection.admit):
        await websocket.close(_POLICY_VIOLATION)  # before it is accepted: 403
        return
    await websocket.accept()
    await websocket.send_text(connection.greet())
    while not connection.is_refused:
        frame = await websocket.receive()
        if frame["type"] == "websocket.disconnect":
            return
        line = frame.get("bytes") or (frame.get("text") or "").encode()
        for reply in await run_in_threadpool(connection.answer, line):
            await websocket.send_text(reply)
    await websocket.close(_POLICY_VIOLATION)


class TeamConnection:
    """The sessions of one connection; used by one thread at a time."""

    def __init__(self, parts: TeamServerParts, authorization: str, address: str) -> None:
        self._parts, self._authorization, self._address = parts, authorization, address
        self._sessions: dict[int, str] = {}
        self._callbacks = count(1)
        self.is_refused = False

    def admit(self) -> bool:
        """Return whether somebody has the token."""
        with record_request(self._parts, "socket", self._address) as facts:
            try:
                facts["user"] = identify(self._parts, self._authorization).user
            except KernelError as error:
                facts["status"] = find_status(error)
                return False
            facts["status"] = HTTPStatus.OK
            return True

    def greet(self) -> str:
        """Return the first line."""
        return _encode(build_request(MAIN_SESSION_ID, next(self._callbacks), Ready()))

    def answer(self, line: bytes) -> list[str]:
        """Return the lines that answer one."""
        try:
            envelope = _decode(line)
        except WrongParam as error:
            recovered = recover_envelope(line)
            return [_encode(build_failure(recovered, error))] if recovered else []
        if envelope.is_reply:
            return []
        action = envelope.type if envelope.type in _HANDLERS else "unknown"
        with record_request(self._parts, action, self._address) as facts:
            try:
                replies = self._carry_out(envelope, facts)
                facts["status"] = HTTPStatus.OK
            except KernelError as error:
                facts["status"] = find_status(error)
                self.is_refused = isinstance(error, NotAdmitted)
                status = ReplyStatus(error.code, explain(error))
                replies = [build_reply(envelope, status=status)]
        return [_encode(each) for each in replies if envelope.wants_reply or not each.is_reply]

    def _carry_out(self, envelope: Envelope, facts: Facts) -> list[OutgoingEnvelope]:
        """Return the reply to a request, and what follows it. Raises KernelError."""
        caller = admit(self._parts, self._authorization, facts)
        facts.update(describe_fields(envelope.message))
        if envelope.type not in _HANDLERS:
            raise InvalidType(f"a team's kernel does not answer {envelope.type[:80]}")
        declaration, handle = _HANDLERS[envelope.type]
        message = decode_message(declaration, envelope.message)
        if not isinstance(message, Search | ReadLines):
            result = handle(self, message, caller)
        elif name := self._sessions.get(envelope.session_id):
            facts["repository"] = name
            result = handle(find_queries(self._parts, caller, name), message)
        else:
            raise SessionNotFound(f"there is no session {envelope.session_id}")
        replies = [build_reply(envelope, result.data, echo=result.echo)]
        if isinstance(message, OpenRepo):
            prepared = SessionPrepared(repo_name=message.repo_name, path="")
            replies.append(build_request(message.session_id, next(self._callbacks), prepared))
        if isinstance(result.data, SearchReply):
            facts["results"] = len(result.data.results)
        return replies

    def list_repos(self, _: GetRepos, caller: Caller) -> HandlerReply:
        """List the repositories of which something may be read."""
        names = caller.list_repositories()
        return HandlerReply(GetReposReply(repo_list=[RepoEntry(name=it, path="") for it in names]))

    def open_repo(self, message: OpenRepo, caller: Caller) -> HandlerReply:
        """Let a window ask a repository."""
        find_queries(self._parts, caller, message.repo_name)
        if message.session_id in self._sessions or len(self._sessions) >= MAX_SESSIONS:
            raise SessionExists(f"the session {message.session_id} has a repository, or too many")
        self._sessions[message.session_id] = message.repo_name
        return HandlerReply(OpenRepoReply(repo_name=message.repo_name, path=""))

    def close_repo(self, message: CloseRepo, _: Caller) -> HandlerReply:
        """Forget the repository of a window."""
        window = message.window
        if self._sessions.pop(window, None) is None:
            raise SessionNotFound(f"there is no session {window}")
        return HandlerReply(echo={"sessionId": window, "windowId": window})


def search(queries: TeamQueries, message: Search) -> HandlerReply:
    """Rank what may be read."""
    if message.facets or message.configs is not None or not message.semantic:
        raise WrongParam("a team's kernel does not answer facets, configs or semantic")
    limit = min(message.limit or DEFAULT_HITS, MAX_HITS)
    found = queries.search(message.query, limit, accuracy=message.accuracy, cancel=CancelToken())
    highlight = Highlighter(found.highlight_terms)
    results = [build_search_result(hit, highlight, explain=message.explain) for hit in found.hits]
    more: dict[str, Any] = {} if found.is_complete else {"is_complete": False}
    return HandlerReply(SearchReply(results=results, **more))


def read_lines(queries: TeamQueries, message: ReadLines) -> HandlerReply:
    """Show lines of a file as it is indexed."""
    begin = message.begin_line
    lines, total = queries.read_lines(message.file_path, begin + 1, max(message.end_line, 1))
    shown = lines[: message.end_line - begin]
    content = mask_secrets("".join(f"{line}\n" for line in shown)).text
    reply = ReadLinesReply(
        content=content,
        begin_line=begin,
        end_line=begin + len(shown),
        line_count=total,
        language=detect_language(message.file_path),
    )
    return HandlerReply(reply)


def _decode(line: bytes) -> Envelope:
    if len(line) > MAX_BODY_BYTES:
        raise WrongParam("the request is too long")
    return decode_envelope(line)


def _encode(outgoing: OutgoingEnvelope) -> str:
    return encode_ascii_json(outgoing).decode("ascii")


def _declare(
    declaration: type[M], handle: Callable[..., HandlerReply]
) -> tuple[str, tuple[type[Message], Callable[..., HandlerReply]]]:
    return get_message_type(declaration), (declaration, handle)


_HANDLERS = dict(
    (
        _declare(GetRepos, TeamConnection.list_repos),
        _declare(OpenRepo, TeamConnection.open_repo),
        _declare(CloseRepo, TeamConnection.close_repo),
        _declare(Search, search),
        _declare(ReadLines, read_lines),
    )
)
