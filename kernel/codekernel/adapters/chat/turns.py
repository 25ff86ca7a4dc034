"""Messages of a session as turns, and a turn as steps: thoughts, texts, and tools with results.

Everything in a step is masked: it may leave the machine.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from codekernel.domain import chat
from codekernel.domain.agent_sessions import AgentSessionRecord, SessionMessage
from codekernel.domain.chat import AgentMessage
from codekernel.masking.masker import mask_secrets

# Of a tool's arguments, which may hold a whole file; platforms show less.
MAX_ARGUMENT_CHARS = 8_000

# Beyond a cut, so that half a secret is recognised; the longest of them are keys in PEM.
_MASK_MARGIN_CHARS = 4_000


class StepStatus(StrEnum):
    """How far a tool is; STOPPED has no result, and its turn has ended."""

    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ThoughtStep:
    """What the agent thinks to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class TextStep:
    """What the agent says, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A tool and what came of it; ``arguments`` has a line ``name: value`` for each."""

    id: str
    name: str
    arguments: str
    status: StepStatus = StepStatus.RUNNING
    output: str = ""
    diff: str = ""
    seconds: float = 0.0


TurnStep = ThoughtStep | TextStep | ToolStep

_StepPart = TurnStep | chat.ToolResultContent


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What the agent did for one message of a user, who may be on another device.

    ``request`` is None where it was before what is known.
    """

    first_seq: int
    request: SessionMessage | None
    steps: tuple[TurnStep, ...]
    is_finished: bool
    is_failed: bool = False
    seconds: float = 0.0
    # Of its first message; the numbers change when a message before it is taken back.
    id: str = ""


def get_request_text(message: AgentMessage) -> str:
    """Return what a user said, masked; empty for a message that is not a user's."""
    if message.role != chat.ROLE_USER:
        return ""
    texts = [block.text for block in message.content if isinstance(block, chat.TextContent)]
    return mask_secrets("\n".join(texts)).text


class TurnWindow:
    """The messages of a session after a number, as turns; used by one thread at a time."""

    def __init__(self, session_id: str, shown_seq: int) -> None:
        self.session_id = session_id
        self.shown_seq = shown_seq
        # Of what was read; numbers that are missing before it are of messages that were taken back.
        self.last_seq = shown_seq
        self._known: dict[int, _KnownMessage] = {}
        self._growing: dict[str, tuple[_StepPart, ...]] = {}

    def put(self, messages: Iterable[SessionMessage]) -> None:
        """Add messages that follow the last one, or replace older states of them."""
        for message in messages:
            self._growing.pop(_get_growing_id(message.message), None)
            known = self._known.get(message.seq)
            # An event may be older than what was read: a message does not wait again.
            is_older = known is not None and known.is_taken and message.invoked_at is None
            if message.seq > self.shown_seq and not is_older:
                self._known[message.seq] = _KnownMessage(message)
                self.last_seq = max(self.last_seq, message.seq)

    def remove(self, local_ids: Collection[str]) -> None:
        """Forget messages that were taken back."""
        taken = [seq for seq, it in self._known.items() if it.message.local_id in local_ids]
        for seq in taken:
            del self._known[seq]

    def put_growing(self, message: AgentMessage) -> None:
        """Show a message that is not complete: its whole lines, since half a secret is none yet."""
        whole = tuple(map(_cut_to_whole_lines, message.content))
        parts = _make_parts(replace(message, content=whole))
        self._growing[_get_growing_id(message)] = parts

    def list_turns(self, record: AgentSessionRecord) -> list[ChatTurn]:
        """Return the turns, the oldest first; messages that wait for the agent are in none."""
        # The record may be older or newer than the messages; then the last turn is not judged yet.
        queued_count = sum(each.is_queued for each in self._known.values())
        is_same = (record.last_seq, record.queued_count) == (self.last_seq, queued_count)
        is_idle = not record.is_thinking and is_same
        if is_idle:
            self._growing.clear()
        turns: list[ChatTurn] = []
        groups = self._group()
        for place, group in enumerate(groups):
            is_last = place == len(groups) - 1
            is_finished = not is_last or is_idle
            parts = [part for each in group for part in each.parts]
            if is_last:
                parts += [part for grown in self._growing.values() for part in grown]
            request = group[0].message if group[0].begins_turn else None
            steps = _add_seconds(_fold_parts(parts, is_finished=is_finished), group)
            is_failed = any(each.message.message.meta.get("is_error") for each in group)
            seconds = (group[-1].message.created_at - group[0].position[0]) / 1000
            first = group[0].message
            turns.append(
                ChatTurn(
                    first.seq,
                    request,
                    steps,
                    is_finished,
                    is_failed,
                    max(seconds, 0.0),
                    first.id,
                )
            )
        return turns

    def forget_shown(self, finished: Iterable[int]) -> int:
        """Forget the messages before which everything is shown; return the last one's number.

        ``finished`` are the first numbers of the turns that were shown to their end. A message that
        waits is not shown, nor one in the middle of a turn forgotten.
        """
        shown = set(finished)
        turn_by_seq: dict[int, int] = {}
        last_by_turn: dict[int, int] = {}
        for group in self._group():
            first = _get_first_seq(group)
            turn_by_seq.update((each.message.seq, first) for each in group)
            last_by_turn[first] = max(each.message.seq for each in group)
        open_until = 0
        for seq in sorted(self._known):
            turn = turn_by_seq.get(seq, -1)
            if turn not in shown:
                break
            open_until = max(open_until, last_by_turn[turn])
            if seq >= open_until:
                self.shown_seq = seq
        self._known = {seq: it for seq, it in self._known.items() if seq > self.shown_seq}
        return self.shown_seq

    def _group(self) -> list[list["_KnownMessage"]]:
        """Return the messages of each turn, in the order in which the agent saw them."""
        seen = [each for each in self._known.values() if not each.is_queued]
        groups: list[list[_KnownMessage]] = []
        for known in sorted(seen, key=lambda each: each.position):
            if known.begins_turn or not groups:
                groups.append([])
            groups[-1].append(known)
        return groups


