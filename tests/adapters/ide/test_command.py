"""``codekernel ide-tools`` as a process of its own, dialled and dialling."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from adapters.ide.conftest import BackendSide
from codekernel.adapters.ide.backend import IdeBackend
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from support.command_line import CODEKERNEL, codekernel
from support.kernel_process import bare_environment
from websockets.sync.client import connect

LONG_SECONDS = 60


@contextmanager
def ide_tools(
    user_data: Path, project: Path, *words: str, **environ: str
) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*CODEKERNEL, "ide-tools", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**bare_environment(user_data), **environ},
        cwd=project,
    ) as process:
        yield process
        process.terminate()
        code = process.wait(LONG_SECONDS)
        assert code == 0 or os.name == "nt"  # where a process cannot handle it


@pytest.mark.slow
def test_it_listens_and_answers_clients_with_the_token(user_data: Path, project: Path) -> None:
    with ide_tools(user_data, project, "--listen", "0", "--read-only") as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        name, _, value = process.stdout.readline().strip().partition(": ")
        with connect(address, additional_headers={name: value}, proxy=None) as connection:
            backend = BackendSide(connection)
            found = backend.call("grep_file", pattern="TODO", projectKey="any")
            assert "core/src/File.java:3" in found["result"]
            chain = backend.call("call_chain", method="File.check")
            assert "File.open" in chain["result"], chain
            refused = backend.call("apply_change", relativePath="a", replaceContent="b")
            assert "not allowed" in refused["error"]
    assert not (project / "a").exists()


@pytest.mark.slow
def test_it_reconnects_to_a_backend_that_was_away(user_data: Path, project: Path) -> None:
    backend = IdeBackend(token="t" * 32)
    number, url = backend.port.port_number, f"{backend.url}?sessionId=s-1"
    backend.port.start()
    with ide_tools(user_data, project, "--connect", url, CODEKERNEL_IDE_TOKEN="t" * 32):
        calling = backend.wait_for_session("s-1", LONG_SECONDS)
        assert calling
        assert calling.project_key == project.name
        assert calling.call("grep_file", {"pattern": "TODO"}).success
        backend.port.stop()
        again = IdeBackend(number, "t" * 32)
        again.port.start()
        calling = again.wait_for_session("s-1", LONG_SECONDS)
        assert calling
        done = calling.call("apply_change", {"relativePath": "new.txt", "replaceContent": "x"})
        assert done.success
        again.port.stop()
    assert (project / "new.txt").read_text(encoding="utf-8") == "x"
    (folder,) = (user_data / "agent" / "journals").iterdir()
    (change,) = ChangeJournal(folder, WorkspaceRoot.from_path(project)).changes
    assert (change.tool, change.path) == ("apply_change", "new.txt")


def test_errors_are_reported(user_data: Path, project: Path) -> None:
    assert codekernel(user_data, project, "ide-tools").returncode == 2
    both = codekernel(user_data, project, "ide-tools", "--connect", "ws://x", "--listen", "1")
    assert both.returncode == 2
    far = codekernel(user_data, project, "ide-tools", "--connect", "ws://example.com/")
    assert far.returncode == 2
    assert "--anywhere" in far.stderr
