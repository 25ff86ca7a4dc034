"""Conversations through a real kernel process: ``chat.py [--answers N] [--turns N]``.

A scripted endpoint on loopback, in a process of its own, answers at a controlled pace. Measured:
what the kernel adds to the first token and to each; whether many conversations at once lose or
misplace anything; and what a thousand turns leave in memory.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import chat_crowd
import chat_latency
import chat_memory
from chat_window import ChatKernel, Endpoint

CORES = 2
WINDOWS = 5


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=20, help="for the latencies")
    parser.add_argument("--tokens", type=int, default=200, help="in each of these answers")
    parser.add_argument("--conversations", type=int, default=50, help="at once")
    parser.add_argument("--crowd-tokens", type=int, default=100, help="for each of these")
    parser.add_argument("--crowd-rate", type=int, default=20, help="tokens a second for each")
    parser.add_argument("--turns", type=int, default=1000, help="for the memory")
    options = parser.parse_args()
    print(f"chat: on {_limit_cores()} cores, the endpoint and the front end among them\n")
    with (
        tempfile.TemporaryDirectory() as name,
        Endpoint() as endpoint,
        ChatKernel(Path(name), endpoint.url, WINDOWS) as kernel,
    ):
        met = chat_latency.measure_latency(kernel, endpoint.url, options.answers, options.tokens)
        met += chat_crowd.measure_crowd(
            kernel, options.conversations, options.crowd_tokens, options.crowd_rate
        )
        met += chat_memory.measure_memory(kernel, options.turns)
    return 0 if all(met) else 1


def _limit_cores() -> int:
    """Give this process and those it starts two cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:CORES]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


if __name__ == "__main__":
    sys.exit(main())
