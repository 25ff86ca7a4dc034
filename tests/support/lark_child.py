"""An engine with a scripted agent and a bot of Lark, in a process that can be killed.

    python lark_child.py USERDATA URL

Writes ``ready``, and after a line on stdin ``drained`` as soon as everything is shown.
"""

import math
import queue
import random
import sys
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2] / "kernel"), str(Path(__file__).parents[1])]

from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.lark.store import LarkStore
from codekernel.domain.chat import (
    AgentMessage,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from codekernel.sync.engine import SyncEngine

from support.lark_world import attach_engine, make_adapter
from support.polling import wait_until
from support.scripted_agent import ScriptedAgent, ScriptedTurn, open_world

# Characters of an answer; the last is a megabyte.
SIZES = (20, 400, 3_000, 20_000, 60_000, 1_000_000)
SIZE_WEIGHTS = (40, 30, 15, 8, 5, 2)


def run_turn(turn: ScriptedTurn) -> None:
    """Do what the number in the prompt says: think, call tools, ask, answer; always the same."""
    number = int(turn.text.split()[-1])
    rng = random.Random(number)  # noqa: S311
    for step in range(rng.randrange(5)):
        name = f"{number}-{step}"
        if rng.random() < 0.3:
            turn.update(AgentMessage("assistant", (ThinkingContent(make_noise(rng)),)))
        turn.update(AgentMessage("assistant", (ToolUseContent(name, "Bash", {"command": "ls"}),)))
        if rng.random() < 0.1:
            with suppress(queue.Empty):  # nobody has answered, which is a refusal
                turn.ask(f"p{name}")
        output = make_noise(rng) * rng.choice([1, 1, 50, 2_000])
        diff = make_noise(rng) if rng.random() < 0.3 else ""
        result = ToolResultContent(name, output, is_error=rng.random() < 0.2, diff=diff)
        turn.update(AgentMessage("user", (result,)))
        turn.cancelled.wait(rng.random() * 0.2)
    size = rng.choices(SIZES, SIZE_WEIGHTS)[0]
    separator = rng.choice([" ", "\n", "\n\n", ' "\\" ', " <b> ", " 語 "])
    words = [f"w{number}x{place}" for place in range(size // (8 + len(separator)) + 1)]
    if size <= 20_000:
        for count in range(0, len(words), len(words) // 4 + 1):
            turn.say(separator.join(words[:count]), id="grows", complete=False)
            turn.cancelled.wait(rng.random() * 0.2)
    turn.say(separator.join(words), id="grows", complete=True)


def make_noise(rng: random.Random) -> str:
    return "".join(rng.choices('ab \n"\\`<>|語', k=rng.choice([5, 200])))


def is_shown(database: HubDatabase, engine: SyncEngine) -> bool:
    """Return whether no agent works and every message is on a card in its last state."""
    store = LarkStore(database)
    for chat_id, session_id, shown_seq in store.list_feeds():
        record = engine.get_session(session_id)
        if record.is_thinking or record.queued_count or record.last_seq != shown_seq:
            return False
        if store.list_cards(chat_id, session_id):
            return False
    return not store.list_unhandled()


def main() -> None:
    user_data, url = Path(sys.argv[1]), sys.argv[2]
    with open_world(user_data, ScriptedAgent(run_turn)) as world:
        database = HubDatabase(user_data)
        adapter = make_adapter(url, user_data, database)
        adapter.start(attach_engine(world))
        print("ready", flush=True)  # noqa: T201 - for the parent
        for _ in sys.stdin:
            wait_until(lambda: is_shown(database, world.engine), timeout=math.inf)
            print("drained", flush=True)  # noqa: T201 - for the parent
        adapter.stop()


if __name__ == "__main__":
    main()
