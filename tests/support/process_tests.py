"""Which tests are slow, most of them because they start a process: not in the fast lane."""

import re
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

TESTS = Path(__file__).parents[1]
PROCESS_TESTS = {"app", "bridge", "adapters", "process", "test_protocol_document.py"}
# A test elsewhere that calls something of these starts a process, too.
PROCESS_HELPERS = {"support.command_line", "support.kernel_process", "support.shared_kernel"}


# A line of a file whose tests are all slow.
SLOW_FILE = re.compile(r"(?m)^pytestmark = \[?pytest\.mark\.slow\b")


def is_slow_place(path: Path) -> bool:
    """Return whether all tests of a folder or a file are slow."""
    if path.parent == TESTS and path.name in PROCESS_TESTS:
        return True
    return path.match("test_*.py") and bool(SLOW_FILE.search(path.read_text(encoding="utf-8")))


@cache
def is_process_test(file: Path) -> bool:
    return file.relative_to(TESTS).parts[0] in PROCESS_TESTS


def starts_process(item: pytest.Item) -> bool:
    """Return whether a test has a kernel, or calls a helper that starts a process."""
    return "kernel" in getattr(item, "fixturenames", ()) or (
        isinstance(item, pytest.Function) and calls_process_helper(item.function, item.module)
    )


@cache
def calls_process_helper(function: FunctionType, module: ModuleType) -> bool:
    """Return whether a test does, by itself or through other functions of its module."""
    reached = [function]
    for each in reached:
        for called in (getattr(module, name, None) for name in each.__code__.co_names):
            place = getattr(called, "__module__", "")
            if place in PROCESS_HELPERS:
                return True
            if isinstance(called, FunctionType) and place == module.__name__:
                reached += [] if called in reached else [called]
    return False
