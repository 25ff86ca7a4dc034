"""Find a store of an index that can do more than the one that is open."""

from pathlib import Path

from codekernel.storage.index_store import IndexStore, open_index_to_read, open_index_to_write


def reopen_store(folder: Path, present: IndexStore) -> IndexStore | None:
    """Return a store that can do more than the present one, if there is one by now."""
    store = open_index_to_write(folder)
    # There was nothing to read so far, or the disk refused to write; or the process that
    # writes the index has found it damaged and begun another.
    is_provisional = present.folder != folder or present.read_only_reason
    if store is None and (is_provisional or not present.is_current):
        store = open_index_to_read(folder)
    return store
