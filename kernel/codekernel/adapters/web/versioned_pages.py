"""The pages with what they load under an address that names its version, so that browsers keep it.

A document is read anew each time. Its scripts and styles come from ``/v/<version>/`` and are never
asked for again; all its modules are announced, so that they come at once and not import by import.
"""

import hashlib
import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from codekernel.adapters.static_pages import HTML_TYPE, StaticPages

_PREFIX = "/v/"

# A year, the most that HTTP knows; another version has another address.
_FOREVER = "private, max-age=31536000, immutable"

_VERSION_BYTES = 9

_LOADED = re.compile(r'(<(?:script|link)\b[^>]*\s(?:src|href)=")(?!/|https?:)([^"]+)"')

_MODULE_SCRIPT = re.compile(r'<script type="module" src="([^"]+)"')

# Imports that a module cannot do without; ``import(...)`` is for later.
_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*["'](\.[^"'\n]+)["']""")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PageFile:
    """What is sent for a path; ``cache_control`` is None if the usual one holds."""

    content: bytes
    kind: str
    cache_control: str | None = None


class VersionedPages:
    """Reads pages for a browser that keeps their files."""

    def __init__(self, pages: StaticPages) -> None:
        self._pages = pages
        self._version = self._compute_version()
        self._documents: dict[tuple[str, str], bytes] = {}

    def read(self, path: str) -> PageFile | None:
        """Return the file at a URL path, with or without a version; None if there is none."""
        version, file_path = _split_version(path)
        file = self._pages.read(file_path)
        if file is None:
            return None
        content, kind = file
        if kind == HTML_TYPE:
            return PageFile(self._render_document(file_path, content), kind)
        # A page of an earlier version gets what there is, and does not keep it.
        return PageFile(content, kind, _FOREVER if version == self._version else None)

    def _render_document(self, path: str, content: bytes) -> bytes:
        version = self._compute_version()
        if version != self._version:
            self._version, self._documents = version, {}
        key = (version, path)
        if key not in self._documents:
            self._documents[key] = self._version_document(path, content.decode()).encode()
        return self._documents[key]

    def _version_document(self, path: str, document: str) -> str:
        place = f"{_PREFIX}{self._version}/"
        entries = _MODULE_SCRIPT.findall(document)
        page_module = f"{Path(path).stem}/main.js"
        if entries and self._pages.read(f"/{page_module}"):
            entries = [*entries, page_module]
        links = "".join(
            f'<link rel="modulepreload" href="{place}{name}" />\n    '
            for name in self._find_modules(entries)
        )
        versioned = _LOADED.sub(rf'\g<1>{place}\g<2>"', document)
        return versioned.replace('<script type="module"', f'{links}<script type="module"', 1)

    def _find_modules(self, entries: list[str]) -> list[str]:
        """Return the modules and all they import, in the order in which they are met."""
        found: dict[str, None] = {}
        waiting = list(entries)
        while waiting:
            name = waiting.pop(0)
            file = None if name in found else self._pages.read(f"/{name}")
            if file is None:
                continue
            found[name] = None
            text = _COMMENT.sub("", file[0].decode())
            folder = posixpath.dirname(name)
            waiting += [posixpath.normpath(f"{folder}/{to}") for to in _IMPORT.findall(text)]
        return list(found)

    def _compute_version(self) -> str:
        """Return a name for the files as they are; an installation writes each of them anew."""
        digest = hashlib.blake2b(digest_size=_VERSION_BYTES)
        for folder, folders, names in os.walk(self._pages.folder):
            folders.sort()
            for name in sorted(names):
                file = Path(folder, name)
                status = file.stat()
                times = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size}"
                digest.update(f"{file}\0{times}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()


def _split_version(path: str) -> tuple[str, str]:
    if not path.startswith(_PREFIX):
        return "", path
    version, _, rest = path.removeprefix(_PREFIX).partition("/")
    return version, f"/{rest}"
