"""Which cards a chat has for a session, and what is to be sent or updated next.

``plan_cards`` says what should be shown; ``CardSync`` compares it with what was sent and does one
request after the other: new cards in order, updates at most three a second and card, and the last
state always.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from codekernel.adapters.chat.bindings import ChatButtons
from codekernel.adapters.chat.permissions import describe_decision, list_choices
from codekernel.adapters.chat.session_feed import FeedState, get_folder_name
from codekernel.adapters.chat.turns import ChatTurn, format_arguments, get_request_text
from codekernel.adapters.lark.api import CARD_CODES, GONE_CODES, LarkApi, LarkRefused, dump_json
from codekernel.adapters.lark.card_markdown import (
    escape_tags,
    format_code_block,
    format_inline_code,
    truncate_middle,
)
from codekernel.adapters.lark.cards import (
    BUTTON_KEY,
    Card,
    TurnContent,
    TurnState,
    build_card,
    make_button,
    make_markdown,
    make_plain_card,
    render_turn,
)
from codekernel.adapters.lark.store import LarkStore, SentCard
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    Device,
    PermissionStatus,
    SessionPermission,
)
from codekernel.masking.masker import mask_secrets

# Three a second; the platform allows five, also of new messages in a chat.
MIN_INTERVAL_SECONDS = 1 / 3

MAX_ARGUMENT_BYTES = 6_000

# A client makes no sound for an update: after so long, a short message says that it is done.
MIN_NOTICE_SECONDS = 30.0

_TURN_PREFIX, _PERMISSION_PREFIX, _NOTICE_PREFIX = "turn", "permission", "notice"

# Message ids of cards that are gone: recalled, too old, or their chat is.
_GONE = "gone"

# The digest of a card of which it is not known what it shows.
_UNKNOWN_DIGEST = ""


@dataclass(frozen=True)
class PlannedCard:
    """A card that should be there; ``turn`` is the first number of its turn, 0 for none."""

    name: str
    card: Card
    turn: int = 0
    is_final: bool = False

    @cached_property
    def digest(self) -> str:
        """What the card shows, in short."""
        return hashlib.sha256(dump_json(self.card).encode()).hexdigest()


def plan_cards(
    state: FeedState, chat_id: str, buttons: ChatButtons, known: Sequence[str], *, notices: bool
) -> list[PlannedCard]:
    """Return the cards that a chat should have now, in order.

    ``known`` are the names of those that it has; with ``notices`` nothing of the content is shown.
    """
    planned: list[PlannedCard] = []
    # First what somebody waits for: a long answer before it may take many cards.
    for permission in state.permissions:
        name = f"{_PERMISSION_PREFIX}:{permission.id}"
        is_open = permission.status is PermissionStatus.PENDING
        if is_open or name in known:
            card = render_permission(state.record, permission, chat_id, buttons, notices=notices)
            planned.append(PlannedCard(name, card, is_final=not is_open))
    for turn in state.turns:
        if not notices:
            planned += _plan_turn(turn, state, known)
        if notices or _is_long_update(turn, known):
            planned += _plan_notice(turn, state)
    return planned + _plan_forgotten(state, known)


def _plan_forgotten(state: FeedState, known: Sequence[str]) -> list[PlannedCard]:
    """Return cards that stand for nothing any more: they have no buttons and do not run."""
    there = {f"{_PERMISSION_PREFIX}:{each.id}" for each in state.permissions}
    there |= {name for name in known if _get_turn(name) in {each.first_seq for each in state.turns}}
    words = "Not needed any more"
    title = name_session(state.record, notices=True)
    card = build_card(title, words, "grey", [make_markdown(words)])
    return [PlannedCard(name, card, is_final=True) for name in known if name not in there]


def _plan_turn(turn: ChatTurn, state: FeedState, known: Sequence[str]) -> Iterator[PlannedCard]:
    cards = render_turn(_build_content(turn, state))
    for number, card in enumerate(cards, 1):
        name = f"{_TURN_PREFIX}:{turn.first_seq}:{number}"
        yield PlannedCard(name, card, turn.first_seq, turn.is_finished)
    # What a message has grown to may be longer than what it is at its end.
    number = len(cards) + 1
    while (name := f"{_TURN_PREFIX}:{turn.first_seq}:{number}") in known:
        card = build_card(name_session(state.record), "See above", "grey", [make_markdown("…")])
        yield PlannedCard(name, card, turn.first_seq, turn.is_finished)
        number += 1


def _is_long_update(turn: ChatTurn, known: Sequence[str]) -> bool:
    """Return whether a turn ends long after its card was sent, of which nothing is heard."""
    is_update = f"{_TURN_PREFIX}:{turn.first_seq}:1" in known
    return is_update and turn.seconds >= MIN_NOTICE_SECONDS


def _plan_notice(turn: ChatTurn, state: FeedState) -> Iterator[PlannedCard]:
    if turn.is_finished:
        content = _build_content(turn, state)
        words = f"{content.state.words} · {content.seconds} s"
        title = name_session(state.record, notices=True)
        card = build_card(title, words, content.state.template, [make_markdown(words)])
        name = f"{_NOTICE_PREFIX}:{turn.first_seq}"
        yield PlannedCard(name, card, turn.first_seq, is_final=True)


def _build_content(turn: ChatTurn, state: FeedState) -> TurnContent:
    request = turn.request
    is_foreign = request is not None and request.actor.device != Device.LARK
    prompt = get_request_text(request.message) if request is not None and is_foreign else ""
    if not turn.is_finished:
        waits = bool(state.record.pending_permissions)
        turn_state = TurnState.WAITING if waits else TurnState.RUNNING
        return TurnContent(name_session(state.record), turn.steps, turn_state, prompt)
    turn_state = TurnState.FAILED if turn.is_failed else TurnState.DONE
    seconds = round(turn.seconds)
    return TurnContent(name_session(state.record), turn.steps, turn_state, prompt, seconds)


def name_session(record: AgentSessionRecord, *, notices: bool = False) -> str:
    """Return what a card calls a session; with ``notices`` not its name, which a message gave."""
    if notices or not record.name:
        return get_folder_name(record.folder)
    return mask_secrets(record.name).text


def render_permission(
    record: AgentSessionRecord,
    permission: SessionPermission,
    chat_id: str,
    buttons: ChatButtons,
    *,
    notices: bool,
) -> Card:
    """Return the card of a permission: with buttons while it waits, else with who decided."""
    title = name_session(record, notices=notices)
    elements = [make_markdown(f"**{format_inline_code(permission.tool[:80])}**")]
    if permission.danger:
        elements.append(make_markdown(escape_tags(permission.danger[:200])))
    arguments = format_arguments(permission.arguments)
    if arguments and not notices:
        short = truncate_middle(arguments, MAX_ARGUMENT_BYTES)
        elements.append(make_markdown(format_code_block(short, "yaml")))
    if permission.status is not PermissionStatus.PENDING:
        decision = describe_decision(permission)
        elements.append(make_markdown(escape_tags(decision)))
        is_allowed = permission.status is PermissionStatus.APPROVED
        is_denied = permission.status is PermissionStatus.DENIED
        template = "green" if is_allowed else "red" if is_denied else "grey"
        return build_card(title, decision[:100], template, elements)
    for choice in list_choices(record.id, permission):
        value = {BUTTON_KEY: buttons.register(chat_id, choice.button)}
        kind = "primary" if choice.button.is_allowed else "danger"
        elements.append(make_button(choice.label, value, kind))
    return build_card(title, "The agent asks for your permission", "orange", elements)


class CardSync:
    """The cards of one session in one chat; used by one thread."""

    def __init__(
        self,
        api: LarkApi,
        store: LarkStore,
        chat_id: str,
        session_id: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._store = store
        self._place = (chat_id, session_id)
        self._clock = clock
        self._sent = store.list_cards(chat_id, session_id)
        self._changed_at: dict[str, float] = {}

    @property
    def names(self) -> Sequence[str]:
        """The names of the cards that are there."""
        return tuple(self._sent)

    def is_sent(self, name: str) -> bool:
        """Return whether a card has a message."""
        known = self._sent.get(name)
        return known is not None and known.message_id != ""

    def find_work(self, planned: Sequence[PlannedCard]) -> tuple[PlannedCard | None, float | None]:
        """Return the card to send or update now, and if there is none when the next one is due.

        New cards go first and in order, so that what moves to a later card is never nowhere.
        """
        for each in planned:
            if not self.is_sent(each.name):
                return each, None
        due_at: list[float] = []
        for each in reversed(planned):
            if self._is_shown(each):
                continue
            allowed_at = self._changed_at.get(each.name, 0.0) + MIN_INTERVAL_SECONDS
            if allowed_at <= self._clock():
                return each, None
            due_at.append(allowed_at)
        return None, min(due_at, default=None)

    def put(self, planned: PlannedCard) -> None:
        """Send or update one card. Raises NetworkError.

        A card that the platform refuses is replaced by its plain text.
        """
        known = self._sent.get(planned.name)
        if known is None or not known.message_id:
            known = self._note_intent(planned, known)
        self._changed_at[planned.name] = self._clock()
        try:
            message_id = self._put_card(planned.name, known, planned.card)
        except LarkRefused as error:
            if error.lark_code not in CARD_CODES:
                raise
            message_id = self._put_card(planned.name, known, make_plain_card(planned.card))
        is_certain = bool(known.message_id) or known.digest == planned.digest
        digest = planned.digest if is_certain else _UNKNOWN_DIGEST
        self._save(planned.name, SentCard(message_id, digest))

    def _note_intent(self, planned: PlannedCard, earlier: SentCard | None) -> SentCard:
        """Record what a first request shows, and that an earlier one may have shown otherwise.

        The platform may have taken a request whose answer was lost; it then takes no other content
        under the same unique id.
        """
        is_same = earlier is None or earlier.digest == planned.digest
        intent = SentCard("", planned.digest if is_same else _UNKNOWN_DIGEST)
        self._save(planned.name, intent)
        return intent

    def _save(self, name: str, card: SentCard) -> None:
        self._sent[name] = card
        self._store.save_card(*self._place, name, card)

    def _put_card(self, name: str, known: SentCard, card: Card) -> str:
        if not known.message_id:
            chat_id, session_id = self._place
            return self._api.send_card(chat_id, card, make_unique_id(chat_id, session_id, name))
        if known.message_id != _GONE:
            try:
                self._api.update_card(known.message_id, card)
            except LarkRefused as error:
                if error.lark_code not in GONE_CODES:
                    raise
                return _GONE
        return known.message_id

    def finish(
        self, planned: Sequence[PlannedCard], forget_shown: Callable[[list[int]], int]
    ) -> None:
        """Forget the cards that show their last state; called when there is nothing to do."""
        shown = {each.name for each in planned if each.is_final and self._is_shown(each)}
        if not shown:
            return
        unfinished = {each.turn for each in planned if each.name not in shown}
        finished = {each.turn for each in planned} - unfinished - {0}
        shown_seq = forget_shown(sorted(finished))
        done = [name for name in self._sent if _is_done(name, shown, shown_seq)]
        self._store.finish_cards(*self._place, shown_seq, done)
        for name in done:
            del self._sent[name]
            self._changed_at.pop(name, None)

    def _is_shown(self, planned: PlannedCard) -> bool:
        return self.is_sent(planned.name) and self._sent[planned.name].digest == planned.digest


def _is_done(name: str, shown: Collection[str], shown_seq: int) -> bool:
    """Return whether a card will not change any more: its turn is not in the feed."""
    kind = name.partition(":")[0]
    return name in shown if kind == _PERMISSION_PREFIX else _get_turn(name) <= shown_seq


def _get_turn(name: str) -> int:
    """Return the first number of a card's turn; 0 for a card of a permission."""
    kind, first_seq, *_ = name.split(":")
    return 0 if kind == _PERMISSION_PREFIX else int(first_seq)


def make_unique_id(*words: str) -> str:
    """Return an id of at most 50 characters, by which the platform sends a message once."""
    return hashlib.sha256("\0".join(words).encode(errors="replace")).hexdigest()[:48]
