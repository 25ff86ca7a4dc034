"""A store, members of a team, and texts with vectors of eight numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.team_vectors import TeamVectors
from codekernel.sharing.vector_pack import HalfArray, PackFormat
from codekernel.storage.vectors.in_memory_vectors import round_rows
from support.team_secret import SECRET

MODEL = "ab" * 32
DIMENSIONS = 8
BUDGET_SECONDS = 60.0  # generous: nothing here waits for it
FORMAT = PackFormat(SECRET, MODEL, DIMENSIONS)


def make_texts(count: int, begin: int = 0) -> dict[int, str]:
    return {number: f"def part_{number}(): ..." for number in range(begin, begin + count)}


def make_vectors(texts: dict[int, str]) -> HalfArray:
    rows = [np.random.default_rng(number).standard_normal(DIMENSIONS) for number in texts]
    return round_rows(np.array(rows, np.float32))


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TeamWorld:
    """One store in a folder, and kernels that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store_folder = folder / "store"
        self.store_folder.mkdir()
        self.clock = Clock()

    def open_store(self) -> ObjectStore:
        return ObjectStore(StorePlace(str(self.store_folder)), {})

    def join(
        self, name: str, *, writes: bool = True, pack_format: PackFormat = FORMAT
    ) -> TeamVectors:
        owner = name.encode().hex().rjust(16, "0") if writes else ""
        folder = self.folder / name
        return TeamVectors(self.open_store(), pack_format, folder, owner, self.clock)

    def list_packs(self) -> list[Path]:
        return sorted(self.store_folder.rglob("*.pack"))

    def contribute(self, member: TeamVectors, texts: dict[int, str]) -> None:
        contribute(member, texts)

    def change_packs(self, change: Callable[[bytes], bytes]) -> None:
        for path in self.list_packs():
            path.write_bytes(change(path.read_bytes()))


def contribute(member: TeamVectors, texts: dict[int, str]) -> None:
    """Contribute, and wait until it is sent."""
    member.contribute(texts, make_vectors(texts))
    if member.contributions:
        member.contributions.save()
        member.contributions.send(BUDGET_SECONDS)


def find(member: TeamVectors, texts: dict[int, str]) -> dict[int, bytes]:
    names, vectors = member.find(texts, BUDGET_SECONDS)
    return dict(zip(names.tolist(), map(bytes, vectors), strict=True))


def expect(texts: dict[int, str]) -> dict[int, bytes]:
    return dict(zip(texts, map(bytes, make_vectors(texts)), strict=True))
