"""The files of the pages and their headers, for each server that shows them."""

import os
from pathlib import Path
from urllib.parse import unquote

from codekernel.adapters.web.page_api import CONTENT_SECURITY_POLICY, MIME_TYPES
from codekernel.errors import StorageError

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

HTML_TYPE = MIME_TYPES[".html"]

_PACKAGE_FOLDER = Path(__file__).parents[1]

_ENTRY_PAGE = "repos.html"


class StaticPages:
    """The files of one folder; nothing outside it is ever read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, path: str) -> tuple[bytes, str] | None:
        """Return the file at a URL path and its MIME type; None if there is none."""
        name = unquote(path)
        kind = MIME_TYPES.get(Path(name).suffix)
        if kind is None or "\0" in name or "\\" in name:
            return None
        try:
            root = os.path.realpath(self.folder, strict=True)
            file = Path(os.path.realpath(Path(root, name.lstrip("/")), strict=True))
            return (file.read_bytes(), kind) if Path(root) in file.parents else None
        except OSError:
            return None


def find_pages_folder() -> Path:
    """Return the folder of the pages: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE_FOLDER / "pages"
    checkout = _PACKAGE_FOLDER.parents[1] / "electron-bridge" / "app" / "pages"
    for folder in (installed, checkout):
        if (folder / _ENTRY_PAGE).is_file():
            return folder
    raise StorageError(
        f"The pages are missing: there is no {_ENTRY_PAGE} in {installed} nor in {checkout}. "
        "Install codekernel again, or use codekernel search and codekernel ask."
    )
