"""Upgrades and downgrades: a userData folder of an earlier release, and one of a later release."""

import os
import zipfile
from pathlib import Path

import pytest
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault
from support.index_client import IndexClient
from support.kernel_process import KernelProcess, code_of

pytestmark = pytest.mark.slow

# Each was made by its release: the repository ``demo`` with these files, and a key.
RELEASES = sorted((Path(__file__).parents[1] / "fixtures" / "releases").glob("*.zip"))
FILES = {
    "session.py": 'class Session:\n    """A session of a client."""\n\n'
    '    def close(self) -> None:\n        """End the session and refuse waiting requests."""\n'
    "        self.closed = True\n",
    "down.py": "from session import Session\n\n\n"
    "def shut_down(session: Session) -> None:\n    session.close()\n",
}


def unpack(release: Path, user_data: Path, repo: Path) -> Vault:
    """Put the folder of a release there, as if its repository had always been in ``repo``."""
    with zipfile.ZipFile(release) as archive:
        archive.extractall(user_data)
    for name in ("kernel.key", "kernel.db"):
        (user_data / "db" / name).chmod(0o600)
    for name, text in FILES.items():
        (repo / name).write_text(text, encoding="utf-8")
    vault = Vault(UserData(user_data), dict(os.environ), may_quarantine=lambda: False)
    with vault.transaction() as database:
        database.execute("UPDATE repository SET path = ?", (str(repo),))
    return vault


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_what_an_earlier_release_has_stored_is_there_and_its_repository_is_found(
    release: Path, user_data: Path, repo: Path
) -> None:
    unpack(release, user_data, repo).close()
    with KernelProcess(user_data) as kernel:
        kernel.event("ready")
        repos = kernel.request("getRepos")["data"]["repoList"]
        assert [(each["name"], each["path"]) for each in repos] == [("demo", str(repo))]
        key = kernel.request("getApiKey", name="m")
        assert key["data"]["apiKey"] == "sk-of-the-release"
        assert code_of(kernel.request("openRepo", repoName="demo", sessionId=1)) == "SUCCESS"
        window = IndexClient(kernel, 1)
        status = window.wait_until_idle()
        assert (status["files"], status["trouble"]) == (2, "")
        assert window.search("refuse waiting requests")[0] == "session.py"
        assert window.search("Session.close")[0] == "session.py"
    # An index of another format is made again from the files; keys and names never are.
    aside = {path.relative_to(user_data).parts[:2] for path in user_data.rglob("*.unreadable*")}
    assert aside <= {("index", "1")}


def test_an_older_codekernel_says_so_and_changes_nothing(user_data: Path, repo: Path) -> None:
    vault = unpack(RELEASES[-1], user_data, repo)
    with vault.transaction() as database:
        database.execute("PRAGMA user_version = 99")
    vault.close()
    file = user_data / "db" / "kernel.db"
    before = file.read_bytes()
    with KernelProcess(user_data) as kernel:
        kernel.event("ready")
        reply = kernel.request("getApiKey", name="m")
        assert code_of(reply) != "SUCCESS"
        assert "made by a newer codekernel" in reply["status"]["message"]
    assert file.read_bytes() == before


def test_there_is_a_folder_of_a_release() -> None:
    assert RELEASES
