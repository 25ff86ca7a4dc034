"""Import LanceDB without the client of its REST service, which nothing here uses.

The client's 200 generated modules took 0.55 of the 0.95 s of CPU of the import, and 20 MB.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# What LanceDB may have read ahead of itself. With its own 2 GB it reads a whole file at once: a
# compaction of 660,000 rows then took 361 MB at its peak, and with 16 MB 132, at the same CPU.
READ_AHEAD_VARIABLE = ("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 * 1024 * 1024))

_CLIENT_PACKAGES = {"lance_namespace", "lance_namespace_urllib3_client"}


class _EmptyModule(ModuleType):
    """Has every name that is asked for; LanceDB needs them for annotations and ``except``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, type(name, (Exception,), {}))
        return self.__dict__[name]


class _ClientFinder(MetaPathFinder, Loader):
    """Finds an empty module in place of each module of the client."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        is_client = fullname.partition(".")[0] in _CLIENT_PACKAGES
        return ModuleSpec(fullname, self, is_package=True) if is_client else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, _: ModuleType) -> None:
        """There is nothing in it."""


def import_lancedb() -> ModuleType:
    """Return LanceDB, imported by the first caller."""
    finder = _ClientFinder()
    sys.meta_path.insert(0, finder)
    try:
        import lancedb  # noqa: PLC0415  # takes half a second of CPU
    finally:
        sys.meta_path.remove(finder)
    module: ModuleType = lancedb
    return module
