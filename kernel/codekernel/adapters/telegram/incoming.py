"""What people write and press: updates of the bot, each handled once.

Only bound users have an effect; a stranger gets one polite line.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from codekernel.adapters.chat.bindings import ChatBindings, ChatButtons, CommandButton
from codekernel.adapters.chat.commands import (
    COMMAND_PREFIX,
    ChatCommand,
    ChatCommands,
    CommandCaller,
    CommandReply,
    parse_command,
)
from codekernel.adapters.chat.permissions import describe_decision, press_button
from codekernel.adapters.telegram.api import BotUser, TelegramApi
from codekernel.adapters.telegram.rendering import PageButton, render_reply
from codekernel.adapters.telegram.turn_messages import TurnMessages
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessions,
    Device,
    NewMessage,
    SessionPermission,
)
from codekernel.errors import KernelError, NetworkError

logger = logging.getLogger(__name__)

STRANGER_LINE = (
    "This bot is private. Its owner can bind you: `codekernel hub bind telegram` prints a code;"
    " send it here as /bind CODE."
)

_BIND_COMMANDS = ("bind", "start", "help")  # /start is parsed as help

# Tells who shows the chats that a permission was decided: chat, session, permission.
OnDecision = Callable[[str, str, SessionPermission], None]


@dataclass(frozen=True, slots=True)
class _Sender:
    """Who wrote or pressed, and where."""

    user_id: str
    chat_id: str
    name: str
    is_private: bool

    @property
    def actor(self) -> Actor:
        return Actor(Device.TELEGRAM, self.name)


@dataclass(frozen=True, slots=True)
class IncomingUpdates:
    """Handles updates, on the thread that asks for them; slow commands have their own."""

    api: TelegramApi
    bot: BotUser
    sessions: AgentSessions
    bindings: ChatBindings
    buttons: ChatButtons
    commands: ChatCommands
    messages: TurnMessages
    on_binding_changed: Callable[[], None]
    on_decision: OnDecision

    def handle(self, update: dict[str, Any]) -> None:
        """Handle an update; what cannot be done is said in the chat. Raises StorageError."""
        event_id = f"{self.bot.id}:{update['update_id']}"
        if self.bindings.is_handled(event_id):
            return
        if query := update.get("callback_query"):
            self._handle_query(query, event_id)
        elif message := update.get("message"):
            self._handle_message(message, event_id)
        self.bindings.mark_handled(event_id)

    def _handle_message(self, message: dict[str, Any], event_id: str) -> None:
        sender = _parse_sender(message.get("from"), message["chat"])
        self.messages.note_message_id(sender.chat_id, message["message_id"])
        if moved_to := message.get("migrate_to_chat_id"):
            chat = self.bindings.get_chat(sender.chat_id)
            self.bindings.save_chat(replace(chat, chat_id=str(moved_to)))
            self.on_binding_changed()
            return
        text = self._strip_mention(message.get("text") or message.get("caption") or "")
        command = parse_command(text, self.bot.name)
        if not self.bindings.is_bound(sender.user_id):
            self._handle_stranger(sender, command, event_id)
        elif command is not None:
            self._run_command(command, sender, event_id)
        elif text.startswith(COMMAND_PREFIX):
            pass  # for another bot
        elif text:
            self._send_to_agent(text, sender, event_id)
        elif "new_chat_members" not in message and "left_chat_member" not in message:
            self._reply(sender.chat_id, event_id, CommandReply("Only text can be sent to agents."))

    def _strip_mention(self, text: str) -> str:
        mention = f"@{self.bot.name}"
        stripped = text.strip()
        if self.bot.name and stripped.lower().startswith(mention.lower()):
            return stripped[len(mention) :].strip()
        return stripped

    def _handle_stranger(self, sender: _Sender, command: ChatCommand | None, event_id: str) -> None:
        is_code = command is not None and command.name in _BIND_COMMANDS and command.argument
        if command is not None and is_code:
            if self.bindings.bind_user(command.argument, sender.user_id, sender.name):
                bound = CommandReply(f"Welcome, {sender.name}. /help lists what you can do.")
                self._reply(sender.chat_id, event_id, bound)
                logger.info("Telegram: %s (%s) is bound", sender.name, sender.user_id)
                return
            logger.warning("Telegram: %s sent a wrong code", sender.user_id)
        if sender.is_private and self.bindings.note_stranger(sender.user_id):
            self._reply(sender.chat_id, event_id, CommandReply(STRANGER_LINE))

    def _run_command(self, command: ChatCommand, sender: _Sender, event_id: str) -> None:
        caller = CommandCaller(sender.chat_id, sender.actor, event_id)
        if command.name == "bind":
            self._reply(sender.chat_id, event_id, CommandReply("You are bound already."))
            return

        def run() -> None:
            self._reply(sender.chat_id, event_id, self.commands.run(command, caller))
            self.on_binding_changed()

        if command.is_slow:
            name = f"telegram:{command.name}"
            threading.Thread(target=run, name=name, daemon=True).start()
        else:
            run()

    def _send_to_agent(self, text: str, sender: _Sender, event_id: str) -> None:
        session = self.commands.get_session(sender.chat_id)
        if session is None:
            self._reply(sender.chat_id, event_id, self.commands.describe_unbound())
            return
        # The chat shows its own messages already; those of other devices are repeated there.
        new = NewMessage(text, sender.actor, f"{sender.chat_id}:{event_id}")
        try:
            self.sessions.send_message(session.id, new)
        except KernelError as error:
            failed = CommandReply(f"Your message did not reach the agent: {error}")
            self._reply(sender.chat_id, event_id, failed)
            return
        if session.is_thinking:
            queued = CommandReply(
                "Queued: the agent takes it when it is done. /stop ends its turn."
            )
            self._reply(sender.chat_id, event_id, queued)

    def _handle_query(self, query: dict[str, Any], event_id: str) -> None:
        message = query.get("message")
        if message is None:  # too old for Telegram to tell
            self._answer(query, "This button is too old.")
            return
        sender = _parse_sender(query["from"], message["chat"])
        if not self.bindings.is_bound(sender.user_id):
            self._answer(query, "Only bound users may decide.")
            return
        meaning = self.buttons.find(sender.chat_id, str(query.get("data", "")))
        if meaning is None:
            self._answer(query, "This button is too old.")
        elif isinstance(meaning, CommandButton):
            self._answer(query, "")
            command = parse_command(meaning.command)
            if command is not None:
                self._run_command(command, sender, event_id)
        else:
            try:
                outcome = press_button(self.sessions, meaning, sender.actor)
            except KernelError as error:
                self._answer(query, f"Too late: {error}", is_alert=True)
                return
            text = describe_decision(outcome.permission)
            late = f"Too late. {text}" if outcome.is_late else text
            self._answer(query, late, is_alert=outcome.is_late)
            self.on_decision(sender.chat_id, meaning.session_id, outcome.permission)

    def _answer(self, query: dict[str, Any], text: str, *, is_alert: bool = False) -> None:
        try:
            self.api.answer_callback(query["id"], text, is_alert=is_alert)
        except NetworkError as error:  # the decision counts, whether or not it is seen
            logger.info("Telegram: a button could not be answered: %s", error)

    def _reply(self, chat_id: str, event_id: str, reply: CommandReply) -> None:
        buttons = tuple(
            PageButton(it.label, self.buttons.register(chat_id, CommandButton(it.command)))
            for it in reply.choices
        )
        pages = render_reply(reply, buttons)
        self.messages.put(chat_id, f"reply:{event_id}", pages, is_final=True)


def _parse_sender(user: dict[str, Any] | None, chat: dict[str, Any]) -> _Sender:
    person = user or {}
    names = [person.get("first_name", ""), person.get("last_name", "")]
    name = " ".join(filter(None, names)) or str(person.get("username", ""))
    # Who writes in the name of a group or a channel is nobody in particular.
    user_id = "" if person.get("is_bot") else str(person.get("id", ""))
    return _Sender(user_id, str(chat["id"]), name, chat.get("type") == "private")
