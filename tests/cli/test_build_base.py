"""What ``codekernel build-base`` prints, and a build that is killed."""

import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from cli.test_share import set_up
from codekernel.cli.commands.build_base import run_build_base
from codekernel.errors import WrongParam
from support.git_history import GitHistory
from support.shared_kernel import ENVIRON

MANY = 12


def build_base(user_data: Path, **options: object) -> int:
    defaults: dict[str, object] = {
        "name": "all",
        "repo": [],
        "repos": None,
        "on": "local",
        "workers": 1,
        "ray_address": "auto",
    }
    return run_build_base(Namespace(user_data=str(user_data), **defaults | options))


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    histories = [GitHistory(tmp_path / f"part{number}") for number in range(MANY)]
    for number, history in enumerate(histories):
        history.commit("begin", {"hello.py": f"def hello_{number}():\n    return {number}\n"})
    return [history.folder for history in histories]


@pytest.mark.slow
def test_a_base_is_built_from_a_list_and_what_fails_is_named(
    user_data: Path,
    tmp_path: Path,
    roots: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    set_up(user_data, store, monkeypatch)
    empty = GitHistory(tmp_path / "empty")
    listed = tmp_path / "all.txt"
    listed.write_text(f"# ours\n{roots[0]}\nsecond={roots[1]}\n", encoding="utf-8")
    assert build_base(user_data, repos=listed) == 0
    assert "2 repositories, 2 chunks, 2 parts built" in capsys.readouterr().out
    assert build_base(user_data, repos=listed, repo=[f"broken={empty.folder}"]) == 0
    assert "2 chunks, 0 parts built" in capsys.readouterr().out


def test_a_base_of_nothing_is_explained(user_data: Path) -> None:
    with pytest.raises(WrongParam, match="which repositories"):
        build_base(user_data)
    with pytest.raises(WrongParam, match="cannot be read"):
        build_base(user_data, repos=Path("nowhere.txt"))


@pytest.mark.slow
def test_a_build_that_is_killed_leaves_nothing_published_and_goes_on(
    user_data: Path,
    tmp_path: Path,
    roots: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    set_up(user_data, store, monkeypatch)
    words = [word for root in roots for word in ("--repo", str(root))]
    command = [sys.executable, "-m", "codekernel", "build-base", "all", *words]
    with subprocess.Popen(
        [*command, "--workers", "1", "--user-data", str(user_data)],
        env={**os.environ, **ENVIRON, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as builder:
        while not (found := list(store.rglob("parts/*.rows"))) and builder.poll() is None:
            pass
        os.killpg(builder.pid, signal.SIGKILL)
    assert found
    assert not list(store.rglob("manifests/*"))
    assert build_base(user_data, repo=list(map(str, roots))) == 0
    told = re.search(r"(\d+) chunks, (\d+) parts built", capsys.readouterr().out)
    assert told
    assert int(told[1]) == MANY
    assert int(told[2]) <= MANY - len(found)
