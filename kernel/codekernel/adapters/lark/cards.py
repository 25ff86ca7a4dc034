"""Steps of one turn as cards: JSON 2.0, each within the platform's limits. Pure functions.

The last card of a turn has the turn's state; what does not fit goes on in the next card.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from codekernel.adapters.chat.turns import (
    ChatTurn,
    StepStatus,
    TextStep,
    ThoughtStep,
    ToolStep,
    TurnStep,
    get_request_text,
)
from codekernel.adapters.lark.card_markdown import (
    count_tables,
    escape_tags,
    format_code_block,
    format_inline_code,
    make_encodable,
    measure_element,
    measure_text,
    take_piece,
    truncate_middle,
)

Card = dict[str, Any]

# Of what a button calls back with: the id that stands for its meaning.
BUTTON_KEY = "button"

# The platform refuses requests of more than 30 KB (230025).
MAX_REQUEST_BYTES = 28 * 1024

# Of the request around the elements: ids, header, summary. The largest has 1,100 bytes.
FRAME_RESERVE_BYTES = 1536

# Of 200 that the platform allows; elements are counted here as everything that has a tag.
MAX_CARD_ELEMENTS = 180

# The platform documents four per text, and refuses more than five in a card (11310).
MAX_CARD_TABLES = 3

# A smaller end of a card is left empty: a text is not cut for two lines.
MIN_PIECE_BYTES = 400

MAX_TITLE_CHARS = 80

MAX_PREVIEW_CHARS = 80

# Arguments among which the telling one is looked for.
MAX_PREVIEW_LINES = 20

MAX_INPUT_BYTES = 2_000

MAX_RESULT_BYTES = 5_000

MAX_DIFF_BYTES = 9_000

MAX_THINKING_BYTES = 6_000

MAX_PROMPT_BYTES = 2_000

# What says most about a call, so that its row shows it.
_TELLING_ARGUMENTS = ("command", "file_path", "path", "query", "pattern", "url", "description")


_TOOL_STATES = {
    StepStatus.RUNNING: ("⏳", "Running"),
    StepStatus.SUCCESS: ("✅", "Success"),
    StepStatus.ERROR: ("❌", "Error"),
    StepStatus.STOPPED: ("⏹", "Stopped"),
}


class TurnState(Enum):
    """How a turn stands; the value is its colour and its words."""

    RUNNING = ("wathet", "Running")
    WAITING = ("orange", "Waits for your answer")
    DONE = ("green", "Done")
    FAILED = ("red", "Failed")

    @property
    def template(self) -> str:
        """The colour of the header."""
        return self.value[0]

    @property
    def words(self) -> str:
        """The state for a person."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class TurnContent:
    """One turn as it is shown; ``prompt`` is given if it was asked on another device."""

    title: str
    steps: tuple[TurnStep, ...]
    state: TurnState
    prompt: str = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class _CardText:
    """A text that may be split between cards."""

    content: str


_CardPart = _CardText | Card


def render_turn(turn: TurnContent) -> list[Card]:
    """Return the cards of a turn, in order; there is at least one."""
    bodies = pack_parts(_list_parts(turn)) or [[]]
    return [
        _build_turn_card(turn, body, number, is_last=number == len(bodies))
        for number, body in enumerate(bodies, 1)
    ]


def render_reply(
    markdown: str, choices: Sequence[tuple[str, str]] = (), turns: Sequence[ChatTurn] = ()
) -> list[Card]:
    """Return the cards of a command's reply: its text, buttons with their ids, turns."""
    buttons = [make_button(label, {BUTTON_KEY: button_id}) for label, button_id in choices]
    bodies = pack_parts([_CardText(escape_tags(markdown)), *buttons]) or [[]]
    cards = [
        build_card(_number_title("codekernel", number), "", "blue", body)
        for number, body in enumerate(bodies, 1)
    ]
    for turn in turns:
        state = TurnState.FAILED if turn.is_failed else TurnState.DONE
        prompt = get_request_text(turn.request.message) if turn.request else ""
        cards += render_turn(TurnContent("History", turn.steps, state, prompt))
    return cards


