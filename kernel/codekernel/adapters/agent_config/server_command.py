"""The command line by which an agent starts ``codekernel mcp``.

Agents of the desktop start with a bare PATH and time out after 30 s, so that the file of a user
names the installed program by its absolute path: neither a search for it nor a download is left to
the start of the server. The file of a project is shared with others, and names the program alone.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel import __version__
from codekernel.storage.user_data import UserData, locate_user_data

PROGRAM = "codekernel"

# In the cache of uv, which may be emptied any time: folders of ``uvx``.
_CACHED_FOLDERS = frozenset({"archive-v0", "environments-v2"})


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A program and its arguments."""

    program: str
    arguments: tuple[str, ...]

    def with_repository(self, folder: str) -> "ServerCommand":
        """Return the command for the repository in a folder; the client may replace a variable."""
        return replace(self, arguments=(*self.arguments, "--repo", folder))


def find_user_command(environ: Mapping[str, str], user_data: UserData) -> ServerCommand:
    """Return the command for this machine; userData is named if it is not in its usual place.

    The agent has another environment, and would begin a second index elsewhere.
    """
    program, first = _find_installed_program(environ)
    arguments = (*first, "mcp")
    if user_data != locate_user_data(None, {}):
        arguments += ("--user-data", str(user_data.root))
    return ServerCommand(program, arguments)


def make_project_command() -> ServerCommand:
    """Return the command for everybody who works on a project."""
    return ServerCommand(PROGRAM, ("mcp",))


def _find_installed_program(environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    if _CACHED_FOLDERS.intersection(Path(sys.prefix).parts):
        uvx = shutil.which("uvx", path=environ.get("PATH")) or "uvx"
        return uvx, (f"{PROGRAM}=={__version__}",)
    suffix = ".exe" if os.name == "nt" else ""
    script = Path(sysconfig.get_path("scripts"), PROGRAM + suffix)
    if not script.exists():
        return sys.executable, ("-m", PROGRAM)
    # A link to it, as of pipx, uv and Homebrew, survives an update that moves the program.
    found = shutil.which(PROGRAM, path=environ.get("PATH"))
    if found and os.path.realpath(found) == os.path.realpath(script):
        return os.path.abspath(found), ()  # noqa: PTH100 - keeps the link
    return str(script), ()
