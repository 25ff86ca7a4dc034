"""Options for starting child processes of our own.

In a process group of their own, so that Ctrl-C in the terminal does not reach them, and without
a console window on Windows.
"""

import os
import subprocess
from typing import Any

# No console window beside the front end's on Windows.
CHILD_PROCESS_OPTIONS: dict[str, Any] = (
    {"process_group": 0}
    if os.name == "posix"
    else {
        "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)
        | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    }
)
