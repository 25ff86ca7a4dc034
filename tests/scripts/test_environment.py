"""scripts/environment.py: the first run on a machine, with the real pip and small packages."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.package_index import PackageIndex, make_wheel, serve_package_index
from support.polling import wait_until

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
DEADLINE_SECONDS = 240
pytestmark = pytest.mark.slow
PACKAGE_BYTES = 3_000_000
ENSURE = """
import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])
import environment; print(environment.ensure(Path(sys.argv[2]), "Now type: this"))
"""
FILES = {f"{name}-1.0-py3-none-any.whl": make_wheel(name, PACKAGE_BYTES) for name in ("aa", "bb")}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    lines = [
        f"{name[:2]}==1.0 \\\n    --hash=sha256:{hashlib.sha256(body).hexdigest()}\n"
        for name, body in FILES.items()
    ]
    other = "cc==1.0 ; sys_platform == 'none' \\\n    --hash=sha256:" + "0" * 64 + "\n"
    path = tmp_path / "some.lock"
    path.write_text("".join([*lines, other]))
    return path


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    with serve_package_index(FILES) as served:
        yield served


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    return place


@pytest.fixture
def place(tmp_path: Path, empty_environment: Path) -> Path:
    """An environment with nothing in it yet, which takes seconds to make."""
    shutil.copytree(empty_environment, tmp_path / "venv", symlinks=True)
    return tmp_path / "venv"


def start(place: Path, lock: Path, url: str) -> "subprocess.Popen[str]":
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environ |= {
        "CODEKERNEL_VENV": str(place),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": url,
        "PIP_CACHE_DIR": str(place.parent / "cache"),
        "PIP_TRUSTED_HOST": "127.0.0.1",  # pip keeps no files of others that it reached by http
        "PIP_RETRIES": "0",
    }
    command = [sys.executable, "-c", ENSURE, str(SCRIPTS), str(lock)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True)


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, out, err


def has_package(place: Path, name: str) -> bool:
    command = [str(place / "bin" / "python"), "-c", f"import {name}"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_a_first_run_says_what_it_does_before_it_does_it_and_at_the_end_what_to_type(
    tmp_path: Path, lock: Path, index: PackageIndex
) -> None:
    process = start(tmp_path / "venv", lock, index.url)
    assert process.stderr
    first = process.stderr.readline()
    assert "Setting up codekernel" in first
    assert not index.half_sent.is_set()  # nothing was fetched before
    index.gate.set()
    code, out, err = finish(process)
    assert code == 0
    assert out.strip() == str(tmp_path / "venv" / "bin" / "python")
    last = err.splitlines()[-1]
    assert re.fullmatch(r"Ready after \d+ s \(2 packages, 6 MB fetched\)\. Now type: this", last)
    assert has_package(tmp_path / "venv", "aa")
    assert not (tmp_path / "venv" / "downloads").exists()


def test_while_packages_come_lines_tell_how_many_and_how_much_and_never_fall(
    place: Path, lock: Path, index: PackageIndex
) -> None:
    process = start(place, lock, index.url)
    assert process.stderr
    lines = []
    for line in process.stderr:
        lines.append(line)
        if re.search(r"1 of 2 packages, [12] MB fetched", line):  # half of the first file
            index.gate.set()
    assert finish(process)[0] == 0
    assert index.gate.is_set()
    sizes = [int(found[1]) for line in lines if (found := re.search(r"(\d+) MB", line))]
    assert sizes == sorted(sizes)


def test_a_second_run_prints_nothing(place: Path, lock: Path, index: PackageIndex) -> None:
    index.gate.set()
    assert finish(start(place, lock, index.url))[0] == 0
    code, _, err = finish(start(place, lock, "http://127.0.0.1:9/simple"))
    assert (code, err) == (0, "")


def test_a_set_up_that_was_interrupted_continues_with_what_it_has(
    place: Path, lock: Path, index: PackageIndex
) -> None:
    index.held_prefix = "bb"
    process = start(place, lock, index.url)
    assert index.half_sent.wait(DEADLINE_SECONDS)
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] != 0
    index.gate.set()
    index.sent_files.clear()
    assert finish(start(place, lock, index.url))[0] == 0
    assert index.sent_files == ["bb-1.0-py3-none-any.whl"]
    assert has_package(place, "aa")


def test_an_environment_that_was_half_made_when_killed_is_made_again(
    tmp_path: Path, lock: Path, index: PackageIndex
) -> None:
    index.gate.set()
    place = tmp_path / "venv"
    killed = start(place, lock, index.url)
    first_file = place / "pyvenv.cfg"
    wait_until(lambda: first_file.exists() or killed.poll() is not None)
    assert killed.poll() is None
    killed.kill()
    finish(killed)
    # The venv that it started goes on and holds the lock: the next set-up waits for it.
    code, _, err = finish(start(place, lock, index.url))
    assert code == 0, err
    assert has_package(place, "aa")


def test_without_a_network_a_sentence_says_what_to_do(place: Path, lock: Path) -> None:
    code, out, err = finish(start(place, lock, "http://127.0.0.1:9/simple"))
    assert code == 1
    assert out == ""
    assert "Connect to the network and say the same again" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_two_set_ups_at_once_wait_for_each_other(
    place: Path, lock: Path, index: PackageIndex
) -> None:
    one = start(place, lock, index.url)
    assert index.half_sent.wait(DEADLINE_SECONDS)
    two = start(place, lock, index.url)
    assert two.stderr
    while "Another set-up" not in two.stderr.readline():
        assert two.poll() is None
    index.gate.set()
    assert finish(one)[0] == 0
    assert finish(two)[0] == 0
    assert sorted(index.sent_files) == sorted(FILES)  # each once


def test_a_folder_with_other_files_is_never_emptied(
    tmp_path: Path, lock: Path, index: PackageIndex
) -> None:
    mine = tmp_path / "venv" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("years of work")
    code, _, err = finish(start(mine.parent, lock, index.url))
    assert code == 1
    assert "is no environment" in err
    assert mine.read_text() == "years of work"
