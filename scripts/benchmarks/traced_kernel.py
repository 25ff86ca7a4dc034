"""The kernel, which on SIGUSR1 writes the files of ours whose functions ran since the last signal.

``traced_kernel.py FOLDER``: the lists are FOLDER/0.json, FOLDER/1.json and so on.
"""

import inspect
import itertools
import json
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

import codekernel
from codekernel.cli.commands.serve import run_serve

PACKAGE = str(Path(codekernel.__file__).parent)
_called: set[str] = set()
_numbers = itertools.count()


def _note(frame: FrameType, event: str, _: object) -> None:
    # Bodies of modules and classes run while something is imported: they are not CO_OPTIMIZED.
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        _called.add(frame.f_code.co_filename)


def _write(*_: object) -> None:
    ours = sorted(name.removeprefix(PACKAGE) for name in _called if name.startswith(PACKAGE))
    _called.clear()
    target = Path(sys.argv[1], f"{next(_numbers)}.json")
    target.with_suffix(".new").write_text(json.dumps(ours), encoding="utf-8")
    target.with_suffix(".new").replace(target)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _write)
    threading.setprofile(_note)
    sys.setprofile(_note)
    sys.exit(run_serve(None, standalone=True))
