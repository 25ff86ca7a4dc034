"""What of earlier turns the model is given: whole turns, newest first, never more than allowed.

The limit is in characters, as the settings have it; 0 means none. A turn that does not fit ends the
memory, or is replaced by its summary where the settings want that; a summary is made once and kept
in the history.
"""

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from kernel.conversation.exchange import Exchange
from kernel.conversation.prompts import SUMMARIZE
from kernel.conversation.reply_reader import ReplyReader
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatBackend, ChatMessage, ChatRequest, Role
from kernel.domain.turn import PastTurn
from kernel.domain.turn_events import AnswerPart, TurnEvent
from kernel.errors import NetworkError

logger = logging.getLogger(__name__)

SUMMARY_CHARACTERS = 400
# Characters of an exchange that its summary is made of; more would fill a small window.
_SUMMARIZED_CHARACTERS = 12_000
# A conversation that has never been summarised gets this many summaries at a time, so that one
# question does not wait for a hundred of them.
_MOST_NEW_SUMMARIES = 2


@dataclass(frozen=True, slots=True)
class Memory:
    """Messages to begin a request with, and the summaries that were made for them, by turn."""

    messages: tuple[ChatMessage, ...]
    summaries: dict[int, str]


def recalled(
    turns: Sequence[PastTurn], limit: int, summarizer: "Summarizer | None" = None
) -> Generator[TurnEvent, None, Memory]:
    """Choose what fits; with a summarizer, what is too long is asked for in short."""
    chosen: list[tuple[str, str]] = []
    made: dict[int, str] = {}
    left = limit
    for number in reversed(range(len(turns))):
        turn = turns[number]
        if not turn.answer:
            continue
        size = len(turn.query) + len(turn.answer)
        if limit == 0 or size <= left:
            chosen.append((turn.query, turn.answer))
            left -= size
            continue
        summary = turn.summary
        if not summary and summarizer and len(made) < _MOST_NEW_SUMMARIES:
            summary = yield from summarizer.summary(turn)
            if summary:
                made[number] = summary
        if not summarizer or not summary or len(summary) > left:
            break
        chosen.append(("(an earlier question, in short)", summary))
        left -= len(summary)
    return Memory(tuple(_messages(chosen)), made)


@dataclass(frozen=True, slots=True)
class Summarizer:
    """Asks the model for summaries; a failure costs the summary and nothing else."""

    backend: ChatBackend
    cancel: CancelToken

    def summary(self, turn: PastTurn) -> Generator[TurnEvent, None, str]:
        """The turn in short; empty if the model would not. Raises Cancelled."""
        text = f"Question: {turn.query}\n\nAnswer: {turn.answer}"[:_SUMMARIZED_CHARACTERS]
        request = ChatRequest(
            (
                ChatMessage(Role.SYSTEM, SUMMARIZE.format(characters=SUMMARY_CHARACTERS)),
                ChatMessage(Role.USER, text),
            )
        )
        exchange = Exchange(self.backend, request, ReplyReader(may_search=False), self.cancel)
        events = exchange.events()
        try:
            while True:
                event = next(events)
                if not isinstance(event, AnswerPart):
                    yield event
        except StopIteration as end:
            return str(end.value.shown).strip()[:SUMMARY_CHARACTERS]
        except NetworkError as error:
            logger.warning("an earlier turn could not be summarised: %s", error)
            return ""


def _messages(chosen: list[tuple[str, str]]) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for query, answer in reversed(chosen):
        messages += [ChatMessage(Role.USER, query), ChatMessage(Role.ASSISTANT, answer)]
    return messages
