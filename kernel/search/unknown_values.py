"""Values of filters that nothing in the index has: said, with the near ones, instead of no hits."""

from collections.abc import Collection

from kernel.search.filters import Filters, has_symbol, is_on_path
from kernel.search.near_names import refusal
from kernel.search.query import understood
from kernel.search.retrieval import SearchableIndex, ranked_by_evidence

_CANDIDATES = 100


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
    ranked = ranked_by_evidence(index, understood(value), Filters(), _CANDIDATES)
    chunks = [each.chunk for each in ranked]
    if chunks and not any(has_symbol(value, chunk) for chunk in chunks):
        names = {name for chunk in chunks for name in (*chunk.chunk.symbols, *chunk.chunk.defines)}
        raise refusal(f'nothing indexed is called "{value}"', value, names)


def _parts(paths: Collection[str]) -> list[str]:
    """The names of folders and files, and the folders' whole paths."""
    parts = dict.fromkeys(part for path in paths for part in path.split("/"))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return [*parts, *filter(None, folders)]
