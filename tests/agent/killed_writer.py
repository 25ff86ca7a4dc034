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

from kernel.agent.context import ToolContext
from kernel.agent.danger import EVERYTHING
from kernel.agent.journal import Journal
from kernel.agent.root import Root
from kernel.agent.toolbox import agent_tools
from kernel.agent.unfinished_writes import UnfinishedWrites

# What changes something on a disk; ``open`` is looked at more closely.
TOUCHES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}


def main() -> None:
    repo, folder, number, tool, arguments = sys.argv[1:]
    root = Root.at(Path(repo))
    context = ToolContext(root, Journal(Path(folder), root), permissions=EVERYTHING)
    tools = agent_tools()
    touches: Iterator[int] = count(1)

    def touched(event: str, given: tuple[Any, ...]) -> None:
        is_write = event == "open" and isinstance(given[2], int) and given[2] & os.O_ACCMODE
        if (event in TOUCHES or is_write) and next(touches) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    # The place for notes is made once in a process, with several touches that change no file.
    with UnfinishedWrites(Path(folder) / "unfinished").noted():
        pass
    sys.addaudithook(touched)
    outcome = tools.call(tool, arguments, context)
    touches = repeat(0)
    sys.exit(0 if outcome.success else outcome.text)


main()
