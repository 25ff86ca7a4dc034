"""Search, files, read and grep of one repository, for one person.

Everything comes from the index, never from the disk: a link or a path with dots leads nowhere. What
a person may not read is treated as what is not there, word for word.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace

from codekernel.adapters.mcp.toolset.budget import cut_lines
from codekernel.adapters.mcp.toolset.search import format_page
from codekernel.adapters.team.repositories import TeamRepository
from codekernel.adapters.team.rights import PathRules
from codekernel.agent.tools.grep import LineMatch, LineSearch
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, HitList
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import InvalidPath
from codekernel.masking.masker import mask_secrets
from codekernel.search.filters import is_path_match
from codekernel.storage.catalog.catalog import Catalog

MAX_HITS, MAX_FILES, MAX_LINES = 100, 1000, 200

MAX_READ_CHARS = 60_000


@dataclass(frozen=True, slots=True)
class TeamQueries:
    """What one person may ask of one repository."""

    repository: TeamRepository
    rules: PathRules

    def search(self, query: str, limit: int, *, accuracy: bool, cancel: CancelToken) -> HitList:
        """Return the best hits among what may be read, without secrets.

        Raises WrongParam, Cancelled.
        """
        searcher = replace(self.repository.workspace.searcher, is_readable=self.rules.is_readable)
        found = searcher.run_search(query, min(limit, MAX_HITS), cancel, accuracy=accuracy)
        return replace(found, hits=[_hide_secrets(hit) for hit in found.hits])

    def search_for_model(self, query: str, offset: int, budget: int, cancel: CancelToken) -> str:
        """Return a page of hits as text."""
        found = self.search(query, MAX_HITS, accuracy=False, cancel=cancel)
        return format_page(found.hits, offset, budget, MAX_HITS).text

    def list_paths(self, glob: str = "") -> list[str]:
        """Return the readable files, or those of them that match a glob."""
        files = self.repository.workspace.index.query_catalog(Catalog.list_files)
        readable = filter(self.rules.is_readable, files)
        return sorted(path for path in readable if not glob or is_path_match(glob, path))

    def read_lines(self, path: str, first: int = 1, last: int = 0) -> tuple[list[str], int]:
        """Return lines of a file, from ``first`` of 1, and how many it has. Raises InvalidPath."""
        wanted = path.strip().removeprefix("./")
        catalog = self.repository.workspace.index.store.catalog
        file = catalog.find_file(wanted) if self.rules.is_readable(wanted) else None
        if file is None:
            raise InvalidPath(f"there is no file {encode_path(wanted)[:200]}")
        lines = catalog.read_document(file.id).splitlines()
        chosen = lines[max(1, first) - 1 : last or len(lines)]
        return chosen[: cut_lines(chosen, MAX_READ_CHARS)], len(lines)

    def grep(
        self, pattern: str, *, glob: str, is_regex: bool, ignore_case: bool, cancel: CancelToken
    ) -> tuple[list[LineMatch], bool]:
        """Return lines, and whether these are all. Raises WrongParam."""
        context = self.repository.context.with_cancel(cancel)
        lines = LineSearch(context, pattern, is_regex=is_regex, ignore_case=ignore_case)
        found: list[LineMatch] = []
        with closing(self._iterate_texts(glob)) as texts:
            for path, text in texts:
                found += lines.search_text(path, text)
                if len(found) > MAX_LINES or not lines.is_complete or cancel.is_cancelled:
                    return found[:MAX_LINES], False
        return found, True

    def _iterate_texts(self, glob: str) -> Generator[tuple[str, str], None, None]:
        def is_wanted(path: str, _language: str) -> bool:
            return self.rules.is_readable(path) and (not glob or is_path_match(glob, path))

        catalog = self.repository.workspace.index.store.catalog
        with closing(catalog.iterate_documents(is_wanted)) as documents:
            for _, path, text in documents:
                yield path, text


def _hide_secrets(hit: Hit) -> Hit:
    chunk = replace(hit.chunk, signature=mask_secrets(hit.chunk.signature).text)
    return replace(hit, chunk=chunk, content=mask_secrets(hit.content).text)
