"""A turn of an agent as Telegram messages: a pure function of its steps.

Thoughts are folded quotes, each tool is a row whose sign changes, a diff is a block of code, and
texts are Markdown. What is too long for a chat becomes a document.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from codekernel.adapters.chat.commands import CommandReply
from codekernel.adapters.chat.permissions import describe_actor, describe_decision
from codekernel.adapters.chat.turns import (
    ChatTurn,
    StepStatus,
    TextStep,
    ThoughtStep,
    ToolStep,
    TurnStep,
    format_arguments,
    get_request_text,
)
from codekernel.adapters.telegram.markdown_spans import parse_markdown
from codekernel.adapters.telegram.rich_text import (
    BOLD,
    CODE,
    FOLDED_QUOTE,
    ITALIC,
    PRE,
    QUOTE,
    TextSpan,
    TextStyle,
    clean_spans,
    count_units,
    cut_to_units,
    format_html,
    split_pages,
)
from codekernel.domain.agent_sessions import SessionPermission

# A text of more than three messages is not read in a chat.
MAX_TEXT_UNITS = 12_000

# Of a text that is a document: enough to know what it is.
PREVIEW_UNITS = 2_500

# Folded, so that the length costs no room; two thirds of a message.
MAX_THOUGHT_UNITS = 2_700

# Of the arguments, on one line: the path or the beginning of a command.
MAX_ARGUMENT_UNITS = 150

MAX_PERMISSION_UNITS = 3_000

MAX_OUTPUT_UNITS = 1_200

MAX_DIFF_UNITS = 2_400

MAX_REQUEST_UNITS = 1_000

# The answer is an edit, for which no telephone makes a sound: after a wait it is said.
MIN_DONE_SECONDS = 30.0

_SIGNS: Final = {
    StepStatus.RUNNING: "⏳",
    StepStatus.SUCCESS: "✅",
    StepStatus.ERROR: "❌",
    StepStatus.STOPPED: "⏹",
}

_DIFF = TextStyle("pre", "diff")

WORKING_LINE = "⏳ working"

_NO_WORDS = TextSpan("The turn has ended without a word.", (ITALIC,))


@dataclass(frozen=True, slots=True)
class PageButton:
    """A button under a message; ``data`` comes back when it is pressed."""

    label: str
    data: str


@dataclass(frozen=True, slots=True)
class TextPage:
    """One message of HTML."""

    html: str
    buttons: tuple[PageButton, ...] = ()
    # A telephone makes no sound for it; for an edit it never does.
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One message with a file."""

    name: str
    text: str
    caption: str = ""


Page = TextPage | DocumentPage


def render_turn(turn: ChatTurn, *, shows_request: bool = False) -> Sequence[Page]:
    """Return the messages of a turn; ``shows_request`` for one that came from elsewhere."""
    spans: list[TextSpan] = []
    if shows_request and turn.request is not None:
        spans += _render_request(turn)
    for step in turn.steps:
        spans += _render_step(step)
    if not turn.is_finished:
        spans.append(TextSpan(f"{WORKING_LINE} …", (ITALIC,)))
    texts = make_text_pages(spans) or make_text_pages([_NO_WORDS])
    if not turn.is_finished:
        return [replace(page, is_silent=True) for page in texts]
    pages: list[Page] = [*texts]
    pages += _list_documents(turn.steps)
    if turn.seconds >= MIN_DONE_SECONDS:
        pages.append(TextPage(f"✅ Done after {_format_seconds(turn.seconds)}."))
    return pages


def render_notice(turn: ChatTurn, session_name: str) -> Sequence[Page]:
    """Return the only message of a turn where just notices are sent: that it has ended."""
    if not turn.is_finished:
        return []
    return make_text_pages(
        [TextSpan("✅ "), TextSpan(session_name, (BOLD,)), TextSpan(" is done.")]
    )


def render_reply(reply: CommandReply, buttons: tuple[PageButton, ...] = ()) -> list[Page]:
    """Return the messages of a reply to a command; the buttons are under the last one."""
    step = TextStep(reply.markdown)
    pages: list[Page] = [*make_text_pages(_render_step(step)), *_list_documents([step])]
    for turn in reply.turns:
        pages += render_turn(turn, shows_request=True)
    if buttons:
        texts = [(place, page) for place, page in enumerate(pages) if isinstance(page, TextPage)]
        place, last = texts[-1]
        pages[place] = replace(last, buttons=buttons)
    return pages


