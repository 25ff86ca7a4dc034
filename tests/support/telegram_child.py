"""Engine, agent and bot in one process, to be killed: ``python -m support.telegram_child``.

Arguments: userData and the address of the Bot API. For each line on stdin it prints as JSON the
messages of all sessions, whether an agent works, and how many items are not delivered.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.chat.session_feed import RateLimit
from codekernel.adapters.telegram import turn_messages
from codekernel.adapters.telegram.message_store import MessageStore
from codekernel.domain.chat import (
    AgentMessage,
    ContentBlock,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)

from support.bot_api import BotApi
from support.scripted_agent import KIND, ScriptedTurn, text_of
from support.telegram_world import SHORT_SECONDS, open_telegram

# Characters of a text; the last is the megabyte of a log that an agent repeats.
SIZES = (20, 200, 2_000, 6_000, 15_000, 1_000_000)
WEIGHTS = (30, 40, 20, 8, 3, 1)


def act(turn: ScriptedTurn) -> None:
    """Do what the number in the prompt decides: thoughts, tools, texts, messages that grow."""
    number = turn.text.split()[-1]
    rng = random.Random(number)  # noqa: S311
    for part in range(rng.randint(1, 4)):
        turn.cancelled.wait(rng.choice((0, 0, 0.02, 0.1)))  # for edits to be seen
        kind = rng.choice(("think", "tool", "text", "text", "grow"))
        if kind == "think":
            turn.update(AgentMessage("assistant", (ThinkingContent("hm " * 20),)))
        elif kind == "tool":
            use_tool(turn, rng, f"{number}-{part}")
        else:
            say(turn, rng, f"{number}-{part}", grows=kind == "grow")
    turn.say(f"[end {number}]")


def use_tool(turn: ScriptedTurn, rng: random.Random, name: str) -> None:
    blocks: tuple[ContentBlock, ...] = (ToolUseContent(name, f"tool-{name}", {"path": "<a>"}),)
    turn.update(AgentMessage("assistant", blocks))
    text = "output & more\n" * rng.choice((1, 20, 2_000))
    diff = "+a < b\n" * rng.choice((0, 3, 900))
    is_error = rng.random() < 0.2
    result = ToolResultContent(name, text, is_error, diff)
    turn.update(AgentMessage("user", (result,)))


def say(turn: ScriptedTurn, rng: random.Random, name: str, *, grows: bool) -> None:
    size = rng.choices(SIZES, WEIGHTS)[0]
    words = ("word", "**bold**", "`code`", "😀", "<tag>", "&amp;", "中文", "\n", "\n\n", "- item")
    body = " ".join(rng.choices(words, k=size // 5 + 1))
    text = f"[begin {name}]\n{body}\n[done {name}]"
    if grows:
        for end in sorted(rng.sample(range(len(text)), k=min(5, len(text)))):
            turn.say(text[:end], id=name, complete=False)
        turn.say(text, id=name, complete=True)
    else:
        turn.say(text)


def describe(world: Any) -> dict[str, Any]:
    engine = world.engine.engine
    sessions = engine.list_sessions()
    messages: list[str] = []
    for session in sessions:
        after = 0
        while (page := engine.read_messages(session.id, after_seq=after, limit=200)).messages:
            messages += [text_of(it)[-60:] for it in page.messages if it.message.role != "user"]
            after = page.messages[-1].seq
    items = MessageStore(world.database).list_items()
    chats = ChatBindings(world.database, "telegram").list_chats()
    return {
        "is_idle": not any(it.is_thinking or it.queued_count for it in sessions),
        "open_items": [it.key for it in items],
        "shown": {it.chat_id: it.shown_seq for it in chats},
        "last": {it.id: it.last_seq for it in sessions},
        "messages": messages,
    }


def write_line(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    user_data, address = sys.argv[1:]
    turn_messages.FIRST_RETRY_SECONDS = 0.05
    # Faster than the platform allows, so that it refuses now and then.
    limits = (RateLimit(SHORT_SECONDS * 0.5), RateLimit(SHORT_SECONDS * 0.5))
    with open_telegram(Path(user_data), act, BotApi(), address=address, limits=limits) as world:
        write_line({"kind": KIND})
        for _ in sys.stdin:
            write_line(describe(world))


if __name__ == "__main__":
    main()
