"""Keeps each chat in step with the session that it follows: turns and permissions as messages."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings, ChatButtons
from codekernel.adapters.chat.commands import is_notices_only
from codekernel.adapters.chat.permissions import list_choices
from codekernel.adapters.chat.session_feed import FeedState, RateLimit, SessionFeed, get_folder_name
from codekernel.adapters.chat.turns import ChatTurn
from codekernel.adapters.telegram.rendering import (
    Page,
    PageButton,
    TextPage,
    make_text_pages,
    render_notice,
    render_permission,
    render_turn,
)
from codekernel.adapters.telegram.rich_text import TextSpan
from codekernel.adapters.telegram.turn_messages import GROUP_LIMIT, PRIVATE_LIMIT, TurnMessages
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    AgentSessions,
    PermissionStatus,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.settings import DEFAULT_TELEGRAM_API_BASE
from codekernel.errors import KernelError, SessionNotFound

logger = logging.getLogger(__name__)

# After the kernel could not be asked.
RELOAD_INTERVAL_SECONDS = 5.0

_TURN_PREFIX, _PERMISSION_PREFIX = "turn:", "permission:"


@dataclass(frozen=True, slots=True)
class TelegramOptions:
    """The settings of Telegram; ``limits`` are of a person and of a group."""

    token: str
    api_base: str = DEFAULT_TELEGRAM_API_BASE
    notices_only: bool = False
    limits: tuple[RateLimit, RateLimit] = (PRIVATE_LIMIT, GROUP_LIMIT)


@dataclass(slots=True)
class _FollowedChat:
    feed: SessionFeed
    render_at: float = 0.0
    is_dirty: bool = True
    needs_load: bool = True
    # What was put last; a turn that has not changed is not put again.
    shown: dict[str, tuple[Sequence[Page], bool]] = field(default_factory=dict)
    turn_seqs: dict[str, int] = field(default_factory=dict)


class FollowedChats:
    """All chats that follow a session; used by one thread."""

    def __init__(
        self,
        sessions: AgentSessions,
        bindings: ChatBindings,
        buttons: ChatButtons,
        messages: TurnMessages,
        options: TelegramOptions,
    ) -> None:
        self._sessions = sessions
        self._bindings = bindings
        self._buttons = buttons
        self._messages = messages
        self._notices_only = options.notices_only
        # A message that grows is edited so often, and rendering it more often is in vain.
        self._interval_seconds = options.limits[0].interval_seconds
        self._chats: dict[str, _FollowedChat] = {}

    def refresh_bindings(self) -> None:
        """Follow what the chats are bound to now."""
        bound = {it.chat_id: it for it in self._bindings.list_chats() if it.session_id}
        for chat_id in [it for it in self._chats if it not in bound]:
            self._leave(chat_id)
        for chat_id, binding in bound.items():
            followed = self._chats.get(chat_id)
            if followed is not None and followed.feed.session_id != binding.session_id:
                self._leave(chat_id)
            if chat_id not in self._chats:
                feed = SessionFeed(self._sessions, binding.session_id, binding.shown_seq)
                self._chats[chat_id] = _FollowedChat(feed)

    def apply(self, event: SyncEvent) -> None:
        """Take in an event of a session."""
        for chat_id, chat in list(self._chats.items()):
            if chat.feed.session_id != event.session_id:
                continue
            if event.kind is SyncEventKind.SESSION_REMOVED:
                self._say_removed(chat_id, event.session_id)
            else:
                self._try(chat_id, chat, partial(chat.feed.apply, event))
                chat.is_dirty = True

    def show(self) -> float | None:
        """Put what has changed; return in how many seconds there is more to do."""
        waits = [self._show_chat(chat_id, chat) for chat_id, chat in list(self._chats.items())]
        return min((wait for wait in waits if wait is not None), default=None)

    def note_delivered(self, chat_id: str, key: str) -> None:
        """Forget what is shown to its end; the next start begins after it."""
        chat = self._chats.get(chat_id)
        if not key.startswith(_TURN_PREFIX) or chat is None:
            self._messages.finish(chat_id, key)
            return
        chat.render_at = min(chat.render_at, time.monotonic())
        self._show_chat(chat_id, chat)
        self._forget_shown(chat_id, chat, key)

    def drop(self, chat_id: str) -> None:
        """Stop following in a chat that cannot be written to."""
        self._chats.pop(chat_id, None)
        self._bindings.save_chat(replace(self._bindings.get_chat(chat_id), session_id=""))

    def show_decision(self, chat_id: str, session_id: str, permission: SessionPermission) -> None:
        """Show in a chat who has decided a permission, also long after."""
        try:
            record = self._sessions.get_session(session_id)
        except KernelError:
            return
        self._put_permission(self._bindings.get_chat(chat_id), record, permission)

    def _forget_shown(self, chat_id: str, chat: _FollowedChat, key: str = "") -> None:
        """Forget the turns that are delivered, unless there may be more of them to show."""
        if chat.needs_load or chat.is_dirty:
            return
        done = {it for it in chat.turn_seqs if self._messages.is_delivered(chat_id, it)}
        before = chat.feed.shown_seq
        shown_seq = chat.feed.forget_shown([chat.turn_seqs[it] for it in done])
        if shown_seq != before:
            self._bindings.save_position(chat_id, chat.feed.session_id, shown_seq)
        state = chat.feed.read_state()
        left = {_name_turn(turn) for turn in state.turns} if state else set()
        for name in done.union([key] if key else []) - left:
            self._messages.finish(chat_id, name)
            chat.shown.pop(name, None)

    def _leave(self, chat_id: str) -> None:
        """Leave what was shown of a session as it is."""
        del self._chats[chat_id]
        for key in self._messages.list_open(chat_id):
            if key.startswith(_TURN_PREFIX):
                self._messages.finish(chat_id, key)

    def _show_chat(self, chat_id: str, chat: _FollowedChat) -> float | None:
        now = time.monotonic()
        if chat.needs_load and now >= chat.render_at:
            chat.needs_load = False
            self._try(chat_id, chat, chat.feed.load)
            chat.is_dirty = True
        if not chat.is_dirty and not chat.needs_load:
            return None
        if now < chat.render_at:
            return chat.render_at - now
        state = chat.feed.read_state()
        if state is None or self._chats.get(chat_id) is not chat:
            return None
        chat.is_dirty = False
        chat.render_at = now + self._interval_seconds
        self._put_state(chat_id, chat, state)
        self._forget_shown(chat_id, chat)
        return None

    def _try(self, chat_id: str, chat: _FollowedChat, work: Callable[[], None]) -> None:
        try:
            work()
        except SessionNotFound:
            self._say_removed(chat_id, chat.feed.session_id)
        except KernelError as error:
            logger.warning("Telegram: a session cannot be read: %s", error)
            chat.needs_load = True
            chat.render_at = time.monotonic() + RELOAD_INTERVAL_SECONDS

    def _say_removed(self, chat_id: str, session_id: str) -> None:
        self.drop(chat_id)
        pages = make_text_pages([TextSpan("The session of this chat was deleted: /sessions")])
        self._messages.put(chat_id, f"removed:{session_id}", pages, is_final=True)

    def _put_state(self, chat_id: str, chat: _FollowedChat, state: FeedState) -> None:
        binding = self._bindings.get_chat(chat_id)
        chat.turn_seqs = {_name_turn(turn): turn.first_seq for turn in state.turns}
        for turn in state.turns:
            shown = self._render_turn(binding, state.record, turn), turn.is_finished
            key = _name_turn(turn)
            if chat.shown.get(key) != shown:
                chat.shown[key] = shown
                self._messages.put(chat_id, key, shown[0], is_final=turn.is_finished)
        self._put_permissions(binding, state.record)

    def _render_turn(
        self, binding: ChatBinding, record: AgentSessionRecord, turn: ChatTurn
    ) -> Sequence[Page]:
        if is_notices_only(binding, default=self._notices_only):
            return render_notice(turn, name_session(record))
        local_id = turn.request.local_id if turn.request else ""
        return render_turn(turn, shows_request=not local_id.startswith(f"{binding.chat_id}:"))

    def _put_permissions(self, binding: ChatBinding, record: AgentSessionRecord) -> None:
        opened = self._messages.list_open(binding.chat_id)
        for permission in record.permissions:
            is_pending = permission.status is PermissionStatus.PENDING
            if is_pending or _name_permission(permission) in opened:
                self._put_permission(binding, record, permission)
        known = set(map(_name_permission, record.permissions))
        for key, pages in opened.items():
            if key.startswith(_PERMISSION_PREFIX) and key not in known:
                # The next turn has begun, and the session no longer says who has decided.
                left = [replace(it, buttons=()) for it in pages if isinstance(it, TextPage)]
                self._messages.put(binding.chat_id, key, left, is_final=True)

    def _put_permission(
        self, binding: ChatBinding, record: AgentSessionRecord, permission: SessionPermission
    ) -> None:
        choices = list_choices(record.id, permission)
        buttons = tuple(
            PageButton(it.label, self._buttons.register(binding.chat_id, it.button))
            for it in choices
        )
        page = render_permission(
            permission,
            name_session(record),
            buttons,
            is_notice=is_notices_only(binding, default=self._notices_only),
        )
        key = _name_permission(permission)
        is_decided = permission.status is not PermissionStatus.PENDING
        self._messages.put(binding.chat_id, key, [page], is_final=is_decided)


def name_session(record: AgentSessionRecord) -> str:
    """Return what a session is called in a message."""
    return record.name or get_folder_name(record.folder)


def _name_turn(turn: ChatTurn) -> str:
    return f"{_TURN_PREFIX}{turn.id}"


def _name_permission(permission: SessionPermission) -> str:
    # An agent may use its ids again.
    return f"{_PERMISSION_PREFIX}{permission.id}:{permission.created_at}"
