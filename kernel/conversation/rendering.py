"""The turn so far as messages to the model, made anew for each request.

So the same turn can be told to a model with tools, to one without, and in fewer words to one whose
window is small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel.conversation import prompts
from kernel.conversation.budget import Budget
from kernel.domain.chat import ChatMessage, Role, ToolCall
from kernel.masking.masker import mask_repeated


@dataclass(frozen=True, slots=True)
class Readable:
    """An excerpt as the model reads it: numbered lines, secrets masked."""

    text: str
    masked: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One round: what the model said and wanted, and what it got.

    ``ours`` if it came before the model was asked anything.
    """

    queries: tuple[str, ...]
    found: tuple[Readable, ...]
    said: str = ""
    calls: tuple[ToolCall, ...] = ()
    note: str = ""
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """Everything a request is made of."""

    fence: str
    query: str
    past: tuple[ChatMessage, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request's messages, and how many secrets were masked in them."""

    messages: tuple[ChatMessage, ...]
    masked: int


def rendered(story: Story, budget: Budget, *, tools: bool, may_search: bool) -> Rendered:
    """Tell the story within the budget: excerpts low in their rounds are left out first."""
    system = prompts.system_prompt(story.fence, tools=tools, may_search=may_search)
    story, masked_words = _without_secrets(story)
    past = _fitting(story.past, budget)
    every = [readable for step in story.steps for readable in step.found]
    fixed = [system, story.query, *(message.content for message in past)]
    kept = budget.chosen(fixed, [each.text for each in every], _by_importance(story.steps))
    steps = _only(story.steps, kept)
    if not may_search:
        told = _told_at_once(story, steps)
    else:
        told = _told_in_turns(story, steps, tools=tools)
    masked = masked_words + sum(every[index].masked for index in kept)
    return Rendered((ChatMessage(Role.SYSTEM, system), *past, *told), masked)


def _without_secrets(story: Story) -> tuple[Story, int]:
    """Return the story with the question and the earlier turns masked, and how many secrets."""
    query = mask_repeated(story.query)
    past = [mask_repeated(message.content) for message in story.past]
    masked = tuple(
        replace(message, content=safe.text) for message, safe in zip(story.past, past, strict=True)
    )
    count = query.count + sum(safe.count for safe in past)
    return replace(story, query=query.text, past=masked), count


def _told_at_once(story: Story, steps: Sequence[Step]) -> list[ChatMessage]:
    texts = [readable.text for step in steps for readable in step.found]
    messages = [_question(story, texts, "")]
    said = "\n\n".join(step.said for step in steps if step.said)
    if said:
        messages += [ChatMessage(Role.ASSISTANT, said), ChatMessage(Role.USER, prompts.GO_ON)]
    return messages


def _told_in_turns(story: Story, steps: Sequence[Step], *, tools: bool) -> list[ChatMessage]:
    ours = [step for step in steps if step.ours]
    texts = [readable.text for step in ours for readable in step.found]
    messages = [_question(story, texts, ours[0].note if ours else "")]
    for step in steps[len(ours) :]:
        messages += _as_calls(story, step) if tools and step.calls else _as_fence(story, step)
    return messages


def _question(story: Story, texts: list[str], note: str) -> ChatMessage:
    if not texts and not note:
        return ChatMessage(Role.USER, story.query)
    found = prompts.data_block(story.fence, texts, note)
    return ChatMessage(
        Role.USER, f"{story.query}\n\nRetrieved from the repository for this:\n\n{found}"
    )


def _as_calls(story: Story, step: Step) -> list[ChatMessage]:
    block = prompts.data_block(story.fence, [each.text for each in step.found], step.note)
    first, *others = step.calls
    return [
        ChatMessage(Role.ASSISTANT, step.said, tool_calls=step.calls),
        ChatMessage(Role.TOOL, block, tool_call_id=first.id),
        *(ChatMessage(Role.TOOL, prompts.WITH_FIRST_CALL, tool_call_id=call.id) for call in others),
    ]


def _as_fence(story: Story, step: Step) -> list[ChatMessage]:
    block = prompts.data_block(story.fence, [each.text for each in step.found], step.note)
    wanted = "\n".join(["```search", *step.queries, "```"])
    said = f"{step.said}\n\n{wanted}" if step.said else wanted
    return [ChatMessage(Role.ASSISTANT, said), ChatMessage(Role.USER, block)]


def _fitting(past: tuple[ChatMessage, ...], budget: Budget) -> tuple[ChatMessage, ...]:
    """The newest of the past that leave at least half of the budget to the question itself."""
    half = Budget(budget.tokens // 2, budget.count)
    while past and not half.holds([message.content for message in past]):
        past = past[2:]  # a question and its answer
    return past


def _by_importance(steps: Sequence[Step]) -> list[int]:
    """Indexes of all excerpts: the best of each round first, later rounds before earlier ones."""
    places: list[tuple[int, int, int]] = []
    for round_number, step in enumerate(steps):
        for rank in range(len(step.found)):
            places.append((rank, -round_number, len(places)))
    return [index for _, _, index in sorted(places)]


def _only(steps: Sequence[Step], kept: set[int]) -> list[Step]:
    chosen: list[Step] = []
    index = 0
    for step in steps:
        numbers = range(index, index + len(step.found))
        found = tuple(step.found[number - index] for number in numbers if number in kept)
        index += len(step.found)
        chosen.append(replace(step, found=found))
    return chosen
