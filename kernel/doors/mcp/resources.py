"""What can be read by address: the files of the repository, and how far its index is."""

import json
import mimetypes
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from dataclasses import dataclass
from urllib.parse import quote, unquote

from kernel.agent.context import ToolContext
from kernel.agent.files import load
from kernel.agent.tool import ToolFailed
from kernel.doors.mcp.reaching import described
from kernel.doors.mcp.repository import Repository
from kernel.errors import WrongParam

SCHEME = "codekernel://"
STATUS_ADDRESS = f"{SCHEME}index/status"
FILE_ADDRESS = f"{SCHEME}file/"
FILE_TEMPLATE = f"{FILE_ADDRESS}{{+path}}"
PAGE_FILES = 500
JSON, TEXT = "application/json", "text/plain"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that can be read; ``path`` is relative to the repository."""

    path: str
    size: int

    @property
    def address(self) -> str:
        """By which it is read."""
        return FILE_ADDRESS + quote(self.path, safe="/", errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the files by path, and where the next page begins, if there is one."""

    files: list[Listed]
    next: str | None


@dataclass(frozen=True, slots=True)
class Read:
    """A text and what kind of text it is."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of one repository."""

    repository: Repository
    context: ToolContext

    def page(self, cursor: str | None) -> Page:
        """The indexed files from a cursor on. Raises KernelError."""
        files = self.repository.index.store.catalogue.files()
        paths = sorted(files)
        first = bisect_right(paths, _path_of(cursor)) if cursor else 0
        here = paths[first : first + PAGE_FILES]
        more = first + PAGE_FILES < len(paths)
        return Page(
            [Listed(path, files[path].size) for path in here], _cursor(here[-1]) if more else None
        )

    def read(self, address: str) -> Read:
        """What lies at an address. Raises KernelError."""
        if address == STATUS_ADDRESS:
            status = described(self.repository.status(), str(self.repository.root.folder))
            return Read(json.dumps(status, indent=2), JSON)
        if not address.startswith(FILE_ADDRESS):
            raise ToolFailed(f"There is no resource {address}: see resources/list.")
        path = unquote(address.removeprefix(FILE_ADDRESS), errors="surrogateescape")
        text = load(self.context, path).text
        return Read(text.encode("utf-8", "replace").decode(), kind_of(path))


def kind_of(path: str) -> str:
    """The MIME type of a text file."""
    guessed = mimetypes.guess_type(path)[0] or TEXT
    return guessed if guessed.startswith("text/") or guessed == JSON else TEXT


def _cursor(path: str) -> str:
    return urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode("ascii")


def _path_of(cursor: str) -> str:
    try:
        return urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8", "surrogateescape")
    except ValueError:
        raise WrongParam(f"{cursor} is no cursor: begin again without one.") from None
