"""Kills of a kernel that answers: what was shown is in the history after the next start."""

import random
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.chat_server import (  # noqa: E402 - the path above is needed
    ChatServer,
    Received,
    Step,
    called,
    said,
)
from support.conversation_window import (  # noqa: E402
    answer_of,
    chat_settings,
    conversation_kernel,
    write_sources,
)

QUESTION = "How does a session close?"
PIECES = tuple(f"piece{number} " for number in range(400))
# An acknowledgement, a round of search and the pieces; pieces may be told together.
MAX_REPLIES = 60


def kill_conversations(place: Path, seed: int, kills: int) -> Iterator[str]:
    """Kill a kernel so often while it answers; yields what was shown and is not kept."""
    repo, user_data = place / "demo", place / "userData"
    for folder in (repo, user_data):
        folder.mkdir(parents=True)
    write_sources(repo)
    chance = random.Random(f"{seed}:conversations")  # noqa: S311 - repeatable, not secret
    with ChatServer([_answer_or_search]) as server:
        chat_settings(user_data, server.url)
        shown = [
            _kill_while_answering(user_data, repo, chance.randint(1, MAX_REPLIES), number)
            for number in range(kills)
        ]
        with conversation_kernel(user_data, repo, again=True) as asker:
            asker.answered("And now?")
            kept = [turn["answer"] for turn in asker.history()["history"]]
    for number, text in enumerate(shown, 1):
        if number > len(kept) or not kept[number - 1].startswith(text):
            yield (
                f"conversation, seed {seed}, kill {number}: {len(text)} characters are not kept;"
                f" shown {[len(each) for each in shown]}, kept {[len(each) for each in kept]}"
            )


def _answer_or_search(received: Received) -> Iterable[Step]:
    """Search once for each question, then answer in many pieces."""
    has_searched = b'"role":"tool"' in received.body.replace(b": ", b":")
    return said(*PIECES) if has_searched else called(("search", {"queries": ["add_route"]}))


def _kill_while_answering(user_data: Path, repo: Path, replies: int, number: int) -> str:
    """Ask, kill after so many replies, and return what was shown of the answer until then."""
    with conversation_kernel(user_data, repo, again=number > 0) as asker:
        callback = asker.ask(f"{QUESTION} {number}")
        asker.kernel.wait_for(
            lambda line: (
                len(asker.replies(callback)) >= replies
                or line.get("data", {}).get("type") == "done"
            ),
            "the moment of the kill",
        )
        asker.kernel.process.send_signal(signal.SIGKILL)
        asker.kernel.exit_code()
        return answer_of(asker.replies(callback))
