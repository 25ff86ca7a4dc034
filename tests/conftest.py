"""What several test folders share: a userData folder, a repository, a running kernel."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.kernel_process import KernelProcess

TESTS = Path(__file__).parent
OF_WHOLE_PROCESSES = {"app", "bridge", "doors", "process", "test_protocol_document.py"}
# Of what hypothesis invents, for tests that name no number of their own: a hundred otherwise.
EXAMPLES_IN_THE_FAST_LANE = 25


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("markexpr") == "not slow":
        from hypothesis import settings  # noqa: PLC0415 - half a second

        settings.register_profile("fast", max_examples=EXAMPLES_IN_THE_FAST_LANE)
        settings.load_profile("fast")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting a process takes longer than most tests, so that whoever starts one is slow."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in OF_WHOLE_PROCESSES or "kernel" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


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


@pytest.fixture(scope="session")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    """A running kernel for tests that leave it as it was; starting one takes longer than most."""
    user_data = tmp_path_factory.mktemp("shared") / "userData"
    user_data.mkdir()
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running


@pytest.fixture
def cleared_kernel(shared_kernel: KernelProcess) -> Iterator[KernelProcess]:
    """The shared kernel, which has said nothing yet and knows no repository."""
    shared_kernel.forget()
    yield shared_kernel
    for known in shared_kernel.request("getRepos")["data"]["repoList"]:
        shared_kernel.request("deleteRepo", repoName=known["name"])


@pytest.fixture
def kernel(user_data: Path) -> Iterator[KernelProcess]:
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running
