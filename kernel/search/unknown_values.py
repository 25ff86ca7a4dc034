"""Values of filters that nothing in the index has: said, with the near ones, instead of no hits."""

from collections.abc import Collection

from kernel.search.filters import Filters, has_symbol, is_on_path
from kernel.search.near_names import refusal
from kernel.search.retrieval import SearchableIndex

# In larger repositories nothing is said, rather than that a person waits for it.
MAX_LOOKED_THROUGH = 100_000


def refuse_unknown_values(filters: Filters, index: SearchableIndex) -> None:
    """Raise WrongParam if no indexed file or symbol has what a filter names."""
    if filters.paths or filters.files:
        paths = list(index.store.catalogue.files())
        names = [path.rpartition("/")[2] for path in paths]
        for value in filters.paths:
            if paths and not any(is_on_path(value, path) for path in paths):
                message = f'no indexed file has "{value}" in its path'
                raise refusal(message, value, _parts(paths))
        for value in filters.files:
            if names and not any(is_on_path(value, name) for name in names):
                raise refusal(f'no indexed file has "{value}" in its name', value, names)
    for value in filters.symbols:
        _refuse_unknown_symbol(value, index)


def _refuse_unknown_symbol(value: str, index: SearchableIndex) -> None:
    pairs = index.store.catalogue.symbol_names(MAX_LOOKED_THROUGH)
    is_all = len(pairs) < MAX_LOOKED_THROUGH
    if pairs and is_all and not any(has_symbol(value, *pair) for pair in pairs):
        names = dict.fromkeys(name for pair in pairs for part in pair for name in part)
        raise refusal(f'nothing indexed is called "{value}"', value, names)


def _parts(paths: Collection[str]) -> list[str]:
    """The names of folders and files, and the folders' whole paths."""
    parts = dict.fromkeys(part for path in paths for part in path.split("/"))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return [*parts, *filter(None, folders)]