def render_permission(
    permission: SessionPermission,
    session_name: str,
    buttons: tuple[PageButton, ...],
    *,
    is_notice: bool = False,
) -> TextPage:
    """Return the message of a permission: with buttons while it waits, then who decided."""
    spans = [TextSpan("🔐 "), TextSpan(session_name, (BOLD,)), TextSpan(" asks to use ")]
    spans.append(TextSpan(permission.tool, (BOLD,)))
    if permission.danger:
        spans.append(TextSpan(f" ({permission.danger})"))
    if permission.arguments and not is_notice:
        arguments = _shorten(format_arguments(permission.arguments), MAX_PERMISSION_UNITS)
        spans += [TextSpan("\n"), TextSpan(arguments, (PRE,))]
    decision = describe_decision(permission)
    if decision:
        spans += [TextSpan("\n"), TextSpan(decision, (ITALIC,))]
    html = format_html(split_pages(clean_spans(spans))[0])
    return TextPage(html, () if decision else buttons)


def make_text_pages(spans: Sequence[TextSpan]) -> list[TextPage]:
    """Return spans as messages."""
    return [TextPage(format_html(page)) for page in split_pages(clean_spans(spans))]


def _render_request(turn: ChatTurn) -> Iterator[TextSpan]:
    if turn.request is not None:
        text = _shorten(get_request_text(turn.request.message), MAX_REQUEST_UNITS)
        yield TextSpan(f"👤 {describe_actor(turn.request.actor)}\n")
        yield TextSpan(text, (QUOTE,))
        yield TextSpan("\n")


def _render_step(step: TurnStep) -> list[TextSpan]:
    match step:
        case ThoughtStep():
            text = _shorten(step.text.strip(), MAX_THOUGHT_UNITS)
            return [TextSpan(f"💭 {text}", (FOLDED_QUOTE,)), TextSpan("\n")]
        case TextStep():
            return [*parse_markdown(_shorten_text(step.text)), TextSpan("\n")]
        case ToolStep():
            return list(_render_tool(step))


def _render_tool(step: ToolStep) -> Iterator[TextSpan]:
    yield TextSpan(f"{_SIGNS[step.status]} ")
    yield TextSpan(step.name, (BOLD,))
    if step.arguments:
        line = " ".join(step.arguments.split())
        yield TextSpan(" ")
        yield TextSpan(_shorten(line, MAX_ARGUMENT_UNITS, unit=""), (CODE,))
    yield TextSpan("\n")
    if step.diff:
        yield TextSpan(_shorten(step.diff.strip("\n"), MAX_DIFF_UNITS), (_DIFF,))
        yield TextSpan("\n")
    elif step.output.strip():
        yield TextSpan(_shorten(step.output.strip(), MAX_OUTPUT_UNITS), (FOLDED_QUOTE,))
        yield TextSpan("\n")


def _list_documents(steps: Sequence[TurnStep]) -> Iterator[Page]:
    """Yield long texts whole, and all diffs if one of them was cut."""
    for step in steps:
        if isinstance(step, TextStep) and _is_long(step.text, MAX_TEXT_UNITS):
            yield DocumentPage("answer.md", step.text, "The whole text.")
    diffs = [step.diff for step in steps if isinstance(step, ToolStep) and step.diff]
    if any(_is_long(diff, MAX_DIFF_UNITS) for diff in diffs):
        yield DocumentPage("changes.diff", "\n".join(diffs), "All changes of this turn.")


def _format_seconds(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _shorten_text(text: str) -> str:
    if not _is_long(text, MAX_TEXT_UNITS):
        return text
    preview = cut_to_units(text, PREVIEW_UNITS)
    return f"{preview[: preview.rfind(chr(10)) + 1] or preview}\n… _the rest is in the document_"


def _shorten(text: str, limit: int, unit: str = " more characters") -> str:
    if not _is_long(text, limit):
        return text
    head = cut_to_units(text, limit)
    rest = f" {len(text) - len(head):,}{unit}" if unit else ""
    return f"{head}…{rest}"


def _is_long(text: str, limit: int) -> bool:
    return len(text) > limit or count_units(text) > limit
