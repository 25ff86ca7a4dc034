"""Sessions of several windows over a real kernel process."""

from datetime import date
from pathlib import Path

from codekernel.storage.lexical_index import LexicalIndex
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import UsageLedger, Vault
from support.kernel_process import KernelProcess, code_of


def test_requests_sent_right_behind_open_repo_wait_for_the_session(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.post("createRepo", repoName="demo", path=str(repo))
    cleared_kernel.post("openRepo", repoName="demo", sessionId=8)
    usage = cleared_kernel.post("getApiUsage", session=8)
    stop = cleared_kernel.post("stopConversation", session=8, conversationId=1)
    assert code_of(cleared_kernel.reply_to(usage)) == "SUCCESS"
    assert code_of(cleared_kernel.reply_to(stop)) == "SUCCESS"


def test_a_session_that_cannot_prepare_crashes_alone_and_its_id_is_free_at_once(
    kernel: KernelProcess, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    healthy = tmp_path / "healthy"
    healthy.mkdir()
    kernel.open(healthy, session=1)
    other = LexicalIndex.open(user_data / "index" / "2" / "words", writable=True)
    kernel.request("createRepo", repoName="demo", path=str(repo))
    assert code_of(kernel.request("openRepo", repoName="demo", sessionId=2)) == "SUCCESS"
    crashed = kernel.event("sessionCrashed")
    assert (crashed["sessionId"], crashed["toMain"]) == (2, False)
    assert str(user_data / "index" / "2") in crashed["message"]["error"]

    other.close()
    assert code_of(kernel.request("openRepo", repoName="demo", sessionId=2)) == "SUCCESS"
    assert code_of(kernel.request("getApiUsage", session=2)) == "SUCCESS"
    assert code_of(kernel.request("getApiUsage", session=1)) == "SUCCESS"
    assert kernel.stop() == 0


def test_two_windows_may_have_one_repository_open(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    kernel.open(repo, session=1)
    kernel.open(repo, session=2)
    assert code_of(kernel.request("closeRepo", sessionId=1)) == "SUCCESS"
    assert code_of(kernel.request("getApiUsage", session=2)) == "SUCCESS"
    assert len(list((user_data / "index").iterdir())) == 1


def test_usage_is_empty_before_anything_was_asked(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.open(repo, session=1)
    assert cleared_kernel.request("getApiUsage", session=1)["data"] == {"apiUsage": []}


def test_usage_is_summed_per_model_under_both_names_of_the_model(
    user_data: Path, repo: Path
) -> None:
    environ = {"CODEKERNEL_VAULT_KEY": "a" * 64}
    with KernelProcess(user_data, environ=environ) as kernel:
        kernel.open(repo, session=1)
        vault = Vault(UserData(user_data), environ, may_quarantine=lambda: False)
        ledger = UsageLedger(vault)
        for day in (1, 2):
            ledger.record(1, "deepseek-chat", date(2026, 11, day), 500, 1000)
        vault.close()
        assert kernel.request("getApiUsage", session=1)["data"]["apiUsage"] == [
            {
                "modelName": "deepseek-chat",
                "model_name": "deepseek-chat",
                "input_token": 1000,
                "output_token": 2000,
                "total_token": 3000,
                "days": [
                    {"day": "2026-11-01", "input_token": 500, "output_token": 1000},
                    {"day": "2026-11-02", "input_token": 500, "output_token": 1000},
                ],
            }
        ]


def test_a_search_limit_must_be_a_positive_number(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.open(repo, session=1)
    for limit in (0, -1, "ten", 1.5):
        assert (
            code_of(cleared_kernel.request("search", session=1, query="x", limit=limit))
            == "WRONG_PARAM"
        )


def test_a_windows_confirmation_is_taken_in_silence(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.open(repo, session=1)
    prepared = cleared_kernel.event("sessionPrepared")
    cleared_kernel.send(prepared | {"isReply": True, "status": {"code": "SUCCESS", "message": ""}})
    before = len(cleared_kernel.lines)
    cleared_kernel.request("getRepos")
    assert len(cleared_kernel.lines) == before + 1
