"""How processes of our own are started: out of reach of the terminal's Ctrl-C.

A terminal sends Ctrl-C to every process of its group, and each child would show a traceback of its
own. They end with their stdin, that is with the process that started them.
"""

import os
import subprocess
from typing import Any

# No console window beside the front end's on Windows.
CHILD_OPTIONS: dict[str, Any] = (
    {"process_group": 0}
    if os.name == "posix"
    else {
        "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)
        | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    }
)