def build_card(title: str, subtitle: str, template: str, elements: list[Card]) -> Card:
    """Return a card; the summary is what the list of chats shows."""
    header: Card = {"title": _plain(title), "template": template}
    if subtitle:
        header["subtitle"] = _plain(subtitle)
    summary = f"{title}: {subtitle}" if subtitle else title
    return {
        "schema": "2.0",
        "config": {"update_multi": True, "summary": {"content": make_encodable(summary)}},
        "header": header,
        "body": {"elements": elements},
    }


def make_button(text: str, value: Mapping[str, str], kind: str = "default") -> Card:
    """Return a button that calls back with ``value``."""
    return {
        "tag": "button",
        "type": kind,
        "text": _plain(text[:100]),
        "behaviors": [{"type": "callback", "value": dict(value)}],
    }


def make_markdown(content: str) -> Card:
    """Return a text; the caller has escaped it."""
    return {"tag": "markdown", "content": content}


def make_panel(title: Card, elements: list[Card], *, is_open: bool = False) -> Card:
    """Return what is folded until a person opens it."""
    icon = {"tag": "standard_icon", "token": "down-small-ccm_outlined", "size": "16px 16px"}
    return {
        "tag": "collapsible_panel",
        "expanded": is_open,
        "header": {"title": title, "icon": icon, "icon_position": "right"},
        "border": {"color": "grey", "corner_radius": "5px"},
        "padding": "8px 8px 8px 8px",
        "elements": elements,
    }


def count_elements(value: object) -> int:
    """Return how many things of a card have a tag, as the platform counts them."""
    if isinstance(value, dict):
        return ("tag" in value) + sum(count_elements(each) for each in value.values())
    return sum(count_elements(each) for each in value) if isinstance(value, list) else 0


class _CardPacker:
    """Fills one card after the other."""

    def __init__(self) -> None:
        self.bodies: list[list[Card]] = []
        self._open_next()

    def _open_next(self) -> None:
        self._elements: list[Card] = []
        self._bytes_left = MAX_REQUEST_BYTES - FRAME_RESERVE_BYTES
        self._elements_left = MAX_CARD_ELEMENTS
        self._tables_left = MAX_CARD_TABLES

    def close(self) -> None:
        """End the present card."""
        if self._elements:
            self.bodies.append(self._elements)
        self._open_next()

    def add_element(self, element: Card, tables: int = 0) -> None:
        """Add what cannot be split; it is smaller than a card."""
        size, count = measure_element(element), count_elements(element)
        is_full = size > self._bytes_left or count > self._elements_left
        if is_full or tables > self._tables_left:
            self.close()
        self._elements.append(element)
        self._bytes_left -= size
        self._elements_left -= count
        self._tables_left -= tables

    def add_text(self, text: str) -> None:
        """Add a text, split where the card ends."""
        frame = measure_element(make_markdown(""))
        rest = text
        while rest.strip():
            room = self._bytes_left - frame
            if self._elements and room < min(MIN_PIECE_BYTES, measure_text(rest[:room])):
                self.close()
                continue
            piece, rest = take_piece(rest, room, self._tables_left)
            if piece:
                self.add_element(make_markdown(piece), count_tables(piece))
            if rest:
                self.close()


def pack_parts(parts: Iterable[_CardPart]) -> list[list[Card]]:
    """Distribute the parts to as many cards as are needed, in order."""
    packer = _CardPacker()
    for part in parts:
        if isinstance(part, _CardText):
            packer.add_text(part.content)
        else:
            packer.add_element(part)
    packer.close()
    return packer.bodies


