"""One browser tab as a client of the kernel.

Its calls are dispatched with a concurrency limit, its events are sent through its outbox;
WebAdapter creates the clients.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from codekernel.adapters.web import threads
from codekernel.adapters.web.kernel_client import (
    CallFailed,
    KernelClient,
    KernelReply,
    dump_failure,
    make_forbidden_failure,
)
from codekernel.adapters.web.outbox import ConversationStream, Outbox
from codekernel.adapters.web.page_calls import (
    CALLS_WITHOUT_FIELDS,
    KERNEL_CALLS,
    SESSION_CALLS,
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

# More than a page ever asks at a time; each may hold an answer of megabytes.
MAX_CONCURRENT_CALLS = 16

# More than a person can read at a time.
MAX_CONVERSATIONS = 8

# What a tab may leave unread before nothing more is carried out for it.
MAX_UNREAD_BYTES = 16 * 1024 * 1024

MAX_SHOWN_NAME_CHARS = 80


class WebClient:
    """A tab; its connection writes what comes out of ``outbox``."""

    def __init__(self, kernel: KernelClient, sessions: TabSessions, host: HostCalls) -> None:
        self.outbox = Outbox()
        self._kernel = kernel
        self._sessions = sessions
        self._host = host
        self._conversations: dict[int, tuple[ConversationStream, Callable[[], None]]] = {}
        self._running_calls = 0
        self._is_gone = False
        self._changed = threading.Condition()

    def send_event(self, event: dict[str, Any]) -> None:
        """Say what happened."""
        self.outbox.put({"event": event})

    def send_file_status(self, message: dict[str, Any]) -> None:
        """Say how far a file is."""
        self.outbox.put_status(message)

    def handle_message(self, text: str | bytes) -> None:
        """Carry out one message of the page; raises ValueError if it is none."""
        message = parse_json(text)
        if not isinstance(message, dict):
            raise ValueError("not an object")  # noqa: TRY004 - as what is not JSON
        if "read" in message:
            self._with_conversation(message["read"], lambda talk, _: talk.on_part_read())
        elif "stop" in message:
            self._with_conversation(message["stop"], lambda _, stop: stop())
        elif isinstance(message.get("id"), int):
            self._acquire_call_slot()
            self._dispatch(message)
        else:
            raise ValueError("neither a call nor about a conversation")

    def on_written(self) -> None:
        """Something was written to the tab; it may be that more can be carried out now."""
        with self._changed:
            self._changed.notify_all()

    def disconnect(self) -> None:
        """The tab is gone: nobody reads its conversations any more."""
        with self._changed:
            self._is_gone = True
            stops = [stop for _, stop in self._conversations.values()]
            self._changed.notify_all()
        for stop in stops:
            stop()
        self._sessions.detach(self)
        self.outbox.close()

    def _dispatch(self, message: dict[str, Any]) -> None:
        call, answer = str(message.get("call")), _CallReply(self, message["id"])
        try:
            fields = check_fields(message.get("fields"))
            if call in KERNEL_CALLS:
                self._forward(MAIN_SESSION_ID, call, fields, answer)
            elif call in SESSION_CALLS:
                self._forward(self._sessions.get_session(self).id, call, fields, answer)
            elif call == "converse":
                self._start_conversation(message.get("key"), fields)
                answer.succeed(None)
            else:
                self._run_on_thread(call, fields, answer)
        except (CallFailed, KernelError) as error:
            answer.fail(error)

    def _forward(
        self, session_id: int, call: str, fields: dict[str, Any], answer: "_CallReply"
    ) -> None:
        if call == "deleteRepo":
            answer.before_success = lambda: self._sessions.on_repo_deleted(
                str(fields.get("repoName"))
            )
        self._kernel.send_request(
            session_id, call, {} if call in CALLS_WITHOUT_FIELDS else fields, answer
        )

    def _run_on_thread(self, call: str, fields: dict[str, Any], answer: "_CallReply") -> None:
        """For what takes several requests, or another program."""
        work: dict[str, Callable[[], Any]] = {
            "openRepo": lambda: self._sessions.open(
                self, _require_repo_name(fields.get("repoName"))
            ),
            "closeRepo": lambda: self._sessions.close(self),
            "hasApiKey": lambda: has_api_key(self._kernel, fields.get("name")),
            **self._host.make_calls(fields, lambda: self._sessions.get_session(self).path),
        }
        if call not in work:
            raise make_forbidden_failure(
                f"This window may not ask for {call[:MAX_SHOWN_NAME_CHARS]}."
            )
        threads.start_thread(f"call:{call}", lambda: answer.succeed(work[call]()), answer.fail)

    def _start_conversation(self, key: object, question: dict[str, Any]) -> None:
        if not isinstance(key, int) or isinstance(key, bool):
            raise make_forbidden_failure("A conversation needs a number.")
        session_id, number = self._sessions.get_session(self).id, question.get("conversationId")

        def stop() -> None:
            self._kernel.notify(session_id, "stopConversation", {"conversationId": number})

        def forget() -> None:
            with self._changed:
                self._conversations.pop(key, None)

        talk = ConversationStream(key, self.outbox.put, forget)
        with self._changed:
            if key in self._conversations or len(self._conversations) >= MAX_CONVERSATIONS:
                raise make_forbidden_failure("Too many conversations at a time.")
            self._conversations[key] = (talk, stop)
        fields = {name: question.get(name) for name in ("modelName", "conversationId", "query")}
        begin = "beginAgentTurn" if question.get("isAgent") is True else "beginConversation"
        try:
            self._kernel.send_request(session_id, begin, fields, talk)
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
        """One of the tab's calls has its answer."""
        with self._changed:
            self._running_calls -= 1
            self._changed.notify_all()


class _CallReply:
    """One call of the page; it is answered once, and a listener of the exchange."""

    def __init__(self, client: WebClient, number: int) -> None:
        self._client = client
        self._id = number
        self.before_success: Callable[[], None] = lambda: None

    def on_reply(self, reply: KernelReply) -> bool:
        """Pass the kernel's answer on."""
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
        """The answer of a call that did what it should."""
        self.before_success()
        self._send({"id": self._id, "data": data})

    def fail(self, error: BaseException) -> None:
        """The answer of a call that did not."""
        if not isinstance(error, CallFailed | KernelError):
            threads.log_crash(error)
        self._send({"id": self._id, "failure": dump_failure(error)})

    def _send(self, message: dict[str, Any]) -> None:
        self._client.outbox.put(message)
        self._client.release_call_slot()


def _require_repo_name(value: object) -> str:
    if not isinstance(value, str):
        raise CallFailed("WRONG_PARAM", "openRepo needs the repoName of a repository.")
    return value


class WebAdapter:
    """Lets tabs in; ``folder`` is where the person stands, or nothing."""

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
        """Hear the kernel from now on, until it closes its channel."""
        threads.start_thread(
            "web:kernel", lambda: self.kernel.run(self.sessions.on_message), on_crash
        )

    def open_client(self) -> WebClient:
        """A new tab."""
        return WebClient(self.kernel, self.sessions, self._host)
