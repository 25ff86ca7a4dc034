"""One tab that may use the kernel: what it asks is carried out, what happens is told.

``handle`` is called on the tab's own thread and waits while too much is under way for the tab, so
that the browser has to wait, too. Nothing else here waits.
"""

import threading
from collections.abc import Callable
from typing import Any

from kernel.domain.safe_json import parse_json
from kernel.doors.web import threads
from kernel.doors.web.exchange import Exchange, Reply
from kernel.doors.web.failures import CallFailed, forbidden, plain
from kernel.doors.web.host_calls import HostCalls
from kernel.doors.web.outbox import Outbox
from kernel.doors.web.sessions import Sessions
from kernel.doors.web.talk import Talk
from kernel.doors.web.window_calls import (
    HOUSE_CALLS,
    SESSION_CALLS,
    WITHOUT_FIELDS,
    checked,
    has_api_key,
)
from kernel.errors import KernelError
from kernel.protocol.envelope import MAIN_SESSION_ID

# More than a page ever asks at a time; each may hold an answer of megabytes.
MOST_CALLS = 16
# More than a person can read at a time.
MOST_CONVERSATIONS = 8
# What a tab may leave unread before nothing more is carried out for it.
MOST_UNREAD = 16 * 1024 * 1024
SHOWN_NAME_LENGTH = 80


class Guest:
    """A tab; its connection writes what comes out of ``outbox``."""

    def __init__(self, exchange: Exchange, sessions: Sessions, host: HostCalls) -> None:
        self.outbox = Outbox()
        self._exchange = exchange
        self._sessions = sessions
        self._host = host
        self._talks: dict[int, tuple[Talk, Callable[[], None]]] = {}
        self._calls = 0
        self._gone = False
        self._changed = threading.Condition()

    def tell(self, event: dict[str, Any]) -> None:
        """Say what happened."""
        self.outbox.put({"event": event})

    def tell_status(self, message: dict[str, Any]) -> None:
        """Say how far a file is."""
        self.outbox.put_status(message)

    def handle(self, text: str | bytes) -> None:
        """Carry out one message of the page; raises ValueError if it is none."""
        message = parse_json(text)
        if not isinstance(message, dict):
            raise ValueError("not an object")  # noqa: TRY004 - as what is not JSON
        if "read" in message:
            self._with_talk(message["read"], lambda talk, _: talk.read())
        elif "stop" in message:
            self._with_talk(message["stop"], lambda _, stop: stop())
        elif isinstance(message.get("id"), int):
            self._begin_call()
            self._carry_out(message)
        else:
            raise ValueError("neither a call nor about a conversation")

    def wrote(self) -> None:
        """Something was written to the tab; it may be that more can be carried out now."""
        with self._changed:
            self._changed.notify_all()

    def leave(self) -> None:
        """The tab is gone: nobody reads its conversations any more."""
        with self._changed:
            self._gone = True
            stops = [stop for _, stop in self._talks.values()]
            self._changed.notify_all()
        for stop in stops:
            stop()
        self._sessions.leave(self)
        self.outbox.close()

    def _carry_out(self, message: dict[str, Any]) -> None:
        call, answer = str(message.get("call")), _Answering(self, message["id"])
        try:
            fields = checked(message.get("fields"))
            if call in HOUSE_CALLS:
                self._ask(MAIN_SESSION_ID, call, fields, answer)
            elif call in SESSION_CALLS:
                self._ask(self._sessions.of(self).id, call, fields, answer)
            elif call == "converse":
                self._converse(message.get("key"), fields)
                answer.succeed(None)
            else:
                self._on_own_thread(call, fields, answer)
        except (CallFailed, KernelError) as error:
            answer.fail(error)

    def _ask(
        self, session_id: int, call: str, fields: dict[str, Any], answer: "_Answering"
    ) -> None:
        if call == "deleteRepo":
            answer.before_success = lambda: self._sessions.deleted(str(fields.get("repoName")))
        self._exchange.open(session_id, call, {} if call in WITHOUT_FIELDS else fields, answer)

    def _on_own_thread(self, call: str, fields: dict[str, Any], answer: "_Answering") -> None:
        """For what takes several requests, or another program."""
        work: dict[str, Callable[[], Any]] = {
            "openRepo": lambda: self._sessions.open(self, _name(fields.get("repoName"))),
            "closeRepo": lambda: self._sessions.close(self),
            "hasApiKey": lambda: has_api_key(self._exchange, fields.get("name")),
            **self._host.for_tab(fields, lambda: self._sessions.of(self).path),
        }
        if call not in work:
            raise forbidden(f"This window may not ask for {call[:SHOWN_NAME_LENGTH]}.")
        threads.start(f"call:{call}", lambda: answer.succeed(work[call]()), answer.fail)

    def _converse(self, key: object, question: dict[str, Any]) -> None:
        if not isinstance(key, int) or isinstance(key, bool):
            raise forbidden("A conversation needs a number.")
        session_id, number = self._sessions.of(self).id, question.get("conversationId")

        def stop() -> None:
            self._exchange.order(session_id, "stopConversation", {"conversationId": number})

        def forget() -> None:
            with self._changed:
                self._talks.pop(key, None)

        talk = Talk(key, self.outbox.put, forget)
        with self._changed:
            if key in self._talks or len(self._talks) >= MOST_CONVERSATIONS:
                raise forbidden("Too many conversations at a time.")
            self._talks[key] = (talk, stop)
        fields = {name: question.get(name) for name in ("modelName", "conversationId", "query")}
        begin = "beginAgentTurn" if question.get("isAgent") is True else "beginConversation"
        try:
            self._exchange.open(session_id, begin, fields, talk)
        except CallFailed:
            forget()
            raise

    def _with_talk(self, key: object, act: Callable[[Talk, Callable[[], None]], None]) -> None:
        with self._changed:
            found = self._talks.get(key) if isinstance(key, int) else None
        if found:
            act(*found)

    def _begin_call(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._gone or (self._calls < MOST_CALLS and self.outbox.size < MOST_UNREAD)
            )
            self._calls += 1

    def end_call(self) -> None:
        """One of the tab's calls has its answer."""
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()


class _Answering:
    """One call of the page; it is answered once, and a listener of the exchange."""

    def __init__(self, guest: Guest, number: int) -> None:
        self._guest = guest
        self._id = number
        self.before_success: Callable[[], None] = lambda: None

    def hear(self, reply: Reply) -> bool:
        """Pass the kernel's answer on."""
        if reply.failure:
            self.fail(reply.failure)
        elif reply.long_data:
            before = f'{{"id":{self._id},"data":'.encode()
            self._guest.outbox.put_text(reply.long_data.pieces(before))
            self._guest.end_call()
        else:
            self.succeed(reply.data)
        return True

    def succeed(self, data: Any) -> None:
        """The answer of a call that did what it should."""
        self.before_success()
        self._answer({"id": self._id, "data": data})

    def fail(self, error: BaseException) -> None:
        """The answer of a call that did not."""
        if not isinstance(error, CallFailed | KernelError):
            threads.log_crash(error)
        self._answer({"id": self._id, "failure": plain(error)})

    def _answer(self, message: dict[str, Any]) -> None:
        self._guest.outbox.put(message)
        self._guest.end_call()


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise CallFailed("WRONG_PARAM", "openRepo needs the repoName of a repository.")
    return value
