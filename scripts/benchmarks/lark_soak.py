"""Lark: turns in several chats while processes are killed, connections cut, requests refused.

    python scripts/bench.py lark_soak [--turns 500] [--chats 5] [--seed 1]

The platform is a loopback one that enforces the real limits. After the last turn every card is
compared with what the engine has kept: nothing lost, nothing twice, in order, no card too large.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.lark_soak import LarkSoak

# Of turns during which the bot is killed, its connection cut or the platform restarted.
CHAOS = 0.2


def main() -> int:
    """Run the turns and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--chats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        user_data = Path(folder, "userData")
        user_data.mkdir()
        soak = LarkSoak(user_data, turns=args.turns, chats=args.chats, seed=args.seed, chaos=CHAOS)
        result = soak.run(lambda line: print(line, flush=True))
    seconds = time.monotonic() - began
    print(f"turns {result.turns}, chats {args.chats}, {seconds:.0f} s")
    print(f"kill -9 of engine and bot {result.kills}, restarts of the platform"
          f" {result.platform_restarts}, cut connections {result.connection_cuts}")  # fmt: skip
    print(f"cards {result.cards}, updates {result.updates}, resent events {result.resent_events}")
    print(f"refused requests by code {result.refusals}")
    print(f"largest request {result.largest_request} bytes, words compared {result.words}")
    print("\n".join(result.problems) or "nothing lost, nothing twice, in order")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
