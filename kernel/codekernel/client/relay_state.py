"""What a relay remembers of a front end, so that it can go on with another kernel.

Pure: lines go in, lines come out. Replies can be too long for memory, so of most lines only the
head is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from codekernel.protocol import NO_CALLBACK_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Callback ids of the relay's own requests; a front end counts from 1, or uses milliseconds.
ATTACH_ID = 2**52
FIRST_OWN_ID = ATTACH_ID + 1

# session, callbackId, isReply and message type are the first members of every line of a kernel.
MAX_HEAD_BYTES = 512
_HEAD = re.compile(
    rb'\{"sessionId":(-?\d+),"toMain":(?:true|false),"callbackId":(-?\d+),"isReply":(true|false),'
    rb'"message":\{'
)
_NOTIFICATION_TYPE = re.compile(rb'"message":\{"type":"(\w+)"')

# A reply that is read whole: the start of a session and the parts of an answer.
MAX_READ_REPLY_BYTES = 1024 * 1024

OPEN_TYPES = {"openRepo", "openFolder"}
STREAM_TYPES = {"beginConversation", "beginAgentTurn", "followAgentSessions", "followConversation"}
_READ_REPLY_TYPES = OPEN_TYPES | STREAM_TYPES | {"closeRepo", "deleteRepo"}
# What may have been done although no reply came; doing it again would be another act.
_NOT_REPEATABLE_TYPES = {
    "createRepo",
    "deleteRepo",
    "deleteConversation",
    "undoAgentTurn",
    "undoAgentSession",
}

# What so many kernels have died of is not sent to another one.
MAX_DEATHS = 5

_INTERRUPTED = (
    "The kernel ended unexpectedly and was started again. What was shown is kept; ask again to go"
    " on."
)
_FATAL = f"The kernel ended {MAX_DEATHS} times while it did this; its log says why."


# No dataclasses and nothing of typing here: those take two megabytes in every process that relays.
class PendingRequest:
    """A request without its last reply, and how many kernels have died meanwhile."""

    def __init__(self, kind: str, line: bytes, envelope: dict[str, Any]) -> None:
        self.type = kind
        self.line = line
        self.envelope = envelope
        self.death_count = 0
        self.is_accepted = False  # a stream that has begun


class PendingRequests:
    """The requests that wait, in their order.

    Found by session and callbackId. PocketRAG's front end counts in milliseconds from its start, so
    two requests of one session may have the same one; those are told apart by their types.
    """

    def __init__(self) -> None:
        self._requests: dict[int, PendingRequest] = {}  # by when they came
        self._numbers: dict[tuple[int, int], list[int]] = {}
        self._next_number = 0

    def add(self, request: PendingRequest) -> None:
        """Add a request that was sent."""
        self._requests[self._next_number] = request
        self._numbers.setdefault(_get_key(request), []).append(self._next_number)
        self._next_number += 1

    def find(self, session_id: int, callback_id: int, reply: bytes) -> PendingRequest | None:
        """Return the request that a reply, or its head, belongs to."""
        numbers = self._numbers.get((session_id, callback_id), ())
        found = [self._requests[number] for number in numbers]
        fitting = (each for each in found if f'"type":"{each.type}"'.encode() in reply)
        return next(fitting, found[0] if found else None)

    def remove(self, request: PendingRequest) -> None:
        """Forget a request that has its last reply."""
        numbers = self._numbers[_get_key(request)]
        number = next(each for each in numbers if self._requests[each] is request)
        numbers.remove(number)
        if not numbers:
            del self._numbers[_get_key(request)]
        del self._requests[number]

    def list_all(self) -> list[PendingRequest]:
        """Return the requests, oldest first."""
        return list(self._requests.values())


def _get_key(request: PendingRequest) -> tuple[int, int]:
    return request.envelope["sessionId"], request.envelope["callbackId"]


class OpenSession:
    """How a session was opened, and how many kernels have died before it was prepared."""

    def __init__(self, line: bytes, repo_name: str) -> None:
        self.line = line
        self.repo_name = repo_name
        self.is_prepared = False
        self.death_count = 0


class RelayedLines:
    """What a relay adds after a line of the kernel."""

    __slots__ = ("to_kernel", "to_program")

    def __init__(
        self, to_kernel: tuple[bytes, ...] = (), to_program: tuple[bytes, ...] = ()
    ) -> None:
        self.to_kernel = to_kernel
        self.to_program = to_program


class RelayState:
    """Sessions that are open and requests that wait; not for several threads at once."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.refusal = ""
        self.answered_count = 0
        self.is_holding = False  # a kernel opens the sessions before it answers what follows
        # Whether this kernel has answered ``attach``, which it does before anything else: one that
        # was already dying has done nothing.
        self._is_attached = False
        self._answered: PendingRequest | None = None  # by the line that is being read
        self._pending = PendingRequests()
        self._sessions: dict[int, OpenSession] = {}
        self._unanswered_opens: dict[int, OpenSession] = {}  # whose reply was not wanted
        self._is_watching_repos = False
        self._offered_models: dict[str, dict[str, Any]] = {}  # by name; a kernel forgets them
        self._own_ids: dict[int, int] = {}  # callbackId of a repeated open -> its session
        self._next_own_id = FIRST_OWN_ID
        # Sessions that were opened again; the front end has heard that they are prepared.
        self._silent_sessions: set[int] = set()

    def note_request(self, line: bytes) -> None:
        """Remember a line of the front end."""
        try:
            envelope = json.loads(line)
            message = envelope["message"]
            kind, callback_id = message["type"], envelope["callbackId"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return  # the kernel answers it
        if envelope.get("isReply") is not False:
            return
        self._is_watching_repos |= kind == "watchRepos"
        if kind == "offerModel":
            self._offered_models[str(message.get("name"))] = message
        if kind == "stopAll":
            self.is_stopping = True
        elif callback_id == NO_CALLBACK_ID:
            self._note_unanswered(kind, message, line)
        elif isinstance(callback_id, int) and isinstance(envelope.get("sessionId"), int):
            self._pending.add(PendingRequest(kind, line, envelope))

    def _note_unanswered(self, kind: str, message: dict[str, Any], line: bytes) -> None:
        """Remember a request whose reply is not wanted."""
        session_id = _find_session_id(message)
        if kind in OPEN_TYPES:
            self._unanswered_opens[session_id] = OpenSession(line, message.get("repoName", ""))
        elif kind == "closeRepo":
            self._forget_session(session_id)

    def _forget_session(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)
        # Should it be opened again at once, that is announced.
        self._silent_sessions.discard(session_id)

    def classify_head(self, head: bytes) -> tuple[bool, bool]:
        """Return whether a line with this head is forwarded, and whether it is read whole."""
        found = _HEAD.match(head)
        if not found:
            return True, False
        session_id, callback_id = int(found[1]), int(found[2])
        if found[3] == b"false":
            return self._classify_notification(head, session_id)
        if callback_id == ATTACH_ID:
            self._is_attached = True
            return False, True
        if callback_id in self._own_ids:
            return False, True
        pending = self._pending.find(session_id, callback_id, head)
        is_read = pending is not None and pending.type in _READ_REPLY_TYPES
        if pending and not is_read:
            self._answered = pending
        return True, is_read

    def _classify_notification(self, head: bytes, session_id: int) -> tuple[bool, bool]:
        kind = _NOTIFICATION_TYPE.search(head)
        name = kind[1] if kind else b""
        if name == b"sessionCrashed":
            self._forget_session(session_id)
        elif name == b"sessionPrepared":
            if opened := self._unanswered_opens.pop(session_id, None):
                self._sessions[session_id] = opened
            if session := self._sessions.get(session_id):
                session.is_prepared = True
        is_hidden = name in {b"kernelStopping", b"kernelServerCrashed"} or (
            name == b"sessionPrepared" and session_id in self._silent_sessions
        )
        return not is_hidden, is_hidden

    def note_line(self, line: bytes) -> RelayedLines:
        """Remember a line of the kernel that is read whole; return what follows from it."""
        try:
            envelope = json.loads(line)
        except ValueError:
            return RelayedLines()
        if not envelope["isReply"]:
            return self._note_notification(envelope)
        callback_id = envelope["callbackId"]
        if callback_id == ATTACH_ID:
            self.refusal = "" if _is_success(envelope) else envelope["status"]["message"]
        if callback_id in self._own_ids:
            return self._note_reopened(self._own_ids.pop(callback_id), envelope)
        if pending := self._pending.find(envelope["sessionId"], callback_id, line):
            self._note_reply(pending, envelope)
        return RelayedLines()

    def note_end(self) -> None:
        """Forget a request that is answered; a reply torn by a death is none."""
        if self._answered is not None:
            self._pending.remove(self._answered)
            self._answered = None
            self.answered_count += 1

    def _note_reopened(self, session_id: int, reply: dict[str, Any]) -> RelayedLines:
        if _is_success(reply):
            return RelayedLines()
        # Deleted or moved since then, or the disk is gone: the program must know.
        self._forget_session(session_id)
        reason = reply["status"]["message"]
        error = f"the kernel was started again and could not open the repository: {reason}"
        return RelayedLines(to_program=(_build_session_crashed(session_id, error),))

    def _note_reply(self, pending: PendingRequest, reply: dict[str, Any]) -> None:
        self.answered_count += 1
        is_stream = pending.type in STREAM_TYPES
        if is_stream and (reply.get("data") or {}).get("type") != "done":
            pending.is_accepted = True
            return
        self._pending.remove(pending)
        if is_stream or not _is_success(reply):
            return
        message = pending.envelope["message"]
        if pending.type in OPEN_TYPES:
            repo_name = (reply.get("data") or {}).get("repoName", "")
            self._sessions[_find_session_id(message)] = OpenSession(pending.line, repo_name)
        elif pending.type == "closeRepo":
            self._forget_session(_find_session_id(message))
        else:  # its sessions are closed with it
            for session_id, session in list(self._sessions.items()):
                if session.repo_name == message["repoName"]:
                    self._forget_session(session_id)

    def restart(self) -> tuple[list[bytes], list[bytes]]:
        """Return the lines for a new kernel, and those for the front end, after a death.

        Sessions are opened again, requests are sent again; an answer that has begun is ended with
        the reason, and so is what may have been done already, or kills every kernel.
        """
        self._own_ids = {}
        self._answered = None
        may_be_done = _NOT_REPEATABLE_TYPES if self._is_attached else frozenset()
        to_kernel, to_front_end = self._reopen_sessions()
        to_kernel += [opened.line for opened in self._unanswered_opens.values()]
        to_kernel[:0] = [_build_unanswered(**model) for model in self._offered_models.values()]
        if self._is_watching_repos:  # the list may have changed meanwhile
            to_kernel.append(_build_unanswered(type="watchRepos"))
            to_front_end.append(_build_unanswered(type="reposChanged"))
        for pending in self._pending.list_all():
            pending.death_count += self._is_attached
            is_fatal = pending.death_count >= MAX_DEATHS
            if is_fatal or pending.is_accepted or pending.type in may_be_done:
                self._pending.remove(pending)
                reason = _FATAL if is_fatal else _INTERRUPTED
                to_front_end += _build_interrupted_replies(pending, reason)
            else:
                to_kernel.append(pending.line)
        self._is_attached = False
        return to_kernel, to_front_end

    def _reopen_sessions(self) -> tuple[list[bytes], list[bytes]]:
        """Return the lines that open the sessions again, and those on what cannot be opened."""
        to_kernel, to_front_end = [], []
        for session_id, session in list(self._sessions.items()):
            is_suspect = self._is_attached and not session.is_prepared
            session.death_count = session.death_count + 1 if is_suspect else 0
            session.is_prepared = False
            if session.death_count < MAX_DEATHS:
                to_kernel.append(self._reopen(session_id, session.line))
            else:
                del self._sessions[session_id]
                to_front_end.append(_build_session_crashed(session_id, _FATAL))
        self._silent_sessions = set(self._sessions)
        return to_kernel, to_front_end

    def release_held(self) -> list[bytes]:
        """Return nothing: no line is held back."""
        return []

    def describe_end(self, error: str) -> bytes:
        """Return the last line for the front end if no other kernel can be had."""
        envelope = {
            "sessionId": -1,
            "toMain": True,
            "callbackId": FIRST_OWN_ID,
            "isReply": False,
            "message": {"type": "kernelServerCrashed", "error": error},
        }
        return json.dumps(envelope).encode()

    def _reopen(self, session_id: int, line: bytes) -> bytes:
        self._next_own_id += 1
        self._own_ids[self._next_own_id] = session_id
        return json.dumps({**json.loads(line), "callbackId": self._next_own_id}).encode()

    def _note_notification(self, envelope: dict[str, Any]) -> RelayedLines:
        message = envelope["message"]
        if message["type"] == "kernelStopping" and message.get("retired"):
            self._is_attached = False  # nothing that has no reply was begun
        elif not self._is_attached:
            self.refusal = find_refusal(envelope)
        if message["type"] != "sessionPrepared":
            return RelayedLines()
        self._silent_sessions.discard(envelope["sessionId"])
        status = {"code": "SUCCESS", "message": ""}
        confirmed = json.dumps({**envelope, "isReply": True, "status": status}).encode()
        return RelayedLines(to_kernel=(confirmed,))


def _build_unanswered(**message: Any) -> bytes:
    """Return a line of the main process, or for it, that gets no reply."""
    envelope = {
        "sessionId": -1,
        "toMain": True,
        "callbackId": NO_CALLBACK_ID,
        "isReply": False,
        "message": message,
    }
    return json.dumps(envelope).encode()


def _is_success(envelope: dict[str, Any]) -> bool:
    return (envelope.get("status") or {}).get("code") == "SUCCESS"


def find_refusal(envelope: dict[str, Any]) -> str:
    """Return why a kernel does not serve a client, if the line says so; empty if it does not."""
    message = envelope.get("message") or {}
    if message.get("type") != "kernelStopping" or message.get("retired"):
        return ""
    return str(message.get("reason") or "the kernel does not serve this program")


def _find_session_id(message: dict[str, Any]) -> int:
    found = message.get("sessionId", message.get("windowId"))
    return found if isinstance(found, int) else NO_CALLBACK_ID


def _build_session_crashed(session_id: int, error: str) -> bytes:
    crashed = {
        "sessionId": session_id,
        "toMain": False,
        "callbackId": NO_CALLBACK_ID,
        "isReply": False,
        "message": {"type": "sessionCrashed", "error": error},
    }
    return json.dumps(crashed).encode()


def _build_interrupted_replies(pending: PendingRequest, reason: str) -> Iterator[bytes]:
    status = {"code": "UNKNOW_ERROR", "message": reason}
    reply = {**pending.envelope, "isReply": True, "status": status}
    yield json.dumps(reply).encode()
    if pending.type in STREAM_TYPES:
        from codekernel.protocol.messages.conversation import encode_failed_part  # noqa: PLC0415 - only after a death

        done = json.loads(encode_failed_part())
        status = {"code": "SUCCESS", "message": ""}
        yield json.dumps({**reply, "status": status, "data": done}).encode()
