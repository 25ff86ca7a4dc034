"""Kills of a kernel that answers, shared or not: what was shown is in the history of the next."""

import os
import random
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.chat_server import (  # noqa: E402 - the path above is needed
    ChatServer,
    ReceivedRequest,
    Step,
    reply_calls,
    reply_text,
)
from support.conversation_client import (  # noqa: E402
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
    conversation_kernel,
    write_sources,
)
from support.kernel_process import code_of  # noqa: E402
from support.shared_kernel import SharedKernel  # noqa: E402

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
            asker.ask_and_wait("And now?")
            kept = {turn["query"]: turn["answer"] for turn in asker.read_history()["history"]}
    yield from _find_lost(f"conversation, seed {seed}", shown, kept)


def kill_shared_kernels(place: Path, seed: int, kills: int) -> Iterator[str]:
    """Kill the kernel that a front end shares, so often; the front end goes on with the next one.

    Yields what was shown and is not kept.
    """
    repo, user_data = place / "demo", place / "userData"
    for folder in (repo, user_data):
        folder.mkdir(parents=True)
    write_sources(repo)
    chance = random.Random(f"{seed}:shared")  # noqa: S311 - repeatable, not secret
    shown: list[str] = []
    with (
        ChatServer([_answer_or_search]) as server,
        SharedKernel(user_data) as shared,
    ):
        chat_settings(user_data, server.url)
        with shared.attach() as kernel:
            kernel.open(repo, SESSION)
            asker = ConversationClient(kernel, user_data)
            for number in range(kills):
                pid = shared.status()["pid"]
                callback = asker.ask(f"{QUESTION} {number}")
                _wait_for_replies(asker, callback, chance.randint(1, MAX_REPLIES))
                os.kill(pid, signal.SIGKILL)
                asker.wait_for_reply(callback, "done")
                shown.append(_read_shown(asker, callback, number))
                kernel.request("getRepos")  # answered by the next kernel
            asker.ask_and_wait("And now?")
            kept = {turn["query"]: turn["answer"] for turn in asker.read_history()["history"]}
    yield from _find_lost(f"shared kernel, seed {seed}", shown, kept)


def _find_lost(what: str, shown: list[str], kept: dict[str, str]) -> Iterator[str]:
    for number, text in enumerate(shown):
        answer = kept.get(f"{QUESTION} {number}")
        if answer is None:
            yield f"{what}, kill {number}: an accepted question is not kept"
        elif not answer.startswith(text):
            yield f"{what}, kill {number}: {len(text)} characters shown, {len(answer)} kept"


def _answer_or_search(received: ReceivedRequest) -> Iterable[Step]:
    """Search once for each question, then answer in many pieces."""
    has_searched = b'"role":"tool"' in received.body.replace(b": ", b":")
    return (
        reply_text(*PIECES) if has_searched else reply_calls(("search", {"queries": ["add_route"]}))
    )


def _kill_while_answering(user_data: Path, repo: Path, count: int, number: int) -> str:
    """Ask, kill after so many replies, and return what was shown of the answer until then."""
    with conversation_kernel(user_data, repo, again=number > 0) as asker:
        callback = asker.ask(f"{QUESTION} {number}")
        _wait_for_replies(asker, callback, count)
        asker.kernel.process.send_signal(signal.SIGKILL)
        asker.kernel.exit_code()
        return _read_shown(asker, callback, number)


def _read_shown(asker: ConversationClient, callback: int, number: int) -> str:
    """Return what was shown of an answer; raises AssertionError if the question was refused."""
    replies = asker.list_replies(callback)
    if code_of(replies[0]) != "SUCCESS":
        raise AssertionError(f"question {number} was refused: {replies[0]}")
    return answer_of(replies)


def _wait_for_replies(asker: ConversationClient, callback: int, count: int) -> None:
    """Wait for so many replies, or for all there are."""
    asker.kernel.wait_for(
        lambda line: (
            len(asker.list_replies(callback)) >= count
            or (line["callbackId"] == callback and line.get("data", {}).get("type") == "done")
        ),
        "the moment of the kill",
    )
