"""One developer opens a repository: ``team_child.py`` with a JSON object of ``Errand`` on stdin.

Prints how long it took until everything was indexed, and where the vectors came from.
"""

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.team_index import restore_nothing
from codekernel.inference.model_folder import get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.packs.commits import find_commit
from codekernel.packs.pack_building import PackBuilder
from codekernel.packs.pack_opening import PackOpener
from codekernel.search.pipeline import Searcher
from codekernel.sharing.team import CREDENTIALS_NAME, SALT_NAME, Team
from codekernel.storage.user_data import UserData

CHUNK_CHARS = 950
HITS = 10
SEND_TIMEOUT_SECONDS = 60.0
# Further ones depend on the order in which threads add up, also in one index.
DIGITS = 6


@dataclasses.dataclass(frozen=True)
class Errand:
    """What to open, in which userData folder, with which store; an empty store for none."""

    root: str
    user_data: str
    number: int
    model: str
    store: str
    endpoint: str
    credentials: str
    queries: Sequence[str]
    takes_pack: bool = False
    builds_pack: bool = False


def main() -> None:
    """Index, search, print."""
    errand = Errand(**json.load(sys.stdin))
    user_data = UserData(Path(errand.user_data))
    sharing = SharingSettings(errand.store, SharingMode.READ_WRITE, errand.endpoint)
    secrets = {SALT_NAME: "the salt of a benchmark", CREDENTIALS_NAME: errand.credentials}
    team = Team(user_data, lambda: sharing, lambda name: secrets.get(name, ""), {})
    pool = ModelPool()
    config = ConfigPlan(errand.model, get_bundled_folder() / errand.model, CHUNK_CHARS)
    if errand.builds_pack:
        build_pack(errand, team, user_data, IndexPlan(configs=(config,)), pool)
        return
    opener = PackOpener(team, user_data.sharing_folder)
    started, cpu = time.monotonic(), time.process_time()
    index = RepositoryIndex(
        Path(errand.root),
        user_data.repo_index_folder(errand.number),
        lambda: pool,
        get_team_vectors=team.get_vectors,
        restore_index=opener.restore if errand.takes_pack else restore_nothing,
    )
    index.start(IndexPlan(configs=(config,)))
    while not index.is_idle:
        time.sleep(0.01)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    (vectors,) = index.vector_indexes
    hits = [
        [(hit.chunk.path, hit.chunk.begin_line, round(hit.score, DIGITS)) for hit in found]
        for query in errand.queries
        if (found := Searcher(Path(errand.root), index).search(query, HITS))
    ]
    shared = team.get_vectors(vectors.embedder.fingerprint, vectors.embedder.dimensions)
    chunks = len(vectors.table)
    index.close()
    counts: dict[str, Any] = dataclasses.asdict(shared.counts) if shared else {}
    counts["embedded"] = vectors.embedded_count
    counts |= dataclasses.asdict(shared.speed.known) if shared else {}
    counts["asks"] = bool(shared and shared.speed.known.is_fetching_quicker)
    if shared and shared.contributions:
        shared.contributions.send(SEND_TIMEOUT_SECONDS)
        counts["contributed"] = shared.contributions.sent + team.send_waiting()
    print(json.dumps({"seconds": seconds, "cpu": cpu, "chunks": chunks, "hits": hits, **counts}))


def build_pack(
    errand: Errand, team: Team, user_data: UserData, plan: IndexPlan, pool: ModelPool
) -> None:
    """Do what CI does."""
    root = Path(errand.root)
    builder = PackBuilder(team, user_data, plan, lambda: pool)
    started, cpu = time.monotonic(), time.process_time()
    built = builder.build(root, find_commit(root, "HEAD"))
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, **dataclasses.asdict(built)}))


if __name__ == "__main__":
    main()
