"""One browser tab as a client of the kernel.

Its calls are dispatched with a concurrency limit, its events are sent through its outbox;
WebAdapter creates the clients.
"""

import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any
from weakref import WeakSet

from codekernel.adapters.web import host_calls, kernel_client
from codekernel.adapters.web.host_calls import HostCalls
from codekernel.adapters.web.kernel_client import (
    CallFailed,
    KernelClient,
    KernelReply,
)
from codekernel.adapters.web.outbox import ConversationStream, Outbox
from codekernel.adapters.web.page_api import CALL_TARGETS, MAX_CONVERSATIONS, CallTarget
from codekernel.adapters.web.sessions import SESSION_LINGER_SECONDS, TabSessions
from codekernel.client.settings_saver import SettingsSaver
from codekernel.domain.concurrency import start_thread
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import KernelError
from codekernel.protocol import MAIN_SESSION_ID
from codekernel.storage.user_data import UserData
from codekernel.transport.lines import MemoryChannel

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
        parsed = parse_json(text)
        message = parsed if isinstance(parsed, dict) else {}
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
        """Let the session of a tab that is gone linger; answers and agents go on."""
        with self._changed:
            self._is_gone = True
            self._changed.notify_all()
        self._sessions.detach(self.outbox)
        self.outbox.close()

    def _dispatch(self, message: dict[str, Any]) -> None:
        call, reply = str(message.get("call")), _CallReply(self, message["id"])
        target, opening = CALL_TARGETS.get(call), self._opening
        needs_session = target is CallTarget.SESSION or call == "converse"

        def carry_out() -> None:
            try:
                self._carry_out(call, target, message, reply)
            except (CallFailed, KernelError) as error:
                reply.fail(error)

        def carry_out_later() -> None:
            wait([opening])
            carry_out()

        if needs_session and not opening.done():
            start_thread(f"call:{call}", carry_out_later, reply.fail)
        else:
            carry_out()

    def _carry_out(
        self, call: str, target: CallTarget | None, message: dict[str, Any], reply: "_CallReply"
    ) -> None:
        fields = host_calls.check_fields(message.get("fields"))
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
            name = call[:MAX_SHOWN_NAME_CHARS]
            raise CallFailed(kernel_client.FORBIDDEN, f"This window may not ask for {name}.")

    def _forward(
        self, session_id: int, call: str, fields: dict[str, Any], reply: "_CallReply"
    ) -> None:
        def on_reply(answer: KernelReply) -> bool:
            if call == "deleteRepo" and not answer.failure:
                self._sessions.on_repo_deleted(str(fields.get("repoName")))
            return reply.on_reply(answer)

        self._kernel.send_request(
            session_id, call, {} if call in host_calls.CALLS_WITHOUT_FIELDS else fields, on_reply
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

        start_thread("call:openRepo", open_repo, reply.fail)

    def _run_on_thread(self, call: str, fields: dict[str, Any], reply: "_CallReply") -> None:
        """Carry out what takes several requests, or another program."""

        def work() -> Any:
            if call == "closeRepo":
                return self._sessions.close(self.outbox)
            if call == "hasApiKey":
                return host_calls.has_api_key(self._kernel, fields.get("name"))
            return self._host.carry_out(
                call, fields, lambda: self._sessions.get_session(self.outbox).path
            )

        start_thread(f"call:{call}", lambda: reply.succeed(work()), reply.fail)

    def _start_conversation(self, key: object, question: dict[str, Any]) -> None:
        if not isinstance(key, int) or isinstance(key, bool):
            raise CallFailed(kernel_client.FORBIDDEN, "A conversation needs a number.")
        session = self._sessions.get_session(self.outbox)
        session_id = session.id
        number = question.get("conversationId")

        def stop() -> None:
            self._kernel.notify(session_id, "stopConversation", {"conversationId": number})

        def forget() -> None:
            with self._changed:
                if self._conversations.pop(key, None):
                    session.answer_count -= 1

        stream = ConversationStream(key, self.outbox.put, forget)
        with self._changed:
            if key in self._conversations or len(self._conversations) >= MAX_CONVERSATIONS:
                raise CallFailed(kernel_client.FORBIDDEN, "Too many conversations at a time.")
            self._conversations[key] = (stream, stop)
            session.answer_count += 1
        try:
            self._kernel.send_request(session_id, *_build_begin(question), stream.on_reply)
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
        def has_room() -> bool:
            is_idle = self._running_calls < MAX_CONCURRENT_CALLS
            return self._is_gone or (is_idle and self.outbox.pending_size < MAX_UNREAD_BYTES)

        with self._changed:
            self._changed.wait_for(has_room)
            self._running_calls += 1

    def release_call_slot(self) -> None:
        """Let another call of the tab run; called when one has its reply."""
        with self._changed:
            self._running_calls -= 1
            self._changed.notify_all()


def _build_begin(question: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the message that begins a conversation, and its fields."""
    if question.get("isFollowed") is True:
        return "followConversation", {"conversationId": question.get("conversationId")}
    fields = {name: question.get(name) for name in ("modelName", "conversationId", "query")}
    fields["turnKey"] = secrets.token_hex(16)
    if question.get("isAgent") is not True:
        return "beginConversation", {**fields, "goesOn": True}
    return "beginAgentTurn", {**fields, "reviews": question.get("reviews") is True}


class _CallReply:
    """The one reply to a call of the page."""

    def __init__(self, client: WebClient, number: int) -> None:
        self._client = client
        self._id = number

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
        self._send({"id": self._id, "data": data})

    def fail(self, error: BaseException) -> None:
        """Reply with the failure of a call."""
        if not isinstance(error, CallFailed | KernelError):
            kernel_client.log_crash(error)
        self._send({"id": self._id, "failure": kernel_client.dump_failure(error)})

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
        saver = SettingsSaver(partial(self.kernel.request, MAIN_SESSION_ID), CallFailed, user_data)
        self._host = HostCalls(saver, folder, environ)
        self._tabs: WeakSet[WebClient] = WeakSet()  # a tab that is gone is forgotten
        self._tabs_lock = threading.Lock()

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Read what the kernel sends, until it closes its channel."""
        start_thread("web:kernel", lambda: self.kernel.run(self._on_message), on_crash)
        self.kernel.notify(MAIN_SESSION_ID, "watchRepos", {})

    def open_client(self) -> WebClient:
        """Return the client of a new tab."""
        client = WebClient(self.kernel, self.sessions, self._host)
        with self._tabs_lock:
            self._tabs.add(client)
        return client

    def _on_message(self, session_id: int, message: dict[str, Any]) -> bool:
        if message["type"] != "reposChanged":
            return self.sessions.on_message(session_id, message)
        with self._tabs_lock:
            tabs = list(self._tabs)
        for tab in tabs:
            tab.outbox.put({"event": {"type": "reposChanged"}})
        return True
