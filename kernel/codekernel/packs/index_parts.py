"""An index on the disk as the parts of a pack, and such parts as an index at another place.

The catalog travels without the texts, which compress better together; vectors as two planes of
bytes, for the high ones compress; the lexical index as it is.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from codekernel.errors import StorageError
from codekernel.packs.pack_archive import PackArchive, PackedConfig, PackManifest, PackRefused
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.catalog_copy import (
    copy_catalog,
    iterate_texts,
    restore_catalog,
)
from codekernel.storage.catalog.tables import CATALOG_FORMAT
from codekernel.storage.index_store import CATALOG_FILE, LEXICAL_FOLDER, VECTORS_FOLDER
from codekernel.storage.lexical_documents import ANALYZER_NAME
from codekernel.storage.lexical_index import list_lexical_files, verify_lexical
from codekernel.storage.safe_files import make_private_folder, translate_os_errors
from codekernel.storage.vectors.in_memory_vectors import sort_unique
from codekernel.storage.vectors.lance_table import LanceTable
from codekernel.storage.vectors.vector_seed import SeedVectors, write_seed

# Raised with what is in a pack, if neither of the others is.
_LAYOUT = 1

# Indexes of another analysis cannot be used, only made again.
ANALYSIS = f"{_LAYOUT}.{CATALOG_FORMAT}.{ANALYZER_NAME}"

_CATALOG, _TEXTS = "catalog", "texts"
_LEXICAL, _VECTORS = "words", "vectors"

_READ_BYTES = 1_000_000

_LEXICAL_FILE = re.compile(
    r"(?:[0-9a-f]{32}\.(?:idx|term|fast|fieldnorm|pos|store|\d{1,20}\.del))|meta\.json"
)

_MANAGED_FILE = ".managed.json"

_KEY_BYTES, _NUMBER_BYTES = 8, 2


def format_vectors_name(model: str, max_chunk_chars: int) -> str:
    """Return the name of the folder of some vectors in an index."""
    return f"{model[:16]}-{max_chunk_chars}"


def read_index(
    folder: Path, configs: Sequence[PackedConfig], scratch: Path
) -> Mapping[str, Iterable[bytes]]:
    """Return the parts of an index that nobody writes; ``scratch`` is a folder for its catalog."""
    catalog = scratch / CATALOG_FILE
    copy_catalog(folder / CATALOG_FILE, catalog)
    words = folder / LEXICAL_FOLDER
    parts: dict[str, Iterable[bytes]] = {
        _CATALOG: _iterate_file(catalog),
        _TEXTS: iterate_texts(folder / CATALOG_FILE),
    }
    for name in list_lexical_files(words):
        parts[f"{_LEXICAL}:{name}"] = _iterate_file(words / name)
    for config in configs:
        name = format_vectors_name(config.model, config.max_chunk_chars)
        parts[f"{_VECTORS}:{name}"] = _pack_vectors(folder, name, config)
    return parts


def restore_index(archive: PackArchive, folder: Path, manifest: PackManifest) -> None:
    """Write the index in a pack into an empty folder. Raises PackRefused, StorageError.

    Nothing of it is used before all of it was checked.
    """
    make_private_folder(folder)
    needed = sum(part.raw_bytes for part in manifest.parts)
    if shutil.disk_usage(folder).free < 2 * needed:
        raise PackRefused(f"it would take {needed // 2**20} MB, and the disk has no room for it")
    try:
        _write_parts(archive, folder, manifest.configs)
        restore_catalog(folder / CATALOG_FILE, archive.open_part(_TEXTS).read)
        words = folder / LEXICAL_FOLDER
        # tantivy deletes only what is in its own list.
        (words / _MANAGED_FILE).write_text(json.dumps(list_lexical_files(words)), "ascii")
        verify_lexical(words)
    except PackRefused:
        raise
    except StorageError as error:
        raise PackRefused(f"it is not an index: {error}") from error


def _write_parts(archive: PackArchive, folder: Path, configs: Sequence[PackedConfig]) -> None:
    words = folder / LEXICAL_FOLDER
    make_private_folder(words)
    vectors = {
        format_vectors_name(each.model, each.max_chunk_chars): each.dimensions for each in configs
    }
    for part in archive.list_names():
        kind, _, name = part.rpartition(":")
        if part == _CATALOG:
            _write_part(archive, part, folder / CATALOG_FILE)
        elif kind == _LEXICAL and _LEXICAL_FILE.fullmatch(name):
            _write_part(archive, part, words / name)
        elif kind == _VECTORS and name in vectors:
            seed = _unpack_vectors(archive, part, vectors[name])
            write_seed(folder / VECTORS_FOLDER / name, seed)
        elif part != _TEXTS:
            raise PackRefused(f"it has a part {part} that no index has")


def count_packed(folder: Path) -> tuple[int, int]:
    """Return how many files and chunks the catalog in a folder has."""
    catalog = Catalog(folder / CATALOG_FILE)
    try:
        files, chunks, _ = catalog.count_contents()
    finally:
        catalog.close()
    return files, chunks


def _iterate_file(path: Path) -> Iterator[bytes]:
    with translate_os_errors(path), path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            yield piece


def _write_part(archive: PackArchive, name: str, path: Path) -> None:
    with translate_os_errors(path), path.open("xb") as file:
        for piece in archive.open_part(name).iterate():
            file.write(piece)


def _pack_vectors(folder: Path, name: str, config: PackedConfig) -> Iterator[bytes]:
    """Yield the keys, the high bytes and the low bytes of the vectors that the catalog uses."""
    catalog = Catalog(folder / CATALOG_FILE)
    try:
        _, used = catalog.read_chunk_keys(config.max_chunk_chars)
    finally:
        catalog.close()
    wanted = sort_unique(np.asarray(used, np.int64))
    table = LanceTable.open(folder / VECTORS_FOLDER / name, config.dimensions)
    table.fingerprints.read()
    keys, vectors = [np.empty(0, np.int64)], [np.empty((0, config.dimensions), np.float16)]
    for some, numbers, fingerprints in table.iterate_batches():
        kept = table.fingerprints.contains(fingerprints) & np.isin(some, wanted)
        keys.append(some[kept])
        vectors.append(numbers[kept])
    joined = np.concatenate(vectors).astype("<f2").view(np.uint8)
    yield np.concatenate(keys).astype("<i8").tobytes()
    yield joined[:, 1::2].tobytes()
    yield joined[:, ::2].tobytes()


def _unpack_vectors(archive: PackArchive, name: str, width: int) -> SeedVectors:
    part = archive.open_part(name)
    if width <= 0 or part.raw_bytes % (_KEY_BYTES + _NUMBER_BYTES * width):
        raise PackRefused(f"its part {name} is not as long as vectors are")
    count = part.raw_bytes // (_KEY_BYTES + _NUMBER_BYTES * width)
    keys = np.frombuffer(part.read(_KEY_BYTES * count), "<i8").astype(np.int64)
    numbers = np.empty((count, width, _NUMBER_BYTES), np.uint8)
    for plane in (1, 0):
        numbers[:, :, plane] = np.frombuffer(part.read(count * width), np.uint8).reshape(-1, width)
    vectors = numbers.reshape(count, width * _NUMBER_BYTES).view("<f2").astype(np.float16)
    if not np.isfinite(vectors).all():
        raise PackRefused(f"its part {name} has numbers that are none")
    if len(sort_unique(keys)) < count:
        raise PackRefused(f"its part {name} has a text twice")
    return SeedVectors(keys, vectors)
