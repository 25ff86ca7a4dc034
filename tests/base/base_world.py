"""A team's store in a folder, repositories, and the base that is built of them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from codekernel.base.base_building import BaseBuilder, BaseModel, BuiltBase, select_base_model
from codekernel.base.base_place import BasePlace, find_base_place
from codekernel.base.build_engines import BuildEngine, PartOutcome
from codekernel.base.part_building import PartJob, PartWorker
from codekernel.base.sources import find_sources
from codekernel.domain.settings import Performance
from codekernel.errors import KernelError
from codekernel.inference.model_pool import ModelPool
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.team import OpenedStore
from codekernel.storage.base.base_table import BaseTable
from indexing.harness import static_plan
from support.git_history import GitHistory
from support.team_secret import SECRET

PLAN = static_plan(300)

API = {
    "src/session.py": "class Session:\n    def close(self):\n        self.is_closed = True\n",
    "src/header.py": "def parse_header(line):\n    return line.split(':')\n",
    "README.md": "# 多语言 text\n\nWrite a file, parse the header.\n",
}
WEB = {"app.js": "export function openSocket(url) {\n  return new WebSocket(url);\n}\n"}


class InlineEngine:
    """A real worker in this process; ``failing`` are labels whose parts cannot be built."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.max_parts = 1_000
        self.built: list[PartJob] = []
        self._worker = PartWorker({})

    def run(self, jobs: Iterator[PartJob]) -> Iterator[PartOutcome]:
        for job in jobs:
            if len(self.built) >= self.max_parts:
                raise KeyboardInterrupt
            if job.repo in self.failing:
                yield PartOutcome(job, None, "the disk is broken")
                continue
            self.built.append(job)
            try:
                yield PartOutcome(job, self._worker.build(job))
            except KernelError as error:
                yield PartOutcome(job, None, str(error))

    def close(self) -> None:
        self._worker.close()


class BaseWorld:
    """One team, two repositories and a base called ``all``."""

    def __init__(self, folder: Path, store: ObjectStore | None = None) -> None:
        self.folder = folder
        self.store_folder = folder / "store"
        self.store_folder.mkdir()
        self.opened = OpenedStore(
            store or ObjectStore(StorePlace(str(self.store_folder)), {}), SECRET
        )
        self.engine = InlineEngine()
        self.histories = {
            name: GitHistory(folder / "repositories" / name) for name in ("api", "web")
        }
        self.histories["api"].commit("begin", API)
        self.histories["web"].commit("begin", WEB)

    @property
    def place(self) -> BasePlace:
        return find_base_place(self.opened, "all", {})

    @property
    def model(self) -> BaseModel:
        return select_base_model(PLAN, ModelPool())

    def build(self, *names: str, engine: BuildEngine | None = None) -> BuiltBase:
        builder = BaseBuilder(self.place, self.model, Performance(), engine or self.engine)
        roots = [self.histories[name].folder for name in names or self.histories]
        return builder.build(find_sources([("", root) for root in roots]))

    def open_table(self, tag: str = "published") -> BaseTable:
        return BaseTable(self.place.table, tag)

    def list_paths(self, word: str) -> list[str]:
        rows = self.open_table().search_terms([word], (), 10)
        return [f"{row['repo']}/{row['path']}" for row in rows]

    def copy_store(self, target: Path) -> None:
        shutil.copytree(self.store_folder, target, dirs_exist_ok=True)
