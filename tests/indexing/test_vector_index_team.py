"""What one of a team has embedded, no other embeds; without the store everybody embeds."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.indexing.known_vectors import KnownVectors
from codekernel.inference.model_folder import read_model_folder
from codekernel.sharing.team import CREDENTIALS_NAME, SALT_NAME, Team
from codekernel.sharing.vector_speeds import ASSUMED_PER_SECOND, MeasuredSpeed
from codekernel.storage.user_data import UserData
from indexing.counted_index import FILES, SIZE, index_folder, write_files
from indexing.harness import IndexHarness, static_plan
from support.seaweed import BUCKET, WRITER, Seaweed

pytestmark = pytest.mark.slow

QUERIES = ("split a line into its parts", "parse_7", "return line")
SECRETS = {SALT_NAME: "a salt of this team", CREDENTIALS_NAME: WRITER}


@pytest.fixture(params=["folder", "s3"])
def sharing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharingSettings]:
    if request.param == "folder":
        (tmp_path / "store").mkdir()
        yield SharingSettings(str(tmp_path / "store"), SharingMode.READ_WRITE)
        return
    with Seaweed(tmp_path / "weed") as server:
        yield SharingSettings(f"s3://{BUCKET}/ck", SharingMode.READ_WRITE, server.endpoint)


def index_as(
    name: str, root: Path, sharing: SharingSettings, number: int = 1
) -> tuple[IndexHarness, list[str]]:
    """Index a folder in the userData of a member, whose machine is slow."""
    user_data = UserData(root.parent / name)
    (config,) = static_plan(SIZE).configs
    assert isinstance(config.model, Path)
    speed = MeasuredSpeed(
        user_data.sharing_folder, read_model_folder(config.model).fingerprint[:16]
    )
    speed.note_computed(1.0)
    speed.save()
    team = Team(user_data, lambda: sharing, SECRETS.__getitem__, {})
    folder = user_data.repo_index_folder(number)
    harness, embedded = index_folder(root, folder, get_team_vectors=team.get_vectors)
    team.send_waiting()  # what is too little for a pack of its own
    return harness, embedded


def list_hits(harness: IndexHarness) -> list[tuple[str, float]]:
    return [(hit.chunk.path, hit.score) for query in QUERIES for hit in harness.search(query)]


def test_a_team_mate_embeds_nothing_and_finds_the_same_to_the_digit(
    tmp_path: Path, sharing: SharingSettings
) -> None:
    roots = [tmp_path / name for name in ("one", "two", "three")]
    write_files(roots[0])
    for root in roots[1:]:
        shutil.copytree(roots[0], root)
    first, embedded = index_as("ann", roots[0], sharing)
    assert len(embedded) == FILES
    hits = list_hits(first)
    assert hits
    first.close()
    for name, root, number in (("bob", roots[1], 1), ("bob", roots[2], 2), ("cid", roots[2], 1)):
        harness, embedded = index_as(name, root, sharing, number)
        assert embedded == []
        assert list_hits(harness) == hits
        harness.close()


def test_only_what_the_team_lacks_is_embedded(tmp_path: Path, sharing: SharingSettings) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    (second_root / "new.py").write_text("def only_here(): pass\n", encoding="utf-8")
    first, _ = index_as("ann", first_root, sharing)
    first.close()
    second, embedded = index_as("bob", second_root, sharing)
    second.close()
    assert len(embedded) == 1


def test_without_the_store_everything_is_embedded_here(tmp_path: Path) -> None:
    root = tmp_path / "one"
    write_files(root)
    gone = SharingSettings(str(tmp_path / "gone"), SharingMode.READ_WRITE)
    team = Team(UserData(tmp_path / "ann"), lambda: gone, SECRETS.__getitem__, {})
    folder = tmp_path / "ann" / "index" / "1"
    harness, embedded = index_folder(root, folder, get_team_vectors=team.get_vectors)
    assert len(embedded) == FILES
    assert harness.search("parse_7")[0].chunk.path == "part7.py"
    assert team.count_waiting() == FILES, "until the store is there"
    harness.close()


class SilentTeam:
    """A team that must not be asked."""

    def __init__(self, folder: Path) -> None:
        self.speed = MeasuredSpeed(folder, "0" * 16)

    def find(self, *_: object) -> NoReturn:
        raise AssertionError("it was asked")


def test_a_model_that_computes_more_quickly_than_the_store_gives_does_not_ask_it(
    tmp_path: Path,
) -> None:
    team: Any = SilentTeam(tmp_path)
    quick = KnownVectors(None, lambda: team, "x", is_quick=True)
    assert quick.find_in_team({1: "text"}, None) is None, "its speed is measured first"
    assert quick.find_in_team({1: "text"}, 10 * ASSUMED_PER_SECOND) is None
    with pytest.raises(AssertionError, match="it was asked"):
        quick.find_in_team({1: "text"}, 10.0)
    slow = KnownVectors(None, lambda: team, "x")
    with pytest.raises(AssertionError, match="it was asked"):
        slow.find_in_team({1: "text"}, None)
