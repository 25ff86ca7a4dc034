"""A member of a team that contributes for ever: a line for each pack that the store has.

Arguments: the endpoint, the number of the first text, a folder.
"""

import sys
from pathlib import Path

from codekernel.sharing.team_vectors import TeamVectors
from sharing.team_world import FORMAT, make_texts, make_vectors

from support.seaweed import Seaweed

PACK_ROWS = 50


def main() -> None:
    endpoint, begin, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    store = Seaweed(folder).open_store(endpoint=endpoint)
    owner = f"{begin // 1_000_000:016x}"  # the same after it was killed: its packs are joined
    member = TeamVectors(store, FORMAT, folder / "keys", owner)
    member.find(make_texts(1), 60.0)
    while True:
        texts = make_texts(PACK_ROWS, begin=begin)
        member.contribute(texts, make_vectors(texts))
        member.flush(60.0, everything=True)
        if member.waiting:
            raise SystemExit(member.problem)
        sys.stdout.write(f"{begin} {begin + PACK_ROWS}\n")
        sys.stdout.flush()
        begin += PACK_ROWS


if __name__ == "__main__":
    main()
