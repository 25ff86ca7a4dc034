"""A member of a team that contributes for ever: a line for each pack that the store has.

Arguments: the endpoint, the number of the first text, a folder.
"""

import sys
from pathlib import Path

from codekernel.sharing.team_vectors import TeamVectors
from sharing.team_world import FORMAT, contribute, make_texts

from support.seaweed import Seaweed

PACK_ROWS = 256


def main() -> None:
    endpoint, begin, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    store = Seaweed(folder).open_store(endpoint=endpoint)
    owner = f"{begin // 1_000_000:016x}"  # the same after it was killed: its packs are joined
    member = TeamVectors(store, FORMAT, folder, owner)
    member.find(make_texts(1), 60.0)
    while True:
        texts = make_texts(PACK_ROWS, begin=begin)
        contribute(member, texts)
        if member.problem:
            raise SystemExit(member.problem)
        sys.stdout.write(f"{begin} {begin + PACK_ROWS}\n")
        sys.stdout.flush()
        begin += PACK_ROWS


if __name__ == "__main__":
    main()
