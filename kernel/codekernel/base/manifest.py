"""What one build of a base holds: its model, and of each repository the commit and the parts.

Written once, under the version of the table, before the tag is moved to that version.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from codekernel.errors import StorageError
from codekernel.sharing.object_store import ObjectStore

FORMAT = 1


@dataclass(frozen=True, slots=True)
class BaseRepository:
    """A repository in a base; ``commit`` is empty for a folder without git."""

    label: str
    commit: str
    # The oldest commits before it, by which a clone is known that does not have the commit itself.
    roots: tuple[str, ...]
    prefix: str
    files: int
    chunks: int
    # Objects of the store: paths with digests, counts of terms, rows.
    file_list: str
    terms: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaseManifest:
    """One build."""

    analysis: str
    model: str
    dimensions: int
    max_chunk_chars: int
    built_at: float
    repositories: tuple[BaseRepository, ...]

    @property
    def chunks(self) -> int:
        """Count the chunks of all repositories."""
        return sum(each.chunks for each in self.repositories)

    def find(self, label: str) -> BaseRepository | None:
        """Return the repository that is called so."""
        return next((each for each in self.repositories if each.label == label), None)

    def list_objects(self) -> set[str]:
        """Return the names of all objects that this build needs."""
        return {
            name for each in self.repositories for name in (each.file_list, each.terms, *each.parts)
        }


def encode_manifest(manifest: BaseManifest) -> bytes:
    """Return a manifest as an object for the store."""
    return json.dumps({"format": FORMAT, **asdict(manifest)}).encode()


def decode_manifest(content: bytes) -> BaseManifest:
    """Return the manifest in an object. Raises StorageError."""
    try:
        values: dict[str, Any] = json.loads(content)
        if values.pop("format") != FORMAT:
            raise StorageError("the base was built by another version of codekernel: build it anew")
        repositories = tuple(map(parse_repository, values.pop("repositories")))
        return BaseManifest(**values, repositories=repositories)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"the manifest of the base is damaged: {error}") from error


def parse_repository(values: Mapping[str, Any]) -> BaseRepository:
    """Return a repository as it was written. Raises TypeError, KeyError."""
    lists = {name: tuple(values[name]) for name in ("roots", "parts")}
    return BaseRepository(**{**values, **lists})


def name_manifest(folder: str, version: int) -> str:
    """Return the name of the manifest of a version of the table."""
    return f"{folder}manifests/{version}.json"


def read_manifest(store: ObjectStore, folder: str, version: int) -> BaseManifest:
    """Return the manifest of a version. Raises StoreUnavailable, StorageError."""
    return decode_manifest(store.read(name_manifest(folder, version)))
