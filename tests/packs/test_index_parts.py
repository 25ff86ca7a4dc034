"""What is in a pack that somebody with the salt has made is checked before it is an index."""

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from codekernel.packs import index_parts
from codekernel.packs.index_parts import ANALYSIS, restore_index
from codekernel.packs.pack_archive import (
    PackArchive,
    PackedConfig,
    PackManifest,
    PackRefused,
    write_pack,
)
from packs.packs_world import PackWorld
from support.team_secret import SECRET

pytestmark = pytest.mark.slow  # each takes a pack of a repository apart

Parts = dict[str, bytes]


def take_apart(world: PackWorld) -> tuple[PackManifest, Parts]:
    path = world.find_file()
    with path.open("rb") as file:
        archive = PackArchive(file, path.stat().st_size, SECRET)
        parts = {name: b"".join(archive.open_part(name).iterate()) for name in archive.list_names()}
        return archive.manifest, parts


def restore(manifest: PackManifest, parts: Parts, place: Path) -> None:
    pack = place / "pack"
    content: dict[str, Iterable[bytes]] = {name: [part] for name, part in parts.items()}
    write_pack(pack, manifest, content, SECRET)
    with pack.open("rb") as file:
        archive = PackArchive(file, pack.stat().st_size, SECRET)
        restore_index(archive, place / "in", archive.manifest)


def find_vectors(parts: Parts) -> str:
    (name,) = (each for each in parts if each.startswith("vectors:"))
    return name


def change_catalog(statement: str) -> Callable[[Parts, Path], None]:
    def change(parts: Parts, place: Path) -> None:
        path = place / "changed.db"
        path.write_bytes(parts["catalog"])
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript(statement)
        database.close()
        parts["catalog"] = path.read_bytes()

    return change


def rename(old: str, new: str) -> Callable[[Parts, Path], None]:
    def change(parts: Parts, _: Path) -> None:
        name = next(each for each in parts if each.startswith(old))
        parts[new] = parts.pop(name)

    return change


def replace(old: str, content: Callable[[bytes], bytes]) -> Callable[[Parts, Path], None]:
    def change(parts: Parts, _: Path) -> None:
        name = next(each for each in parts if each.startswith(old))
        parts[name] = content(parts[name])

    return change


def test_parts_become_an_index(world: PackWorld, tmp_path: Path) -> None:
    manifest, parts = take_apart(world)
    restore(manifest, parts, tmp_path)
    assert manifest.analysis == ANALYSIS
    assert index_parts.count_packed(tmp_path / "in") == (manifest.files, manifest.chunks)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_catalog("UPDATE file SET path = x'2e2e2f70' WHERE id = 1"), "outside"),
        (change_catalog("UPDATE file SET path = x'2f657463' WHERE id = 1"), "outside"),
        (change_catalog("UPDATE file SET path = x'612f2e2e2f70' WHERE id = 1"), "outside"),
        (change_catalog("UPDATE file SET path = x'6100' WHERE id = 1"), "outside"),
        (change_catalog("CREATE TRIGGER x AFTER INSERT ON document BEGIN SELECT 1; END"), "tables"),
        (change_catalog("CREATE VIEW x AS SELECT 1"), "tables"),
        (change_catalog("DROP TRIGGER file_went"), "tables"),
        (change_catalog("PRAGMA user_version = 1"), "format 1"),
        (replace("catalog", lambda _: b"no database" * 100), "not an index"),
        (replace("catalog", lambda content: content[:5000]), "not an index"),
        (replace("texts", lambda content: content[:-3]), "cut off"),
        (replace("texts", lambda _: b""), "without a text"),
        (replace("texts", lambda _: b"\xff" * 16), "too long"),
        (replace("words:", lambda _: b"{}"), "not an index"),
        (replace("vectors:", lambda content: content[:-1]), "not as long"),
        (rename("vectors:", "vectors:other-300"), "no index has"),
        (rename("words:", "words:..evil"), "no index has"),
        (rename("words:", "words:.managed.json"), "no index has"),
        (rename("catalog", "catalogue.db"), "no index has"),
        (rename("texts", "more"), "no index has"),
    ],
)
def test_what_no_index_has_is_refused(
    world: PackWorld, tmp_path: Path, change: Callable[[Parts, Path], None], words: str
) -> None:
    manifest, parts = take_apart(world)
    change(parts, tmp_path)
    with pytest.raises(PackRefused, match=words):
        restore(manifest, parts, tmp_path)


def test_vectors_that_are_no_numbers_are_refused(world: PackWorld, tmp_path: Path) -> None:
    manifest, parts = take_apart(world)
    name = find_vectors(parts)
    content = bytearray(parts[name])
    content[-len(content) // 4 :] = b"\xff" * (len(content) // 4)
    count, width = manifest.chunks, manifest.configs[0].dimensions
    high = np.full(count * width, 0x7C, np.uint8).tobytes()  # infinity
    parts[name] = bytes(content[: 8 * count]) + high + bytes(count * width)
    with pytest.raises(PackRefused, match="numbers that are none"):
        restore(manifest, parts, tmp_path)


def test_a_text_with_two_vectors_is_refused(world: PackWorld, tmp_path: Path) -> None:
    manifest, parts = take_apart(world)
    name = find_vectors(parts)
    parts[name] = parts[name][:8] * 2 + parts[name][16:]
    with pytest.raises(PackRefused, match="a text twice"):
        restore(manifest, parts, tmp_path)


def test_an_index_that_does_not_fit_on_the_disk_is_refused(
    world: PackWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, parts = take_apart(world)
    usage = type("Usage", (), {"free": 10_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(PackRefused, match="no room for it"):
        restore(manifest, parts, tmp_path)


def test_a_model_of_other_dimensions_is_refused(world: PackWorld, tmp_path: Path) -> None:
    manifest, parts = take_apart(world)
    (config,) = manifest.configs
    wrong = PackedConfig(config.model, config.dimensions + 1, config.max_chunk_chars)
    changed = PackManifest(
        **{
            name: getattr(manifest, name)
            for name in ("repository", "commit", "prefix", "analysis", "files", "chunks")
        },
        built_at=0.0,
        configs=(wrong,),
    )
    with pytest.raises(PackRefused, match="not as long as vectors are"):
        restore(changed, parts, tmp_path)
