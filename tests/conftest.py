"""Fixtures of several folders: a userData folder, a repository, a running kernel."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from support import folder_costs
from support.environ import Environ
from support.kernel_process import KernelProcess
from support.process_tests import is_process_test, is_slow_place, starts_process
from support.slowest_first import deal_items

# Tests may import onnxruntime before they import the kernel, which does the same.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# A shared kernel would outlive its test; tests/support/shared_kernel.py has those that are meant.
os.environ["CODEKERNEL_STANDALONE"] = "1"
# Of hypothesis, for tests that name no number of their own.
DEFAULT_EXAMPLES, FAST_LANE_EXAMPLES = 100, 25


def is_fast_lane(config: pytest.Config) -> bool:
    return bool(config.getoption("markexpr") == "not slow")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip folders and files whose tests are all slow: importing their libraries takes a second."""
    return True if is_fast_lane(config) and is_slow_place(collection_path) else None


def pytest_configure(config: pytest.Config) -> None:
    """Set no deadlines, for busy machines; use fewer examples in the fast lane; count costs."""
    folder_costs.register(config)
    from hypothesis import settings  # noqa: PLC0415 - half a second

    examples = FAST_LANE_EXAMPLES if is_fast_lane(config) else DEFAULT_EXAMPLES
    settings.register_profile("codekernel", deadline=None, max_examples=examples)
    settings.load_profile("codekernel")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage meanwhile: all that is made stays, and each worker saves a tenth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that start a process as slow, and start the slowest first."""
    for item in items:
        if is_process_test(item.path) or starts_process(item):
            item.add_marker(pytest.mark.slow)
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = deal_items(items, workers)


@pytest.fixture
def environ() -> Iterator[Environ]:
    """The environment of this process, which libraries read; after the test as it was before."""
    before = dict(os.environ)
    yield os.environ
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


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
    """A running kernel for tests that leave it as it was; starting one takes seconds."""
    user_data = tmp_path_factory.mktemp("shared") / "userData"
    user_data.mkdir()
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running


@pytest.fixture
def cleared_kernel(shared_kernel: KernelProcess) -> Iterator[KernelProcess]:
    """The shared kernel, without earlier messages and repositories."""
    shared_kernel.forget()
    yield shared_kernel
    for known in shared_kernel.request("getRepos")["data"]["repoList"]:
        shared_kernel.request("deleteRepo", repoName=known["name"])


@pytest.fixture
def kernel(user_data: Path) -> Iterator[KernelProcess]:
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running