@dataclass(slots=True)
class _KnownMessage:
    """A message and its parts, which are masked once."""

    message: SessionMessage
    begins_turn: bool = field(init=False)
    parts: tuple[_StepPart, ...] = field(init=False)

    def __post_init__(self) -> None:
        content = self.message.message
        is_text = any(isinstance(block, chat.TextContent) for block in content.content)
        self.begins_turn = content.role == chat.ROLE_USER and is_text
        self.parts = () if self.begins_turn else _make_parts(content)

    @property
    def is_queued(self) -> bool:
        return self.begins_turn and self.message.invoked_at is None

    @property
    def is_taken(self) -> bool:
        return self.message.invoked_at is not None

    @property
    def position(self) -> tuple[int, int]:
        """A message that has waited comes after what the agent said meanwhile."""
        invoked_at = self.message.invoked_at if self.begins_turn else None
        return (invoked_at or self.message.created_at, self.message.seq)


def _get_first_seq(group: Sequence[_KnownMessage]) -> int:
    return group[0].message.seq


def _get_growing_id(message: AgentMessage) -> str:
    return str(message.meta.get("id", ""))


def _make_parts(message: AgentMessage) -> tuple[_StepPart, ...]:
    parts: list[_StepPart] = []
    for block in message.content:
        match block:
            case chat.TextContent() if block.text.strip():
                parts.append(TextStep(mask_secrets(block.text).text))
            case chat.ThinkingContent() if block.thinking.strip():
                parts.append(ThoughtStep(mask_secrets(block.thinking).text))
            case chat.ToolUseContent():
                parts.append(ToolStep(block.id, block.name, format_arguments(block.input)))
            case chat.ToolResultContent():
                text, diff = mask_secrets(block.text).text, mask_secrets(block.diff).text
                parts.append(replace(block, content=text, diff=diff))
            case _:
                pass
    return tuple(parts)


def format_arguments(arguments: Mapping[str, Any]) -> str:
    """Return a line for each argument, masked and not too long."""
    lines = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
    ]
    text = "\n".join(lines)
    masked = mask_secrets(text[: MAX_ARGUMENT_CHARS + _MASK_MARGIN_CHARS]).text
    return masked if len(masked) <= MAX_ARGUMENT_CHARS else f"{masked[:MAX_ARGUMENT_CHARS]}…"


def _fold_parts(parts: Iterable[_StepPart], *, is_finished: bool) -> tuple[TurnStep, ...]:
    """Give each tool its result; one without a result has stopped with its turn."""
    steps: list[TurnStep] = []
    places: dict[str, int] = {}
    for part in parts:
        if isinstance(part, chat.ToolResultContent):
            _finish_tool(steps, places, part)
        elif isinstance(part, ToolStep) and part.id in places:
            # The complete state of a call that has grown.
            steps[places[part.id]] = part
        else:
            if isinstance(part, ToolStep):
                places[part.id] = len(steps)
            steps.append(part)
    if is_finished:
        steps = [_stop_step(step) for step in steps]
    return tuple(steps)


def _add_seconds(steps: Iterable[TurnStep], group: Iterable[_KnownMessage]) -> tuple[TurnStep, ...]:
    """Say of each tool how long it took, by the times of its messages."""
    began: dict[str, int] = {}
    took: dict[str, float] = {}
    for known in group:
        now = known.message.created_at
        for part in known.parts:
            if isinstance(part, ToolStep):
                began.setdefault(part.id, now)
            elif isinstance(part, chat.ToolResultContent) and part.tool_use_id in began:
                took[part.tool_use_id] = max(now - began[part.tool_use_id], 0) / 1000
    return tuple(
        replace(step, seconds=took[step.id])
        if isinstance(step, ToolStep) and step.id in took
        else step
        for step in steps
    )


def _finish_tool(
    steps: list[TurnStep], places: Mapping[str, int], result: chat.ToolResultContent
) -> None:
    place = places.get(result.tool_use_id)
    step = steps[place] if place is not None else None
    if place is None or not isinstance(step, ToolStep):
        return
    status = StepStatus.ERROR if result.is_error else StepStatus.SUCCESS
    steps[place] = replace(step, status=status, output=result.text, diff=result.diff)


def _stop_step(step: TurnStep) -> TurnStep:
    if isinstance(step, ToolStep) and step.status is StepStatus.RUNNING:
        return replace(step, status=StepStatus.STOPPED)
    return step


def _cut_to_whole_lines(block: chat.ContentBlock) -> chat.ContentBlock:
    match block:
        case chat.TextContent():
            return replace(block, text=_cut_last_line(block.text))
        case chat.ThinkingContent():
            return replace(block, thinking=_cut_last_line(block.thinking))
        case chat.ToolUseContent():
            return replace(block, input={})  # its JSON is half a text
        case _:
            return block


def _cut_last_line(text: str) -> str:
    return text[: text.rfind("\n") + 1]
