"""The tasks of a campaign of kills: how they are written, and how a scripted model does them."""

import re
from collections.abc import Iterable

from codekernel.domain.settings import OWN_AGENT

from support.agent_client import SKIP
from support.chat_server import Delay, ReceivedRequest, Step, delta, end_reply, reply_calls

# What an agent says at the end of a task.
DID = re.compile(r"did-(\d+);")

_TASK = re.compile(r"task-(\d+);( run)?")
_PIECES, _PIECE_SECONDS = 10, 0.02


def make_task(agent: str, number: int, *, asks: bool) -> str:
    """Return the text of a task; ``asks`` if it needs a permission."""
    if agent == OWN_AGENT:
        return f"task-{number};{' run' if asks else ''}"
    words = ["think:hmm", "pause:0.1", "tool", "pause:0.1", f"say:did-{number};"]
    return " ".join([*words[:2], "ask", *words[2:]] if asks else words)


def find_task(text: str) -> int:
    """Return the number of a task of our own agent; 0 if it is none."""
    found = _TASK.search(text)
    return int(found[1]) if found else 0


def answer_task(received: ReceivedRequest) -> Iterable[Step]:
    """Play the model of our own agent: run a command if the task says so, then answer slowly."""
    number, runs = _TASK.findall(received.body.decode())[-1]
    if runs and received.json["messages"][-1]["role"] != "tool":
        return reply_calls(SKIP, ("run_command", {"command": f"echo ran-{number}"}))
    steps: list[Step] = []
    for piece in range(_PIECES):
        steps += [delta(f"piece{piece} "), Delay(_PIECE_SECONDS)]
    return [*steps, delta(f"did-{number};"), *end_reply()]
