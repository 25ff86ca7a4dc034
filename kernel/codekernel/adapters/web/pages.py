"""The static page files with their MIME types and security headers.

The landing and error pages of the web host itself.
"""

import os
from dataclasses import dataclass
from html import escape
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

_PACKAGE_FOLDER = Path(__file__).parents[2]

_ENTRY_PAGE = "repos.html"


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file with its MIME type."""

    content: bytes
    mime_type: str


class StaticPages:
    """The files of one folder; nothing outside it is ever read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> PageFile | None:
        """Return the file at a URL path; None if there is none."""
        name = unquote(path)
        kind = MIME_TYPES.get(Path(name).suffix)
        if kind is None or "\0" in name or "\\" in name:
            return None
        try:
            root = os.path.realpath(self._folder, strict=True)
            file = Path(os.path.realpath(Path(root, name.lstrip("/")), strict=True))
            return PageFile(file.read_bytes(), kind) if Path(root) in file.parents else None
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


# Saves the page secret, or requests a lost cookie again; public, as there may be no cookie yet.
_SCRIPT_PATH = "/web/enter.js"

PUBLIC_PATHS = (_SCRIPT_PATH, "/web/page_secret.js")

_PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>codekernel</title>{head}
  </head>
  <body>
    {body}
  </body>
</html>
"""

_SCRIPT_TAG = f'\n    <script type="module" src="{_SCRIPT_PATH}"></script>'


def render_landing_page(address: str, page_secret: str | None) -> bytes:
    """Render the page that saves the secret and then goes on to ``address``.

    Not a redirect: the browser would follow it in the name of whatever page had the link, and keep
    back the cookie that it was just given. A refresh waits until the scripts of a page have run.
    """
    target = escape(address)
    refresh = f'\n    <meta http-equiv="refresh" content="0;url={target}" />'
    secret = f'\n    <meta name="codekernel-secret" content="{page_secret}" />{_SCRIPT_TAG}'
    return _PAGE_TEMPLATE.format(
        head=(secret if page_secret else "") + refresh,
        body=f'<p><a href="{target}">Open codekernel</a></p>',
    ).encode()


def render_error_page(sentence: str, *, retry: bool = False) -> bytes:
    """Render a page with a sentence; ``retry`` adds a link to try again."""
    more = ' <a href="/">Try again</a>' if retry else ""
    head = _SCRIPT_TAG if retry else ""
    return _PAGE_TEMPLATE.format(head=head, body=f"<p>{escape(sentence)}{more}</p>").encode()
