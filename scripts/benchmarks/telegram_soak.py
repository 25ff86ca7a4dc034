"""Telegram: turns in a chat while the bot is killed and its connections and answers are lost.

    python scripts/bench.py telegram_soak [--turns 500] [--seed 1]

The platform is a loopback Bot API with the real limits, a hundred times as fast; texts have up to
a megabyte. At the end the chat is compared with what the engine has kept.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.telegram_soak import TelegramSoak

# Of turns after which the process of engine, agent and bot is killed.
KILL_SHARE = 0.2


def main() -> int:
    """Run the turns and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soak = TelegramSoak(
            Path(folder, "userData"), turns=args.turns, seed=args.seed, kill_share=KILL_SHARE
        )
        result = soak.run(lambda line: print(line, flush=True))
    print(f"turns {result.turns}, kill -9 {result.kills}, {time.monotonic() - began:.0f} s")
    print(f"lost on the way {result.faults}, refused by code {result.refusals}")
    print(f"messages {result.messages}, documents {result.documents}, edits {result.edits}")
    print(f"texts compared {result.marks}")
    print("\n".join(result.problems) or "nothing lost, nothing twice, in order")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
