"""A base in a real S3 server, with what can be wrong with it; and one that a kernel searches."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from base.base_world import API, BaseWorld
from base.overlay_world import (
    QUERIES,
    find_difference,
    make_files,
    open_alone,
    open_over_base,
    present,
    search_alone,
)
from cli.test_build_base import build_base
from cli.test_share import set_up
from codekernel.base.base_place import require_conditional_writes
from codekernel.base.base_reader import BaseUnavailable, open_base
from codekernel.sharing.object_store import ObjectStore, StorePlace
from support.command_line import codekernel
from support.git_history import GitHistory
from support.seaweed import BUCKET, READER, WRITER, Seaweed
from support.shared_kernel import ENVIRON

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 3.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with Seaweed(tmp_path_factory.mktemp("weed")) as running:
        yield running


def make_world(
    server: Seaweed, folder: Path, credentials: str = WRITER, bucket: str = BUCKET, place: str = ""
) -> BaseWorld:
    address = f"s3://{bucket}/{place or folder.name}"
    store = StorePlace(address, server.endpoint, credentials=credentials)
    folder.mkdir(exist_ok=True)
    return BaseWorld(folder, ObjectStore(store, {}))


def clone(world: BaseWorld) -> Path:
    target = world.folder / "clones" / "api"
    history = world.histories["api"]
    history.git("clone", "--quiet", str(history.folder), str(target))
    return target


def test_a_base_in_a_bucket_is_searched_as_an_index_of_everything(
    server: Seaweed, tmp_path: Path
) -> None:
    world = make_world(server, tmp_path)
    world.histories["api"].commit("more", make_files(40, seed=5))
    world.build()
    reader = make_world(server, tmp_path / "reader", READER, place=tmp_path.name)
    reader.histories = world.histories
    root = clone(world)
    (root / "src" / "session.py").write_text("def mine():\n    return 1\n", encoding="utf-8")
    with (
        open_over_base(reader, root, "over") as over,
        open_alone(world, root, "alone") as alone,
    ):
        assert over.index.get_status().files == 1
        for query in QUERIES:
            one, other = present(over.find(query)), present(search_alone(alone, query))
            assert find_difference(one, other) == "", query


def test_a_store_that_stops_leaves_what_is_here_within_the_time(
    server: Seaweed, tmp_path: Path
) -> None:
    world = make_world(server, tmp_path)
    world.build()
    root = clone(world)
    (root / "mine.py").write_text("def parse_header_of_mine(): ...\n", encoding="utf-8")
    with open_over_base(world, root, "over", seconds=TIMEOUT_SECONDS) as over:
        server.suspend()
        try:
            found = over.find("parse_header")
        finally:
            server.resume()
        assert [hit.chunk.path for hit in found.hits] == ["mine.py"]
        assert (
            f"it has not answered within {TIMEOUT_SECONDS:g} s. Only what you have changed"
            in found.gap
        )
        over.wait_until(lambda: not over.find("parse_header").gap, "the store answers again")
        assert over.find("parse_header").hits[0].content == API["src/header.py"]


def test_a_store_that_obeys_conditions_can_be_written(server: Seaweed) -> None:
    store = server.open_store()
    require_conditional_writes(store)
    assert store.list_objects("probes/") == [], "the trial leaves nothing behind"


@pytest.mark.parametrize(
    ("credentials", "bucket", "words"),
    [
        ("writer-key:wrong", BUCKET, "the secret key is wrong"),
        ("wrong:writer-secret", BUCKET, "does not know the access key"),
        (READER, "nobody", "no such bucket|is not there|not found"),
    ],
)
def test_what_is_wrong_with_keys_and_buckets_is_named(
    server: Seaweed, tmp_path: Path, credentials: str, bucket: str, words: str
) -> None:
    world = make_world(server, tmp_path, credentials, bucket)
    with pytest.raises(BaseUnavailable, match=words):
        open_base(world.place)


def test_a_kernel_searches_the_base_that_the_settings_name(
    user_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    set_up(user_data, store, monkeypatch)
    history = GitHistory(tmp_path / "api")
    history.commit("begin", API)
    assert build_base(user_data, name="platform", repo=[str(history.folder)]) == 0
    settings = json.loads((user_data / "settings.json").read_text("utf-8"))
    settings["sharing"]["base"] = "platform"
    (user_data / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (history.folder / "src" / "session.py").unlink()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return codekernel(user_data, history.folder, *words, **ENVIRON)

    found = run("search", "--wait", "--json", "parse_header")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)[0]["filePath"] == "src/header.py"
    gone = run("search", "--json", "Session is_closed")
    assert "src/session.py" not in gone.stdout
    assert "in-base" in run("doctor", "why", "src/header.py").stdout
    whole = codekernel(user_data, tmp_path, "search", "--base", "platform", "parse", **ENVIRON)
    assert whole.stdout.startswith("api/src/header.py:"), whole.stderr
    literal = codekernel(user_data, tmp_path, "search", "--base", "platform", "-F", "x", **ENVIRON)
    assert "looked for where the files are" in literal.stderr
    store.rename(tmp_path / "unmounted")
    away = run("search", "parse_header")
    assert "base platform cannot be searched now" in away.stderr
    assert "Only what you have changed" in away.stderr
