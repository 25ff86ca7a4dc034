"""The MCP resources: files of the repository by URI, listed in pages, and the index status."""

import json
import mimetypes
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from dataclasses import dataclass
from urllib.parse import quote, unquote

from codekernel.adapters.indexed_repository import IndexedRepository, dump_index_status
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import load_text_file
from codekernel.errors import WrongParam

URI_SCHEME = "codekernel://"

STATUS_URI = f"{URI_SCHEME}index/status"

FILE_URI_PREFIX = f"{URI_SCHEME}file/"

FILE_URI_TEMPLATE = f"{FILE_URI_PREFIX}{{+path}}"

PAGE_SIZE = 500

JSON_MIME_TYPE, TEXT_MIME_TYPE = "application/json", "text/plain"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """An indexed file; ``path`` is relative to the repository."""

    path: str
    size: int

    @property
    def uri(self) -> str:
        """The URI of the file."""
        return FILE_URI_PREFIX + quote(self.path, safe="/", errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Files in the order of their paths, and the cursor of the next page, if there is one."""

    files: list[ListedFile]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ResourceText:
    """The text of a resource and its MIME type."""

    text: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class RepositoryResources:
    """The resources of one repository."""

    repository: IndexedRepository
    context: ToolContext

    def list_page(self, cursor: str | None) -> ResourcePage:
        """Return the indexed files from a cursor on. Raises KernelError."""
        files = self.repository.index.store.catalog.list_files()
        paths = sorted(files)
        first = bisect_right(paths, _decode_cursor(cursor)) if cursor else 0
        here = paths[first : first + PAGE_SIZE]
        more = first + PAGE_SIZE < len(paths)
        return ResourcePage(
            [ListedFile(path, files[path].size) for path in here],
            _encode_cursor(here[-1]) if more else None,
        )

    def read(self, uri: str) -> ResourceText:
        """Read the index status or a file. Raises KernelError."""
        if uri == STATUS_URI:
            status = dump_index_status(
                self.repository.get_status(), str(self.repository.root.folder)
            )
            return ResourceText(json.dumps(status, indent=2), JSON_MIME_TYPE)
        if not uri.startswith(FILE_URI_PREFIX):
            raise ToolError(f"There is no resource {uri}: see resources/list.")
        path = unquote(uri.removeprefix(FILE_URI_PREFIX), errors="surrogateescape")
        text = load_text_file(self.context, path).text
        return ResourceText(text.encode("utf-8", "replace").decode(), guess_mime_type(path))


def guess_mime_type(path: str) -> str:
    """Return the MIME type of a text file."""
    guessed = mimetypes.guess_type(path)[0] or TEXT_MIME_TYPE
    return guessed if guessed.startswith("text/") or guessed == JSON_MIME_TYPE else TEXT_MIME_TYPE


def _encode_cursor(path: str) -> str:
    return urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode("ascii")


def _decode_cursor(cursor: str) -> str:
    try:
        return urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8", "surrogateescape")
    except ValueError:
        raise WrongParam(f"{cursor} is no cursor: begin again without one.") from None
