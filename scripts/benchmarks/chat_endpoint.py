"""A chat endpoint for the benchmark, in a process of its own: prints its url, ends with its stdin.

A question holds ``bench TAG N at RATE``: the answer is N tokens ``TAG:number:moment`` at that pace,
the moment being the one at which the token was handed to the system.
"""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.chat_server import ChatServer, Delay, ReceivedRequest, Step, delta, end_reply

QUESTION = re.compile(rb"bench (\w+) (\d+) at (\d+)")


def main() -> None:
    """Serve until nobody holds the other end of stdin."""
    with ChatServer([_answer]) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


def _answer(received: ReceivedRequest) -> Iterator[Step]:
    """One step at a time, so that each token has the moment at which it leaves."""
    tag, tokens, rate = (word.decode() for word in QUESTION.findall(received.body)[-1])
    yield Delay(0.02)  # the answer begins after the head, as it does elsewhere
    for number in range(int(tokens)):
        yield delta(f"{tag}:{number}:{time.monotonic_ns()} ")
        yield Delay(1 / int(rate))
    yield from end_reply(used=(1000, int(tokens)))


if __name__ == "__main__":
    main()
