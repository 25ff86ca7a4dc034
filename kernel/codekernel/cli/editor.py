"""Opens a place in the user's editor: one with a window, or one of the terminal."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from codekernel.adapters.web.host_calls import open_in_editor, resolve_file_inside
from codekernel.adapters.web.page_api import EDITORS
from codekernel.cli.output.terminal import print_notice


def open_place(root: Path, file_path: str, line: int) -> None:
    """Open a file of a repository at a line, from 1. Raises KernelError."""
    command = find_terminal_editor(os.environ) if sys.stdin and sys.stdin.isatty() else []
    if command:
        file = str(resolve_file_inside(root, file_path))
        subprocess.run([*command, f"+{line}", file], check=False)
        return
    opened = open_in_editor(str(root), file_path, line, os.environ)
    print_notice(f"opened {file_path}:{line} in {opened['editor']}")


def find_terminal_editor(environ: Mapping[str, str]) -> list[str]:
    """Return the command of VISUAL or EDITOR if it works in a terminal, as vi, emacs -nw, nano."""
    if environ.get("CODEKERNEL_EDITOR"):
        return []
    wanted = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(wanted)
    except ValueError:  # an open quotation mark
        return []
    if not words or not shutil.which(words[0]):
        return []
    name = re.sub(r"\.exe$", "", Path(words[0]).name, flags=re.IGNORECASE)
    return [] if name in EDITORS else words
