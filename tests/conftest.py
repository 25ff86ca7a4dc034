"""What several test folders share: a userData folder, a repository, a running kernel."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.kernel_process import KernelProcess


@pytest.fixture
def user_data(tmp_path: Path) -> Path:
    folder = tmp_path / "userData"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    return folder


@pytest.fixture
def kernel(user_data: Path) -> Iterator[KernelProcess]:
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running
