"""A process that makes one call of a tool and is killed before its n-th touch of a file.

Started by test_killed.py: ``killed_writer.py ROOT JOURNAL N TOOL ARGUMENTS``. It ends with 0 once
there are fewer touches than that.
"""

import os
import signal
import sys
from collections.abc import Iterator
from itertools import count, repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.agent.workspace.atomic_write import TemporaryFileLog
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot

# What changes something on a disk; ``open`` is looked at more closely.
TOUCHES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}


def main() -> None:
    repo, folder, number, tool, arguments = sys.argv[1:]
    root = WorkspaceRoot.from_path(Path(repo))
    context = ToolContext(root, ChangeJournal(Path(folder), root), permissions=ALLOW_ALL_POLICY)
    tools = build_agent_tools()
    touches: Iterator[int] = count(1)

    def touched(event: str, given: tuple[Any, ...]) -> None:
        is_write = event == "open" and isinstance(given[2], int) and given[2] & os.O_ACCMODE
        if (event in TOUCHES or is_write) and next(touches) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    # The place for notes is made once in a process, with several touches that change no file.
    with TemporaryFileLog(Path(folder) / "unfinished").track():
        pass
    sys.addaudithook(touched)
    outcome = tools.call(tool, arguments, context)
    touches = repeat(0)
    sys.exit(0 if outcome.success else outcome.text)


main()
