"""The bases in the store of a team: list them, delete one with all that belongs to it."""

from dataclasses import dataclass

from codekernel.sharing.team import OpenedStore

BASES_PREFIX = "bases/1/"

# A base of thousands of objects is listed in pages.
LIST_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StoredBase:
    """A base as a listing shows it: table, parts and manifests together."""

    name: str
    objects: int
    size: int


def find_base_folder(opened: OpenedStore, name: str) -> str:
    """Return where a base of this team lies in the store."""
    return f"{BASES_PREFIX}{opened.secret.tag}/{name}/"


def list_bases(opened: OpenedStore) -> list[StoredBase]:
    """Return the bases of this team. Raises StoreUnavailable."""
    folder = f"{BASES_PREFIX}{opened.secret.tag}/"
    sizes: dict[str, list[int]] = {}
    for each in opened.store.list_objects(folder, LIST_TIMEOUT_SECONDS):
        name = each.name.removeprefix(folder).partition("/")[0]
        sizes.setdefault(name, []).append(each.size)
    return [StoredBase(name, len(found), sum(found)) for name, found in sorted(sizes.items())]


def delete_base(opened: OpenedStore, name: str) -> int:
    """Delete a base; return how many objects it had. Raises StoreUnavailable."""
    folder = find_base_folder(opened, name)
    objects = opened.store.list_objects(folder, LIST_TIMEOUT_SECONDS)
    # The table last: a base whose deletion was interrupted is one without parts, not half a table.
    for each in sorted(objects, key=lambda it: it.name.startswith(f"{folder}table/")):
        opened.store.delete(each.name)
    return len(objects)
