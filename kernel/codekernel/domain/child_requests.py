"""Requests and replies between a child process and the one that started it, on the child's side.

The child exits at once when that process is gone, also in the middle of its work.
"""

import os
import pickle
import queue
import sys
from typing import Any, BinaryIO


def read_requests(requests: "queue.SimpleQueue[Any]") -> None:
    """Put what stdin has into a queue, until the process that started this one is gone."""
    while True:
        try:
            requests.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - of the process that started us
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)


def send_reply(replies: BinaryIO, reply: object) -> None:
    """Send a reply; exit if nobody reads it any more."""
    try:
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()
    except BrokenPipeError:
        os._exit(0)
