"""``codekernel agent --undo``, and what an agent in a terminal costs."""

from pathlib import Path

import pytest
from support.chat_server import ChatServer, reply_calls, reply_text
from support.command_line import codekernel
from support.conversation_client import ENVIRON, SESSION, ConversationClient, chat_settings
from support.kernel_process import KernelProcess

SKIP = ("plan", {"action": "skip"})
MAKE = ("create_file", {"path": "made.txt", "content": "new\n"})
EDIT = ("edit_file", {"path": "old.txt", "mode": "append", "content": "more\n"})


def work(user_data: Path, repo: Path, **environ: str) -> None:
    (repo / "old.txt").write_text("old\n", encoding="utf-8")
    with ChatServer(
        [reply_calls(SKIP, MAKE, EDIT, used=(30, 4)), reply_text("Ok.", used=(40, 2))]
    ) as server:
        chat_settings(user_data, server.url)
        assert codekernel(user_data, repo, "agent", "do it", **environ).returncode == 0
    assert (repo / "made.txt").exists()


@pytest.mark.slow
def test_the_last_session_of_a_folder_is_undone(user_data: Path, repo: Path) -> None:
    work(user_data, repo)
    undone = codekernel(user_data, repo, "agent", "--undo")
    assert undone.returncode == 0, undone.stderr
    assert undone.stdout.splitlines() == ["removed  made.txt", "restored old.txt"]
    assert (repo / "old.txt").read_text(encoding="utf-8") == "old\n"
    assert not (repo / "made.txt").exists()
    again = codekernel(user_data, repo, "agent", "--undo")
    assert (again.returncode, again.stdout) == (0, "")
    assert "nothing to undo" in again.stderr


def test_what_cannot_be_undone_is_kept_with_a_reason(user_data: Path, repo: Path) -> None:
    work(user_data, repo)
    (repo / "old.txt").write_text("mine\n", encoding="utf-8")
    (session,) = (user_data / "agent" / "sessions").glob("*.json")
    undone = codekernel(user_data, repo.parent, "agent", "--undo", session.stem)
    assert undone.returncode == 1
    removed, kept = undone.stdout.splitlines()
    assert removed == "removed  made.txt"
    assert kept.startswith("kept     old.txt: old.txt has been changed")
    assert (repo / "old.txt").read_text(encoding="utf-8") == "mine\n"


def test_a_session_that_is_none_is_refused_and_a_prompt_is_no_part_of_undoing(
    user_data: Path, repo: Path
) -> None:
    unknown = codekernel(user_data, repo, "agent", "--undo", "0badcafe")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "There is no session 0badcafe" in unknown.stderr
    both = codekernel(user_data, repo, "agent", "--undo", "0badcafe", "and do this")
    assert both.returncode == 2
    assert codekernel(user_data, repo, "agent").returncode == 2


@pytest.mark.slow
def test_the_tokens_of_an_agent_are_entered_for_its_repository(user_data: Path, repo: Path) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(repo, SESSION)
        assert kernel.request("stopAll")["status"]["code"] == "SUCCESS"
    work(user_data, repo, **ENVIRON)
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.request("openRepo", repoName=repo.name, sessionId=SESSION)
        (usage,) = ConversationClient(kernel, user_data).list_usage()
    assert (usage["model_name"], usage["input_token"], usage["output_token"]) == (
        "scripted-1",
        70,
        6,
    )
