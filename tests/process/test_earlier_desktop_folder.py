"""A person updates: what the desktop app had in its own folder is there in a terminal."""

import sys
from pathlib import Path

import pytest
from support.chat_server import ChatServer, reply_text
from support.conversation_client import ConversationClient, chat_settings, write_sources
from support.index_client import IndexClient
from support.kernel_process import SERVE, KernelProcess
from support.shared_kernel import SharedKernel

SESSION = 7
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")


def run_kernel(user_data: Path, **environ: str) -> KernelProcess:
    """A kernel whose vault has a key file; no variable names its folder unless it is given."""
    given = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", **environ}
    return KernelProcess(user_data, command=SERVE, environ=given)


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, str]:
    folders = {
        "XDG_CONFIG_HOME": tmp_path / "config",
        "XDG_DATA_HOME": tmp_path / "share",
        "HOME": tmp_path,
    }
    return {name: str(folder) for name, folder in folders.items()}


def test_everything_is_there_after_the_first_start_of_whoever_comes_first(
    tmp_path: Path, repo: Path, server: ChatServer, homes: dict[str, str]
) -> None:
    earlier, folder = tmp_path / "config" / "codekernel", tmp_path / "share" / "codekernel"
    earlier.mkdir(parents=True)
    folder.parent.mkdir()
    write_sources(repo)
    chat_settings(earlier, server.url, vectors=True)
    server.extend_script(reply_text("It ends.", used=(10, 5)))
    with run_kernel(earlier) as before:
        before.open(repo, SESSION)
        IndexClient(before, SESSION).wait_until_idle()
        before.request("setApiKey", name="model", apiKey="sk-earlier")
        ConversationClient(before, earlier).ask_and_wait("How does it end?", 42)
        assert before.stop() == 0
    vectors = sorted(path.name for path in (earlier / "index" / "1" / "vectors").iterdir())

    empty = {"POCKETRAG_USERDATA_PATH": "", "CODEKERNEL_STANDALONE": ""}
    with SharedKernel(folder), run_kernel(folder, **homes, **empty) as now:
        (listed,) = now.request("getRepos")["data"]["repoList"]
        assert listed == {"name": repo.name, "path": str(repo)}
        assert now.request("getApiKey", name="model")["data"]["apiKey"] == "sk-earlier"
        now.request("openRepo", repoName=repo.name, sessionId=SESSION)
        read = now.request("getConversation", session=SESSION, conversationId=42)
        assert read["data"]["history"][0]["answer"] == "It ends."
        (usage,) = now.request("getApiUsage", session=SESSION)["data"]["apiUsage"]
        assert usage["total_token"] == 15
        IndexClient(now, SESSION).wait_until_idle()
        found = now.request("search", session=SESSION, query="close the session", accuracy=False)
        assert found["data"]["results"][0]["filePath"] == "session.py"
        told = {line["message"]["type"] for line in now.lines if not line["isReply"]}
        assert "embeddingStatus" not in told  # the index came along with its vectors
        assert now.stop() == 0
    moved = folder / "index" / "1" / "vectors"
    assert sorted(path.name for path in moved.iterdir()) == vectors
    assert (earlier / "taken-over.json").exists()
    assert (earlier / "conversations" / "conversation-42.json").exists()
    assert list((earlier / "index").iterdir()) == []


def test_a_folder_in_use_is_taken_over_when_the_next_client_comes(
    tmp_path: Path, repo: Path, homes: dict[str, str]
) -> None:
    earlier, folder = tmp_path / "config" / "codekernel", tmp_path / "share" / "codekernel"
    earlier.mkdir(parents=True)
    folder.parent.mkdir()
    empty = {"POCKETRAG_USERDATA_PATH": "", "CODEKERNEL_STANDALONE": ""}
    with run_kernel(earlier) as before, SharedKernel(folder) as kernel:
        before.request("createRepo", repoName=repo.name, path=str(repo))
        chat_settings(earlier, "http://127.0.0.1:9/v1")
        with run_kernel(folder, **homes, **empty) as first:
            assert first.request("getRepos")["data"]["repoList"] == []
            assert before.stop() == 0
            with kernel.connect() as second:
                assert [each["name"] for each in second.request("getRepos")["repoList"]] == [
                    repo.name
                ]
            models = first.request("getGenerationModels")["data"]
            assert models["modelList"][0]["name"] == "model"
            assert first.stop() == 0
