"""Commands of the terminal beside a shared kernel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.conversation_client import chat_settings
from support.shared_kernel import ENVIRON, SharedKernel, block_endpoint, is_running, set_variables

QUERY = "how is a session closed"


def run(shared: SharedKernel, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(shared.user_data)}
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("form", [(), ("--files",), ("--json",), ("--explain",), ("--words",)])
def test_a_search_says_the_same_with_and_without_the_shared_kernel(
    shared: SharedKernel, repo: Path, form: tuple[str, ...]
) -> None:
    together = run(shared, repo, "search", QUERY, "--repo", ".", *form)
    alone = run(shared, repo, "search", QUERY, "--repo", ".", "--standalone", *form)
    assert (together.returncode, together.stderr) == (0, "")
    assert "session.py" in together.stdout
    assert alone.returncode == 0
    if form == ("--json",):
        for mine, other in zip(json.loads(together.stdout), json.loads(alone.stdout), strict=True):
            assert {**mine, "chunkId": 0} == {**other, "chunkId": 0}
    else:
        assert together.stdout == alone.stdout


def test_a_search_registers_its_folder_and_follows_its_files(
    shared: SharedKernel, repo: Path
) -> None:
    assert run(shared, repo, "search", "frobnicate", "--repo", ".").returncode == 1
    with shared.connect() as kernel:
        assert [each["name"] for each in kernel.request("getRepos")["repoList"]] == [repo.name]
    (repo / "new.py").write_text("def frobnicate(): pass\n", encoding="utf-8")
    for _ in range(50):
        found = run(shared, repo, "search", "frobnicate", "--files", "--repo", ".")
        if found.returncode == 0:
            break
    assert found.stdout == "new.py\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("search", "/(/"), "regular expression"),
        (("search", "lang:nonsense x"), "nonsense"),
        (("repos", "remove", "unknown"), "unknown"),
        (("repos", "add", "nowhere"), "nowhere"),
    ],
)
def test_what_the_kernel_refuses_is_said_and_exits_with_2(
    shared: SharedKernel, repo: Path, words: tuple[str, ...], reason: str
) -> None:
    found = run(shared, repo, *words)
    assert found.returncode == 2
    assert reason in found.stderr
    assert "Traceback" not in found.stderr


def test_status_and_stop(shared: SharedKernel, repo: Path) -> None:
    for command in ("status", "stop"):
        nothing = run(shared, repo, command)
        assert (nothing.returncode, nothing.stderr) == (1, "")
        assert nothing.stdout == f"no kernel runs for {shared.user_data}\n"
    assert json.loads(run(shared, repo, "status", "--json").stdout) == {"running": False}
    assert json.loads(run(shared, repo, "stop", "--json").stdout) == {"stopped": False}
    with shared.attach() as front_end:
        front_end.open(repo, 3)
        lines = run(shared, repo, "status").stdout.splitlines()
        assert lines[0].startswith("kernel ")
        assert any(line.startswith("client serve, process") for line in lines)
        assert any(line.startswith(f"index of {repo.name}: ") for line in lines)
        told = json.loads(run(shared, repo, "status", "--json").stdout)
        assert (told["running"], told["userData"]) == (True, str(shared.user_data))
        assert told["kernelVersion"] in lines[0]
        # The front end cannot be without a kernel.
        stopped = json.loads(run(shared, repo, "stop", "--json").stdout)
        assert (stopped["stopped"], stopped["pid"]) == (True, told["pid"])
        assert not is_running(told["pid"])
        assert front_end.request("getRepos")["data"]["repoList"]
    pid = shared.status()["pid"]
    assert pid != told["pid"]
    stop = run(shared, repo, "stop")
    assert (stop.returncode, stop.stdout) == (0, f"the kernel has stopped (process {pid})\n")
    assert not is_running(pid)
    assert run(shared, repo, "status").returncode == 1


def test_the_kernel_leaves_when_it_is_not_used(shared: SharedKernel, repo: Path) -> None:
    settings = json.loads((shared.user_data / "settings.json").read_text(encoding="utf-8"))
    settings["kernel"] = {"idleMinutes": 0}
    (shared.user_data / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    for _ in range(100):
        if run(shared, repo, "status").returncode == 1:
            return
    raise AssertionError("the kernel stays")


def test_settings_may_ask_for_a_kernel_of_ones_own(shared: SharedKernel, repo: Path) -> None:
    settings = json.loads((shared.user_data / "settings.json").read_text(encoding="utf-8"))
    settings["kernel"] = {"standalone": True}
    (shared.user_data / "settings.json").write_text(
        json.dumps(settings, indent=1), encoding="utf-8"
    )
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    assert run(shared, repo, "status").returncode == 1


def test_without_an_endpoint_a_search_does_its_own_work(
    shared: SharedKernel, repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_variables(monkeypatch, block_endpoint(shared.user_data, tmp_path))
    found = run(shared, repo, "search", QUERY, "--repo", ".")
    assert found.returncode == 0
    assert "session.py" in found.stdout
    assert "an index of its own" in found.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_kernel_that_only_searches_loads_no_library_that_only_writing_needs(
    shared: SharedKernel, repo: Path
) -> None:
    chat_settings(shared.user_data, "http://127.0.0.1:9/v1", vectors=True)
    first = run(shared, repo, "search", QUERY, "--repo", ".", "--wait", "--json", "--explain")
    assert run(shared, repo, "stop").returncode == 0
    again = run(shared, repo, "search", QUERY, "--repo", ".", "--wait", "--json", "--explain")
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert any(result["why"]["meaning"] > 0 for result in json.loads(again.stdout))
    loaded = list_libraries(shared)
    assert "numpy" in loaded
    assert not {"lance", "pyarrow", "pydantic"} & loaded


def list_libraries(shared: SharedKernel) -> set[str]:
    """Those of the libraries asked for below whose code is in the kernel's memory."""
    maps = Path(f"/proc/{shared.status()['pid']}/maps").read_text(encoding="utf-8")
    known = ("lance", "pyarrow", "numpy", "onnxruntime", "pydantic")
    return {name for name in known if name in maps}
