"""What the doctor says of a file and of indexes, after a real kernel has worked."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.index_client import config, write_settings
from support.kernel_process import KernelProcess, bare_environment

# No model, which takes longest to open and is not tested here.
WORDS_ALONE = config("none", 950, selected=False)


def codekernel(user_data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=bare_environment(user_data),
        timeout=60,
        check=False,
    )


def indexed(kernel: KernelProcess, repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (repo / "found.py").write_text("x = 1\n", encoding="utf-8")
    (repo / "noise.log").write_text("x\n", encoding="utf-8")
    (repo / "picture.png").write_bytes(b"\x89PNG\0\0")
    kernel.open(repo, session=1)
    kernel.wait_for(
        lambda line: (
            line["message"].get("filePath") == "found.py" and line["message"]["status"] == "done"
        ),
        "found.py",
    )


@pytest.mark.slow
def test_the_doctor_says_of_each_file_whether_it_is_indexed_and_why_not(
    user_data: Path, repo: Path
) -> None:
    write_settings(user_data, WORDS_ALONE)
    with KernelProcess(user_data) as kernel:
        indexed(kernel, repo)
        check_what_doctor_prints(user_data, repo)


def check_what_doctor_prints(user_data: Path, repo: Path) -> None:
    found = codekernel(user_data, "doctor", "why", str(repo / "found.py"))
    assert (found.returncode, found.stderr) == (0, "")
    assert "1 chunks" in found.stdout
    ignored = codekernel(user_data, "doctor", "why", str(repo / "noise.log"))
    assert ignored.returncode == 1
    assert ".gitignore line 1: *.log" in ignored.stdout
    binary = codekernel(user_data, "doctor", "why", str(repo / "picture.png"))
    assert binary.returncode == 1
    assert "binary" in binary.stdout
    missing = codekernel(user_data, "doctor", "why", str(repo / "nothing.py"))
    assert missing.returncode == 1
    assert "no such file" in missing.stdout
    all_is_well = codekernel(user_data, "doctor")
    assert "index of demo: 2 files" in all_is_well.stdout


@pytest.mark.slow
def test_the_doctor_says_where_a_file_stands_among_the_answers(
    user_data: Path, tmp_path: Path
) -> None:
    write_settings(user_data, WORDS_ALONE)
    project = tmp_path / "project"
    project.mkdir()
    (project / "login.py").write_text("def check_password(user): ...\n", encoding="utf-8")
    (project / "bill.py").write_text(
        "def refund(invoice):\n    check_password(invoice.user)\n", encoding="utf-8"
    )
    best = codekernel(user_data, "doctor", "why", str(project / "login.py"), "check_password")
    assert "ranked 1 of" in best.stdout, best.stdout + best.stderr
    assert "definition" in best.stdout
    other = codekernel(user_data, "doctor", "why", str(project / "bill.py"), "check_password")
    assert "the first is login.py" in other.stdout
    denied = codekernel(user_data, "doctor", "why", str(project / "bill.py"), "refund -path:bill")
    assert "the filters of the query turn it away" in denied.stdout


def test_a_file_of_no_repository_is_judged_by_the_rules_alone(
    user_data: Path, tmp_path: Path
) -> None:
    (tmp_path / "alone.py").write_text("x = 1\n", encoding="utf-8")
    done = codekernel(user_data, "doctor", "why", str(tmp_path / "alone.py"))
    assert done.returncode == 0
    assert "not a registered repository" in done.stdout
    assert list(user_data.iterdir()) == []
