"""Put off importing what modules name at their top and most runs of a command never use.

``dataclasses`` imports ``inspect``, and with it the parser of Python, to describe classes that
describe themselves here; websockets reads its own version only in a checkout of itself. Together
they are 4 MB and 15 ms in a process that shows results or serves a browser.
"""

import importlib
import sys
import threading
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Nothing of them is used while the modules that import them are.
LATE_MODULES = frozenset(
    {"importlib.metadata", "inspect", "ipaddress", "shutil", "subprocess", "webbrowser"}
)


class _LateModule(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import itself looks for those
            raise AttributeError(name)
        return getattr(_import_now(self), name)


class _LateModuleFinder:
    """Finds a stand-in for each late module, once."""

    def __init__(self) -> None:
        self._waiting = set(LATE_MODULES)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return the stand-in, unless it is the real module's turn."""
        if name not in self._waiting:
            return None
        self._waiting.remove(name)
        return ModuleSpec(name, self)  # type: ignore[arg-type] # has the methods that are called

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a stand-in."""
        return _LateModule(spec.name)

    def exec_module(self, _: ModuleType) -> None:
        """There is nothing in it."""


_finder = _LateModuleFinder()
_lock = threading.RLock()


def _import_now(stand_in: ModuleType) -> ModuleType:
    """Return the module itself, in whose place the stand-in was."""
    name = stand_in.__name__
    with _lock:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return importlib.import_module(name)


def put_off_imports() -> None:
    """Let those modules be imported by their first use, if they are not there yet."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
