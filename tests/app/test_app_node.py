"""The app's tests that need no screen: its main process, and the rooms of its pages."""

from pathlib import Path

import pytest
from support.javascript import APP, check_with_node, name_of, require_node

FILES = sorted((APP / "tests").glob("*.test.js"))
# These start a kernel.
SLOW = {"settings_saver", "host_calls"}


def test_the_parts_that_need_no_kernel_do_what_they_say() -> None:
    require_node()
    check_with_node(*(file for file in FILES if name_of(file) not in SLOW))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("file", [file for file in FILES if name_of(file) in SLOW], ids=name_of)
def test_the_main_process_does_what_its_tests_say(file: Path) -> None:
    require_node()
    check_with_node(file)


def test_the_slow_files_exist() -> None:
    assert {name_of(file) for file in FILES} >= SLOW
