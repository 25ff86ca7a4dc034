"""What users do in the chats, parsed and done: messages to agents, commands, buttons.

A message is on disk before it is acknowledged; messages are handled in order on one thread, and
what takes long has a thread of its own. A click is answered within three seconds.
"""

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.chat.bindings import CommandButton, PermissionButton
from codekernel.adapters.chat.commands import (
    ChatCommand,
    ChatCommands,
    CommandCaller,
    CommandReply,
    is_notices_only,
    parse_command,
)
from codekernel.adapters.chat.permissions import describe_decision, press_button
from codekernel.adapters.lark.cards import BUTTON_KEY, Card, render_reply
from codekernel.adapters.lark.connection import CLICK_EVENT, MESSAGE_EVENT, get_event_type
from codekernel.adapters.lark.delivery import ChatDelivery, LarkParts
from codekernel.adapters.lark.turn_cards import render_permission
from codekernel.domain.agent_sessions import Actor, AgentSessions, Device, NewMessage
from codekernel.errors import (
    EndpointUnavailable,
    KernelError,
    KernelUnavailable,
    PermissionAnswered,
    StorageError,
)
from codekernel.masking.masker import mask_secrets

TEXT_KIND, RICH_TEXT_KIND = "text", "post"


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A user's message; ``text`` is None if it is a picture, a file or another thing."""

    event_id: str
    message_id: str
    chat_id: str
    user_id: str
    kind: str
    text: str | None


@dataclass(frozen=True, slots=True)
class IncomingClick:
    """A button that a user pressed; ``button_id`` is what we have given it."""

    event_id: str
    chat_id: str
    user_id: str
    button_id: str


