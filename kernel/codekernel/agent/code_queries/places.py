"""Places as agents and people write them: ``path``, ``path:12``, ``path:12-20``, absolute or ``file://``."""

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote

from codekernel.agent.code_queries.context import CodeContext
from codekernel.agent.tools.file_access import path_exists

_FILE_SCHEME = "file://"
_LINES = re.compile(r"(?P<path>.+?):(?:L)?(?P<first>\d{1,9})(?:(?:-|:|\.\.)L?(?P<last>\d{1,9}))?$")
_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A file and lines of it, counted from 1 and included; 0 if none were given."""

    path: str
    first_line: int = 0
    last_line: int = 0

    def __str__(self) -> str:
        if not self.first_line:
            return self.path
        is_one = self.first_line == self.last_line
        return f"{self.path}:{self.first_line}" + ("" if is_one else f"-{self.last_line}")


def parse_place(text: str, context: CodeContext) -> CodePlace:
    """Return the place, its path relative to the repository. Raises ToolError if outside."""
    path, lines = strip_scheme(text), None
    found = _LINES.match(path)
    # A colon is part of a name where it may be, and never on Windows.
    if found and (os.name == "nt" or not path_exists(context, path)):
        path, lines = found["path"], (int(found["first"]), int(found["last"] or found["first"]))
    relative = context.root.format_path(context.root.resolve(path))
    if lines is None:
        return CodePlace(relative)
    first, last = max(1, min(lines)), max(1, *lines)
    return CodePlace(relative, first, last)


def strip_scheme(text: str) -> str:
    """Return a path without ``file://``."""
    text = text.strip()
    if not text.startswith(_FILE_SCHEME):
        return text
    path = unquote(text.removeprefix(_FILE_SCHEME))
    return path[1:] if _WINDOWS_DRIVE.match(path) else path
