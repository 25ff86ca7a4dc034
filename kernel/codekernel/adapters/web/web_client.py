"""One browser tab as a client of the kernel.

Its calls are dispatched with a concurrency limit, its events are sent through its outbox;
WebAdapter creates the clients.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from codekernel.adapters.web import threads
from codekernel.adapters.web.kernel_client import (
    FORBIDDEN,
    CallFailed,
    KernelClient,
    KernelReply,
    dump_failure,
)
from codekernel.adapters.web.outbox import ConversationStream, Outbox
from codekernel.adapters.web.page_api import CALL_TARGETS, MAX_CONVERSATIONS, CallTarget
from codekernel.adapters.web.page_calls import (
    CALLS_WITHOUT_FIELDS,
    HostCalls,
    SettingsSaver,
    check_fields,
    has_api_key,
)
from codekernel.adapters.web.sessions import SESSION_LINGER_SECONDS, TabSessions
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import KernelError
from codekernel.protocol.envelope import MAIN_SESSION_ID
from codekernel.storage.user_data import UserData
from codekernel.transport.channels import MemoryChannel

# More than a page ever makes at a time; each reply may have megabytes.
MAX_CONCURRENT_CALLS = 16

# A tab that leaves more unread gets no more calls carried out.
MAX_UNREAD_BYTES = 16 * 1024 * 1024

MAX_SHOWN_NAME_CHARS = 80


class WebClient:
    """A tab; its connection sends what ``outbox`` yields."""

    def __init__(self, kernel: KernelClient, sessions: TabSessions, host: HostCalls) -> None:
        self.outbox = Outbox()
        self._kernel = kernel
        self._sessions = sessions
        self._host = host
        self._conversations: dict[int, tuple[ConversationStream, Callable[[], None]]] = {}
        # The openRepo that runs, or ran last; only the thread that reads from the tab sets it.
        self._opening: Future[None] = Future()
        self._opening.set_result(None)
        self._running_calls = 0
        self._is_gone = False
        self._changed = threading.Condition()

    def handle_message(self, text: str | bytes) -> None:
        """Carry out one message of the page; may wait. Raises ValueError if it is none."""
        message = parse_json(text)
        if not isinstance(message, dict):
            raise ValueError("not an object")  # noqa: TRY004 - as what is not JSON
        if "read" in message:
            self._with_conversation(message["read"], lambda stream, _: stream.on_part_read())
        elif "stop" in message:
            self._with_conversation(message["stop"], lambda _, stop: stop())
        elif isinstance(message.get("id"), int):
            self._acquire_call_slot()
            self._dispatch(message)
        else:
            raise ValueError("neither a call nor about a conversation")

    def on_written(self) -> None:
        """Wake calls that wait for the tab to read; called after each message that was sent."""
        with self._changed:
            self._changed.notify_all()

    def disconnect(self) -> None:
        """Stop the conversations of a tab that is gone, and let its session linger."""
        with self._changed:
            self._is_gone = True
            stops = [stop for _, stop in self._conversations.values()]
            self._changed.notify_all()
        for stop in stops:
            stop()
        self._sessions.detach(self.outbox)
        self.outbox.close()

    def _dispatch(self, message: dict[str, Any]) -> None:
        call, reply = str(message.get("call")), _CallReply(self, message["id"])
        target, opening = CALL_TARGETS.get(call), self._opening
        needs_session = target is CallTarget.SESSION or call == "converse"

        def carry_out() -> None:
            wait([opening])
            try:
                self._carry_out(call, target, message, reply)
            except (CallFailed, KernelError) as error:
                reply.fail(error)

        if needs_session and not opening.done():
            threads.start_thread(f"call:{call}", carry_out, reply.fail)
        else:
            carry_out()

    def _carry_out(
        self, call: str, target: CallTarget | None, message: dict[str, Any], reply: "_CallReply"
    ) -> None:
        fields = check_fields(message.get("fields"))
        if target is CallTarget.KERNEL:
            self._forward(MAIN_SESSION_ID, call, fields, reply)
        elif target is CallTarget.SESSION:
            self._forward(self._sessions.get_session(self.outbox).id, call, fields, reply)
        elif call == "converse":
            self._start_conversation(message.get("key"), fields)
            reply.succeed(None)
        elif call == "openRepo":
            self._open_repo(fields.get("repoName"), reply)
        elif target:
            self._run_on_thread(call, fields, reply)
        else:
            raise CallFailed(
                FORBIDDEN, f"This window may not ask for {call[:MAX_SHOWN_NAME_CHARS]}."
            )

    def _forward(
        self, session_id: int, call: str, fields: dict[str, Any], reply: "_CallReply"
    ) -> None:
        if call == "deleteRepo":
            reply.before_success = lambda: self._sessions.on_repo_deleted(
                str(fields.get("repoName"))
            )
        self._kernel.send_request(
            session_id, call, {} if call in CALLS_WITHOUT_FIELDS else fields, reply.on_reply
        )

    def _open_repo(self, repo_name: object, reply: "_CallReply") -> None:
        """Open a repository on a thread; what the page asks its session meanwhile waits for it."""
        if not isinstance(repo_name, str):
            raise CallFailed("WRONG_PARAM", "openRepo needs the repoName of a repository.")
        opening: Future[None] = Future()
        self._opening = opening

        def open_repo() -> None:
            try:
                session = self._sessions.open(self.outbox, repo_name)
            finally:
                opening.set_result(None)
            reply.succeed(session)

        threads.start_thread("call:openRepo", open_repo, reply.fail)

    def _run_on_thread(self, call: str, fields: dict[str, Any], reply: "_CallReply") -> None:
        """Carry out what takes several requests, or another program."""
        work: dict[str, Callable[[], Any]] = {
            "closeRepo": lambda: self._sessions.close(self.outbox),
            "hasApiKey": lambda: has_api_key(self._kernel, fields.get("name")),
            **self._host.make_calls(fields, lambda: self._sessions.get_session(self.outbox).path),
        }
        threads.start_thread(f"call:{call}", lambda: reply.succeed(work[call]()), reply.fail)

    def _start_conversation(self, key: object, question: dict[str, Any]) -> None:
        if not isinstance(key, int) or isinstance(key, bool):
            raise CallFailed(FORBIDDEN, "A conversation needs a number.")
        session_id, number = (
            self._sessions.get_session(self.outbox).id,
            question.get("conversationId"),
        )

        def stop() -> None:
            self._kernel.notify(session_id, "stopConversation", {"conversationId": number})

        def forget() -> None:
            with self._changed:
                self._conversations.pop(key, None)

        stream = ConversationStream(key, self.outbox.put, forget)
        with self._changed:
            if key in self._conversations or len(self._conversations) >= MAX_CONVERSATIONS:
                raise CallFailed(FORBIDDEN, "Too many conversations at a time.")
            self._conversations[key] = (stream, stop)
        fields = {name: question.get(name) for name in ("modelName", "conversationId", "query")}
        begin = "beginAgentTurn" if question.get("isAgent") is True else "beginConversation"
        try:
            self._kernel.send_request(session_id, begin, fields, stream.on_reply)
        except CallFailed:
            forget()
            raise

    def _with_conversation(
        self, key: object, act: Callable[[ConversationStream, Callable[[], None]], None]
    ) -> None:
        with self._changed:
            found = self._conversations.get(key) if isinstance(key, int) else None
        if found:
            act(*found)

    def _acquire_call_slot(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._is_gone
                    or (
                        self._running_calls < MAX_CONCURRENT_CALLS
                        and self.outbox.pending_size < MAX_UNREAD_BYTES
                    )
                )
            )
            self._running_calls += 1

    def release_call_slot(self) -> None:
        """Let another call of the tab run; called when one has its reply."""
        with self._changed:
            self._running_calls -= 1
            self._changed.notify_all()


class _CallReply:
    """The one reply to a call of the page."""

    def __init__(self, client: WebClient, number: int) -> None:
        self._client = client
        self._id = number
        self.before_success: Callable[[], None] = lambda: None

    def on_reply(self, reply: KernelReply) -> bool:
        """Pass the kernel's reply on."""
        if reply.failure:
            self.fail(reply.failure)
        elif reply.long_data:
            before = f'{{"id":{self._id},"data":'.encode()
            self._client.outbox.put_text(reply.long_data.pieces(before))
            self._client.release_call_slot()
        else:
            self.succeed(reply.data)
        return True

    def succeed(self, data: Any) -> None:
        """Reply with the data of a call."""
        self.before_success()
        self._send({"id": self._id, "data": data})

    def fail(self, error: BaseException) -> None:
        """Reply with the failure of a call."""
        if not isinstance(error, CallFailed | KernelError):
            threads.log_crash(error)
        self._send({"id": self._id, "failure": dump_failure(error)})

    def _send(self, message: dict[str, Any]) -> None:
        self._client.outbox.put(message)
        self._client.release_call_slot()


class WebAdapter:
    """Makes a client of each tab; ``folder`` is where the host was started, or empty."""

    def __init__(
        self,
        channel: MemoryChannel,
        user_data: UserData,
        environ: Mapping[str, str],
        folder: str,
        linger_seconds: float = SESSION_LINGER_SECONDS,
    ) -> None:
        self.kernel = KernelClient(channel)
        self.sessions = TabSessions(self.kernel, linger_seconds)
        self._host = HostCalls(SettingsSaver(self.kernel, user_data), folder, environ)

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Read what the kernel sends, until it closes its channel."""
        threads.start_thread(
            "web:kernel", lambda: self.kernel.run(self.sessions.on_message), on_crash
        )

    def open_client(self) -> WebClient:
        """Return the client of a new tab."""
        return WebClient(self.kernel, self.sessions, self._host)
