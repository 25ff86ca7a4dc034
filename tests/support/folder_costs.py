"""What the tests of each folder cost: a table at the end of a run with workers.

Seconds are those that tests took, on all workers together. CPU is that of the workers and of the
processes they started and waited for; what a process of the whole session used is in the last rows.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

CPU_SECONDS = "cpu_seconds"  # name of a property of a report
COLLECTING, ENDING = "(collecting)", "(ending)"
# Rows below this say nothing.
MIN_SECONDS = 1.0


def read_cpu_seconds() -> float:
    """Return the CPU of this process, and of its children that have ended (not on Windows)."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class CostRecorder:
    """In a worker: adds to each report the CPU since the report before it."""

    def __init__(self, config: pytest.Config) -> None:
        self._output: dict[str, float] = config.workeroutput  # type: ignore[attr-defined]
        self._seen = 0.0

    def pytest_collection_finish(self) -> None:
        self._output[COLLECTING] = self._take()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties.append((CPU_SECONDS, self._take()))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._output[ENDING] = self._take()

    def _take(self) -> float:
        before, self._seen = self._seen, read_cpu_seconds()
        return self._seen - before


class CostTable:
    """In the controller: sums what the workers report, and prints it."""

    def __init__(self) -> None:
        self._tests = Counter[str]()
        self._seconds, self._cpu = defaultdict[str, float](float), defaultdict[str, float](float)
        self._started = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        folder = name_folder(report.nodeid)
        self._tests[folder] += report.when == "call"
        self._seconds[folder] += report.duration
        self._cpu[folder] += sum(
            value
            for name, value in report.user_properties
            if name == CPU_SECONDS and isinstance(value, float)
        )

    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        for part in (COLLECTING, ENDING):
            self._cpu[part] += output.get(part, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("costs by folder")
        terminalreporter.write_line(f"{'':24}{'tests':>7}{'seconds':>9}{'CPU':>9}")
        for folder, cpu in sorted(self._cpu.items(), key=lambda each: -each[1]):
            if max(cpu, self._seconds[folder]) >= MIN_SECONDS:
                self._write(terminalreporter, folder)
        seconds, cpu = sum(self._seconds.values()), sum(self._cpu.values())
        total = f"{self._tests.total():7}{seconds:9.0f}{cpu:9.0f}"
        passed = time.monotonic() - self._started
        terminalreporter.write_line(f"{f'all, in {passed:.0f} s':24}{total}")

    def _write(self, reporter: pytest.TerminalReporter, folder: str) -> None:
        tests, seconds, cpu = self._tests[folder], self._seconds[folder], self._cpu[folder]
        reporter.write_line(f"{folder:24}{tests:7}{seconds:9.0f}{cpu:9.0f}")


def name_folder(nodeid: str) -> str:
    """Return the folder of a test below tests/, two deep for the adapters."""
    parts = Path(nodeid.partition("::")[0]).parts[1:-1]
    return "/".join(parts[:2]) or "tests"


def register(config: pytest.Config) -> None:
    if hasattr(config, "workeroutput"):
        config.pluginmanager.register(CostRecorder(config))
    elif config.getoption("numprocesses", None):
        config.pluginmanager.register(CostTable())
