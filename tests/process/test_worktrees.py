"""Worktrees, clones and branches of one project in the shared kernel, with real git and vectors."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.cli.folder_session import is_complete
from codekernel.client.connection import KernelConnection
from support.conversation_client import chat_settings
from support.git_history import GitHistory
from support.polling import wait_until
from support.shared_kernel import SharedKernel, set_variables

pytestmark = pytest.mark.slow

FILES = {
    f"part{number}.py": f"def parse_{number}(line):\n    return line.split({number})\n"
    for number in range(12)
}
DEADLINE_SECONDS = 90
COUNTED = re.compile(r"index (\S+): (\d+) texts embedded, (\d+) taken over")


class Projects:
    """Folders open in one kernel, each in a session of its own."""

    def __init__(self, shared: SharedKernel, kernel: KernelConnection) -> None:
        self.shared = shared
        self.kernel = kernel
        self._sessions: dict[Path, int] = {}

    def open(self, folder: Path) -> None:
        session = self._sessions[folder] = len(self._sessions) + 1
        self.kernel.request("openFolder", {"path": str(folder), "sessionId": session})
        self.wait_until_complete(folder)

    def wait_until_complete(self, folder: Path) -> None:
        wait_until(lambda: is_complete(self.ask(folder, "getIndexStatus"), wants_vectors=True))

    def ask(self, folder: Path, message: str, **fields: Any) -> Any:
        return self.kernel.request(message, fields, self._sessions[folder])

    def search(self, folder: Path, query: str) -> list[str]:
        reply = self.ask(folder, "search", query=query, limit=20)
        return [each["filePath"] for each in reply["results"]]

    def read_counts(self, folder: Path) -> tuple[int, int]:
        """How many texts of a folder were embedded, and taken over, so far."""
        indexes = self.kernel.request("getIndexes")["indexes"]
        (index,) = [each["folder"] for each in indexes if each["path"] == str(folder)]
        file = self.shared.user_data / "logs" / "kernel.log"
        log = file.read_text(encoding="utf-8") if file.exists() else ""
        found = [found for found in COUNTED.findall(log) if found[0] == index]
        return sum(int(each[1]) for each in found), sum(int(each[2]) for each in found)

    def expect_counts(self, folder: Path, embedded: int, adopted: int) -> None:
        wait_until(lambda: sum(self.read_counts(folder)) >= embedded + adopted)
        assert self.read_counts(folder) == (embedded, adopted)


@pytest.fixture
def projects(user_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Projects]:
    set_variables(monkeypatch)
    chat_settings(user_data, "http://127.0.0.1:9/v1", vectors=True)
    with SharedKernel(user_data) as shared, shared.connect(may_start=True) as kernel:
        yield Projects(shared, kernel)


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    made = GitHistory(tmp_path / "project")
    made.commit("begin", FILES)
    return made


def test_a_worktree_embeds_only_what_its_branch_has_changed(
    projects: Projects, history: GitHistory, tmp_path: Path
) -> None:
    projects.open(history.folder)
    projects.expect_counts(history.folder, len(FILES), 0)
    tree = tmp_path / "tree"
    history.git("worktree", "add", "--quiet", "-b", "side", str(tree))
    (tree / "new.py").write_text("def only_here():\n    return 'side'\n", encoding="utf-8")
    projects.open(tree)
    projects.expect_counts(tree, 1, len(FILES))


def test_a_clone_embeds_nothing_also_after_the_first_repository_was_removed(
    projects: Projects, history: GitHistory, tmp_path: Path
) -> None:
    projects.open(history.folder)
    projects.expect_counts(history.folder, len(FILES), 0)
    projects.kernel.request("deleteRepo", {"repoName": "project"})
    clone = tmp_path / "clone"
    history.git("clone", "--quiet", str(history.folder), str(clone))
    projects.open(clone)
    projects.expect_counts(clone, 0, len(FILES))
    assert projects.search(clone, "parse_7")[0].endswith("part7.py")


def test_switching_branches_back_and_forth_embeds_each_text_once(
    projects: Projects, history: GitHistory, tmp_path: Path
) -> None:
    history.git("checkout", "--quiet", "-b", "side")
    history.commit("change", {"part3.py": "def unusual_name(text):\n    return text.upper()\n"})
    history.git("checkout", "--quiet", "main")
    folder = history.folder
    projects.open(folder)
    projects.expect_counts(folder, len(FILES), 0)
    history.git("checkout", "--quiet", "side")
    wait_until(lambda: bool(projects.search(folder, '"def unusual_name"')))
    projects.expect_counts(folder, len(FILES) + 1, 0)
    for branch, name in (("main", "parse_3"), ("side", "unusual_name")) * 2:
        history.git("checkout", "--quiet", branch)
        wait_until(lambda name=name: bool(projects.search(folder, f'"def {name}("')))  # type: ignore[misc]
        projects.wait_until_complete(folder)
    # A text that is new is counted after all of these.
    (folder / "last.py").write_text("def the_last_one():\n    return None\n", encoding="utf-8")
    projects.expect_counts(folder, len(FILES) + 2, 0)


def test_of_two_worktrees_each_answers_for_itself(
    projects: Projects, history: GitHistory, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    history.git("worktree", "add", "--quiet", "-b", "side", str(tree))
    main_text = "def charge_customer(amount):\n    return ledger.book(amount)\n"
    side_text = "def charge_customer(amount):\n    return queue.enqueue_payment(amount)\n"
    (history.folder / "billing.py").write_text(main_text, encoding="utf-8")
    (tree / "billing.py").write_text(side_text, encoding="utf-8")
    (tree / "side_only.py").write_text("def refund():\n    pass\n", encoding="utf-8")
    projects.open(history.folder)
    projects.open(tree)
    for folder, here, elsewhere in (
        (history.folder, "ledger.book", "enqueue_payment"),
        (tree, "enqueue_payment", "ledger.book"),
    ):
        reply = projects.ask(folder, "search", query="charge a customer", limit=50)
        contents = [each["content"] for each in reply["results"]]
        assert any(here in content for content in contents)
        assert not any(elsewhere in content for content in contents)
        assert projects.search(folder, f'"{elsewhere}"') == []
    assert projects.search(history.folder, "refund") == []
    assert projects.search(tree, "refund")
    history.git("-C", str(tree), "stash", "--quiet", "--include-untracked")
    wait_until(lambda: projects.search(tree, '"def charge_customer"') == [])
    assert projects.search(history.folder, '"def charge_customer"')
