"""A repository, its team's store in a folder, CI that builds packs, and members who open them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.indexing.index_plan import IndexPlan, IndexTimings
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.team_index import restore_nothing
from codekernel.inference.model_pool import ModelPool
from codekernel.packs.commits import find_commit
from codekernel.packs.index_packs import IndexPacks
from codekernel.packs.pack_building import BuiltPack, PackBuilder
from codekernel.packs.pack_opening import PackOpener
from codekernel.search.pipeline import Searcher
from codekernel.sharing.team import CREDENTIALS_NAME, SALT_NAME, SIGNING_KEY_NAME, Team
from codekernel.storage.user_data import UserData
from indexing.harness import IndexHarness, static_plan
from support.git_history import GitHistory
from support.team_secret import SALT

QUERIES = ("session closed", "parse the header", "Session.close", "write a file", "多语言 text")
# What scores say beyond this depends on the order in which threads add up, also in one index.
DIGITS = 6
TIMINGS = IndexTimings(index_start_delay=0.01, embed_start_delay=0.01, compact_delay=0.05)

FILES = {
    **{
        f"src/part_{number}.py": f"class Part{number}:\n    def close_{number}(self):\n"
        f'        """Close session {number}."""\n        return self.write_file({number})\n'
        for number in range(12)
    },
    "src/session.py": "class Session:\n    def close(self):\n        self.is_closed = True\n",
    "src/header.py": "def parse_header(line):\n    return line.split(':')\n",
    "README.md": "# 多语言 text\n\nWrite a file, parse the header.\n",
}

Found = list[list[tuple[str, int, float]]]


class PackMember:
    """A userData folder of somebody of the team."""

    def __init__(
        self, folder: Path, settings: SharingSettings, secrets: Mapping[str, str] | None = None
    ) -> None:
        self.user_data = UserData(folder)
        self.settings = settings
        self.secrets = {SALT_NAME: SALT, SIGNING_KEY_NAME: "", **(secrets or {})}
        self.team = Team(self.user_data, lambda: self.settings, self.secrets.__getitem__, {})
        self.opener = PackOpener(self.team, self.user_data.sharing_folder)

    @contextmanager
    def open(
        self, root: Path, pool: ModelPool, plan: IndexPlan, *, shares: bool = True
    ) -> Iterator[IndexHarness]:
        """Open a repository, and wait until everything is indexed."""
        index = RepositoryIndex(
            root,
            self.user_data.repo_index_folder(1),
            lambda: pool,
            timings=TIMINGS,
            restore_index=self.opener.restore if shares else restore_nothing,
        )
        harness = IndexHarness(root, index.store.folder, index)
        try:
            index.start(plan)
            harness.wait_until_idle()
            yield harness
        finally:
            harness.close()


class PackWorld:
    """One team and one repository."""

    def __init__(
        self,
        folder: Path,
        store: str = "",
        endpoint: str = "",
        credentials: str = "",
    ) -> None:
        self.folder = folder
        self.store_folder = folder / "store"
        self.store_folder.mkdir()
        self.settings = SharingSettings(
            store or str(self.store_folder), SharingMode.READ_WRITE, endpoint
        )
        self.secrets = {CREDENTIALS_NAME: credentials}
        self.pool = ModelPool()
        self.plan = static_plan(300)
        self.history = GitHistory(folder / "repository")
        self.history.commit("begin", FILES)

    @property
    def root(self) -> Path:
        return self.history.folder

    def join(self, name: str) -> PackMember:
        return PackMember(self.folder / name, self.settings, self.secrets)

    def build(self, commit: str = "HEAD", name: str = "ci") -> BuiltPack:
        member = self.join(name)
        builder = PackBuilder(member.team, member.user_data, self.plan, lambda: self.pool)
        return builder.build(self.root, find_commit(self.root, commit))

    def clone(self, name: str) -> Path:
        """Return another checkout, at another path, with other times."""
        target = self.folder / name
        self.history.git("clone", "--quiet", str(self.root), str(target))
        return target

    def list_packs(self) -> IndexPacks:
        return IndexPacks(self.join("lister").team.open_store())

    def find_file(self) -> Path:
        (path,) = self.store_folder.glob("indexes/**/*.pack")
        return path

    def change(self, change: Callable[[bytes], bytes]) -> None:
        path = self.find_file()
        path.write_bytes(change(path.read_bytes()))

    @contextmanager
    def open(self, name: str, root: Path, *, shares: bool = True) -> Iterator[IndexHarness]:
        with self.join(name).open(root, self.pool, self.plan, shares=shares) as harness:
            yield harness


def search_all(harness: IndexHarness) -> Found:
    searcher = Searcher(harness.root, harness.index)
    return [
        [
            (hit.chunk.path, hit.chunk.begin_line, round(hit.score, DIGITS))
            for hit in searcher.search(query, 20)
        ]
        for query in QUERIES
    ]


def count_embedded(harness: IndexHarness) -> int:
    return sum(each.embedded_count for each in harness.index.vector_indexes)


def expect_notice(harness: IndexHarness, words: str) -> str:
    harness.wait_until(lambda: words in harness.index.get_status().notice, words)
    return harness.index.get_status().notice
