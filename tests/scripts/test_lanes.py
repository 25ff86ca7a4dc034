"""The order of the tests, and which of them the fast lane leaves out."""

from types import ModuleType

import pytest
from support.command_line import codekernel
from support.process_tests import calls_process_helper
from support.slowest_first import deal_items


@pytest.mark.parametrize("workers", [1, 2, 3, 6, 9])
def test_every_test_is_dealt_once(request: pytest.FixtureRequest, workers: int) -> None:
    items = request.session.items
    dealt = deal_items(items, workers)
    assert len(dealt) == len(items)
    assert set(dealt) == set(items)


def test_a_helper_is_found_behind_another_function_of_the_module() -> None:
    module = ModuleType("example")
    code = "def ask(): helper()\ndef loop(): ask(); loop()\ndef quick(): len('')"
    exec(code, module.__dict__)  # noqa: S102 - functions of a module of its own
    module.__dict__["helper"] = codekernel
    assert calls_process_helper(module.__dict__["loop"], module)
    assert not calls_process_helper(module.__dict__["quick"], module)