def parse_event(event: dict[str, Any]) -> IncomingMessage | IncomingClick | None:
    """Parse an event of the long connection; None for what is no message of a user, or broken."""
    try:
        event_id = str(event["header"]["event_id"])
        if get_event_type(event) == MESSAGE_EVENT:
            return _parse_message(event_id, event["event"])
        if get_event_type(event) == CLICK_EVENT:
            return _parse_click(event_id, event["event"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


def _parse_message(event_id: str, event: dict[str, Any]) -> IncomingMessage | None:
    message, sender = event["message"], event["sender"]
    if sender.get("sender_type", "user") != "user":
        return None  # bots do not talk to each other
    kind = str(message["message_type"])
    text = _read_text(kind, json.loads(message["content"]))
    for mention in message.get("mentions") or ():
        text = text and text.replace(str(mention["key"]), "")
    return IncomingMessage(
        event_id,
        str(message["message_id"]),
        str(message["chat_id"]),
        str(sender["sender_id"]["open_id"]),
        kind,
        None if text is None else text.strip(),
    )


def _read_text(kind: str, content: dict[str, Any]) -> str | None:
    if kind == TEXT_KIND:
        return str(content["text"])
    if kind == RICH_TEXT_KIND:
        return "\n".join(_iterate_rich_lines(content))
    return None


def _iterate_rich_lines(content: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a text with formats, which pasting makes; pictures are left out."""
    if content.get("title"):
        yield str(content["title"])
    for line in content.get("content") or ():
        yield "".join(str(part.get("text", "")) for part in line if part.get("tag") != "at")


def _parse_click(event_id: str, event: dict[str, Any]) -> IncomingClick:
    value = event["action"]["value"]
    return IncomingClick(
        event_id,
        str(event["context"]["open_chat_id"]),
        str(event["operator"]["open_id"]),
        str(value[BUTTON_KEY]),
    )


logger = logging.getLogger(__name__)

PLATFORM = "lark"

BIND_COMMAND = "bind"

# The platform waits three seconds for the answer to a click.
CLICK_TIMEOUT_SECONDS = 2.5

# While the kernel or the disk is away.
RETRY_SECONDS = 2.0

STOP_TIMEOUT_SECONDS = 5.0

MAX_TOAST_CHARS = 200

# These pass, and the message waits; every other error is told to the user.
_PASSING_ERRORS = (KernelUnavailable, EndpointUnavailable, StorageError)

STRANGER_TEXT = "This bot serves its owner alone, who can let you in: `codekernel hub bind lark`."

BOUND_TEXT = "You may use this bot now. /help lists what it understands."

WRONG_CODE_TEXT = (
    "This code is wrong, used or too old: `codekernel hub bind lark` prints a new one."
)

NOT_TEXT_TEXT = "Only text is understood here: pictures, files and voices do not reach the agent."

LATE_TEXT = "This was answered already."

SLOW_TEXT = "This takes a moment; the card will show it."


class LarkInbox:
    """Takes events of the long connection and gives them to the sessions."""

    def __init__(
        self,
        parts: LarkParts,
        sessions: AgentSessions,
        commands: ChatCommands,
        get_chat: Callable[[str], ChatDelivery],
        on_command: Callable[[str], None],
    ) -> None:
        """``on_command`` is called with the chat after each command."""
        self._parts = parts
        self._sessions = sessions
        self._commands = commands
        self._get_chat = get_chat
        self._on_command = on_command
        self._lock = threading.Lock()
        # Events whose reply is on its way, or whose command runs.
        self._under_way: set[str] = set()
        self._arrived = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lark:inbox", daemon=True)

    def start(self) -> None:
        """Begin with what was left by the last run."""
        self._arrived.set()
        self._thread.start()

    def stop(self) -> None:
        """End; what is left is handled by the next run."""
        self._stopping.set()
        self._arrived.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_TIMEOUT_SECONDS)

    def receive(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Take an event of the platform and return the answer to a click. Raises StorageError."""
        incoming = parse_event(event)
        if isinstance(incoming, IncomingClick):
            return self._answer_click(incoming)
        if incoming is not None and self._parts.store.add_event(incoming.event_id, event):
            self._arrived.set()
        return None

    def _run(self) -> None:
        while True:
            self._arrived.wait()
            self._arrived.clear()
            if self._stopping.is_set():
                return
            try:
                for event in self._parts.store.list_unhandled():
                    incoming = parse_event(event)
                    if isinstance(incoming, IncomingMessage):
                        self._handle_guarded(incoming)
            except _PASSING_ERRORS as error:
                logger.info("messages of Lark wait: %s", error)
                if self._stopping.wait(RETRY_SECONDS):
                    return
                self._arrived.set()

    def _handle_guarded(self, message: IncomingMessage) -> None:
        try:
            self._handle(message)
        except _PASSING_ERRORS:
            raise
        except Exception:  # the guard of this thread: one message must not hold up the others
            logger.exception("a message of Lark cannot be handled")
            self._reply(message, "That failed; the log of the hub says why.")

    def _handle(self, message: IncomingMessage) -> None:
        with self._lock:
            if message.event_id in self._under_way:
                return
        if not self._parts.bindings.is_bound(message.user_id):
            self._handle_stranger(message)
        elif message.text is None:
            self._reply(message, NOT_TEXT_TEXT)
        elif command := parse_command(message.text):
            self._handle_command(message, command)
        else:
            self._handle_text(message, message.text)

    def _handle_stranger(self, message: IncomingMessage) -> None:
        """Bind a user who has the code; everybody else is answered once and never again."""
        command = parse_command(message.text or "")
        has_code = command is not None and command.name == BIND_COMMAND
        if command is not None and has_code:
            code, _, name = command.argument.partition(" ")
            shown = name.strip() or f"Lark user {message.user_id[-6:]}"
            if self._parts.bindings.bind_user(code, message.user_id, shown):
                self._reply(message, BOUND_TEXT)
                return
        if self._parts.bindings.note_stranger(message.user_id):
            self._reply(message, WRONG_CODE_TEXT if has_code else STRANGER_TEXT)
        else:
            self._parts.store.mark_handled(message.event_id)

    def _handle_text(self, message: IncomingMessage, text: str) -> None:
        session = self._commands.get_session(message.chat_id)
        if session is None:
            self._reply(message, self._commands.describe_unbound())
            return
        if text:
            local_id = f"{PLATFORM}:{message.message_id}"
            new = NewMessage(text, self._make_actor(message.user_id), local_id)
            try:
                self._sessions.send_message(session.id, new)
            except _PASSING_ERRORS:
                raise
            except KernelError as error:
                self._reply(message, f"The agent did not get this: {error}")
                return
        self._parts.store.mark_handled(message.event_id)

    def _handle_command(self, message: IncomingMessage, command: ChatCommand) -> None:
        caller = CommandCaller(message.chat_id, self._make_actor(message.user_id), message.event_id)
        with self._lock:
            self._under_way.add(message.event_id)

        def run() -> None:
            self._reply(message, self._commands.run(command, caller))
            self._on_command(message.chat_id)

        if command.is_slow:
            threading.Thread(target=run, name="lark:command", daemon=True).start()
        else:
            run()

    def _reply(self, message: IncomingMessage, reply: CommandReply | str) -> None:
        """Send a reply; the event is handled when it is sent."""
        if isinstance(reply, str):
            reply = CommandReply(reply)
        with self._lock:
            self._under_way.add(message.event_id)

        def finish() -> None:
            self._parts.store.mark_handled(message.event_id)
            with self._lock:
                self._under_way.discard(message.event_id)

        cards = self._render(message.chat_id, reply)
        self._get_chat(message.chat_id).reply(message.event_id, cards, finish)

    def _render(self, chat_id: str, reply: CommandReply) -> list[Card]:
        choices = [
            (
                mask_secrets(choice.label).text,
                self._parts.buttons.register(chat_id, CommandButton(choice.command)),
            )
            for choice in reply.choices
        ]
        return render_reply(mask_secrets(reply.markdown).text, choices, reply.turns)

    def _make_actor(self, user_id: str) -> Actor:
        names = {user.user_id: user.name for user in self._parts.bindings.list_users()}
        return Actor(Device.LARK, names.get(user_id, ""))

    def _answer_click(self, click: IncomingClick) -> dict[str, Any]:
        """Answer in time; what takes longer goes on, and the card shows it."""
        if not self._parts.bindings.is_bound(click.user_id):
            return _make_toast("error", "You may not use this bot.")
        meaning = self._parts.buttons.find(click.chat_id, click.button_id)
        if meaning is None:
            return _make_toast("warning", "This button is too old.")
        if isinstance(meaning, CommandButton):
            self._accept_choice(click, meaning)
            return _make_toast("info", meaning.command)
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(
            target=lambda: answers.put(self._press(click, meaning)), name="lark:press", daemon=True
        ).start()
        try:
            return answers.get(timeout=CLICK_TIMEOUT_SECONDS)
        except queue.Empty:
            return _make_toast("info", SLOW_TEXT)

    def _accept_choice(self, click: IncomingClick, choice: CommandButton) -> None:
        """Keep a command that was chosen as if it were typed."""
        message = {
            "message_id": click.event_id,
            "chat_id": click.chat_id,
            "message_type": "text",
            "content": json.dumps({"text": choice.command}),
        }
        header = {"event_id": click.event_id, "event_type": MESSAGE_EVENT}
        sender = {"sender_id": {"open_id": click.user_id}}
        self.receive({"header": header, "event": {"message": message, "sender": sender}})

    def _press(self, click: IncomingClick, button: PermissionButton) -> dict[str, Any]:
        try:
            outcome = press_button(self._sessions, button, self._make_actor(click.user_id))
            record = self._sessions.get_session(button.session_id)
        except PermissionAnswered:
            return _make_toast("warning", LATE_TEXT)
        except KernelError as error:
            return _make_toast("error", str(error))
        decision = describe_decision(outcome.permission)
        chat = self._parts.bindings.get_chat(click.chat_id)
        notices = is_notices_only(chat, default=self._parts.notices_only)
        card = render_permission(
            record, outcome.permission, click.chat_id, self._parts.buttons, notices=notices
        )
        if outcome.is_late:
            toast = _make_toast("warning", f"{LATE_TEXT} {decision}")
        else:
            toast = _make_toast("success", decision)
        return toast | {"card": {"type": "raw", "data": card}}


def _make_toast(kind: str, text: str) -> dict[str, Any]:
    return {"toast": {"type": kind, "content": text[:MAX_TOAST_CHARS]}}
