"""The files of the pages: where they lie, and what a browser is told about each."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from kernel.errors import StorageError

# As electron-bridge/src/secure_window.js has it: pages get scripts and styles of their own only,
# and talk to nobody else.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data: blob:; "
    "font-src 'self'; "
    "connect-src 'self'; "
    "base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'; "
    "object-src 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
HTML = "text/html; charset=utf-8"
# As in electron-bridge/src/pages.js; nothing else is served.
_TYPES = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_PACKAGE = Path(__file__).parents[2]
_FIRST_PAGE = "repos.html"


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent."""

    content: bytes
    type: str


class Pages:
    """The files of one folder; nothing outside it is ever read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> File | None:
        """The file at a path of the address, as it stands there; None if there is none."""
        name = unquote(path)
        kind = _TYPES.get(Path(name).suffix)
        if kind is None or "\0" in name or "\\" in name:
            return None
        try:
            root = os.path.realpath(self._folder, strict=True)
            file = Path(os.path.realpath(Path(root, name.lstrip("/")), strict=True))
            return File(file.read_bytes(), kind) if Path(root) in file.parents else None
        except OSError:
            return None


def pages_folder() -> Path:
    """Where the pages lie: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "pages"
    checkout = _PACKAGE.parent / "electron-bridge" / "app" / "pages"
    for folder in (installed, checkout):
        if (folder / _FIRST_PAGE).is_file():
            return folder
    raise StorageError(
        f"The pages are missing: there is no {_FIRST_PAGE} in {installed} nor in {checkout}. "
        "Install codekernel again, or use codekernel search and codekernel ask."
    )