def _build_turn_card(turn: TurnContent, body: list[Card], number: int, *, is_last: bool) -> Card:
    title = _number_title(turn.title, number)
    if not is_last:
        return build_card(title, "Continued below", "grey", body)
    words = turn.state.words
    if turn.seconds is not None:
        words = f"{words} · {turn.seconds} s"
    return build_card(title, words, turn.state.template, body)


def _number_title(title: str, number: int) -> str:
    short = " ".join(title.split()) or "codekernel"
    if len(short) > MAX_TITLE_CHARS:
        short = f"{short[:MAX_TITLE_CHARS]}…"
    return short if number == 1 else f"{short} ({number})"


def _list_parts(turn: TurnContent) -> Iterator[_CardPart]:
    if turn.prompt:
        quoted = escape_tags(truncate_middle(turn.prompt, MAX_PROMPT_BYTES))
        yield make_markdown("\n".join(f"> {line}" for line in quoted.split("\n")))
    for step in turn.steps:
        match step:
            case TextStep():
                yield _CardText(escape_tags(step.text))
            case ThoughtStep():
                text = escape_tags(truncate_middle(step.text, MAX_THINKING_BYTES))
                yield make_panel(_plain("Thinking"), [make_markdown(_limit_size(text))])
            case ToolStep():
                yield _render_tool(step)


def _limit_size(text: str) -> str:
    """Return a text that has not become too large by escaping."""
    return truncate_middle(text, 2 * MAX_THINKING_BYTES)


def _render_tool(step: ToolStep) -> Card:
    """Return the row of a call: its state, its name, and folded what it took and gave."""
    sign, words = _TOOL_STATES[step.status]
    if step.status in {StepStatus.SUCCESS, StepStatus.ERROR}:
        words = f"{words} · {step.seconds:.1f} s"
    name = format_inline_code(step.name[:MAX_PREVIEW_CHARS])
    row = " ".join(filter(None, (sign, f"**{name}**", _preview_arguments(step.arguments), words)))
    body = []
    if step.arguments:
        body.append(_make_block("Input", step.arguments, "yaml", MAX_INPUT_BYTES))
    if step.diff:
        body.append(_make_block("Changes", step.diff, "diff", MAX_DIFF_BYTES))
    is_failed = step.status is StepStatus.ERROR
    if step.output.strip():
        label = "Error" if is_failed else "Result"
        body.append(_make_block(label, step.output, "plain_text", MAX_RESULT_BYTES))
    return make_panel(make_markdown(row), body or [make_markdown("…")], is_open=is_failed)


def _preview_arguments(arguments: str) -> str:
    """Return what says most of the lines ``name: value``."""
    values = dict(line.partition(": ")[::2] for line in arguments.split("\n")[:MAX_PREVIEW_LINES])
    telling = [values[name] for name in _TELLING_ARGUMENTS if values.get(name)]
    text = next(iter(telling or filter(None, values.values())), "")
    short = text if len(text) <= MAX_PREVIEW_CHARS else f"{text[:MAX_PREVIEW_CHARS]}…"
    return format_inline_code(short)


def _make_block(label: str, text: str, language: str, max_bytes: int) -> Card:
    block = format_code_block(truncate_middle(text.rstrip("\n"), max_bytes), language)
    return make_markdown(f"**{label}**\n{block}")


def _plain(text: str) -> Card:
    return {"tag": "plain_text", "content": make_encodable(text)}


def make_plain_card(card: Card) -> Card:
    """Return the same card without Markdown, for a platform that refuses it."""
    texts = [
        {"tag": "div", "text": _plain(content)}
        for content in _list_contents(card["body"])
        if content
    ]
    return {**card, "body": {"elements": texts[: MAX_CARD_ELEMENTS // 2]}}


def _list_contents(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("tag") == "button":
            return
        if isinstance(value.get("content"), str):
            yield value["content"]
        for each in value.values():
            yield from _list_contents(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_contents(each)
