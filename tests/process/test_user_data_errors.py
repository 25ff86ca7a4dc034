"""A userData folder that is read-only, full, or shared by two kernels."""

import sys
from pathlib import Path

import pytest
from support.kernel_process import KernelProcess, code_of, reason_of


def test_user_data_that_cannot_be_written_is_explained_and_survived(
    tmp_path: Path, repo: Path
) -> None:
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("", encoding="utf-8")
    with KernelProcess(not_a_folder) as kernel:
        for reply in (
            kernel.request("getRepos"),
            kernel.request("createRepo", repoName="demo", path=str(repo)),
            kernel.request("setApiKey", name="deepseek", apiKey="secret"),
        ):
            assert code_of(reply) == "UNKNOW_ERROR"
            assert str(not_a_folder) in reason_of(reply)
        assert code_of(kernel.request("checkSettings")) == "INVALID_SETTINGS"
        assert kernel.stop() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
@pytest.mark.slow
def test_a_disk_that_is_full_is_explained_and_loses_nothing(user_data: Path, repo: Path) -> None:
    with KernelProcess(user_data) as kernel:
        kernel.request("createRepo", repoName="demo", path=str(repo))
        assert kernel.stop() == 0
    size = (user_data / "db" / "kernel.db").stat().st_size

    def no_file_may_grow_further() -> None:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192, size + 8192))

    with KernelProcess(user_data, before_exec=no_file_may_grow_further) as kernel:
        refused = kernel.request("setApiKey", name="deepseek", apiKey="secret" * 20_000)
        assert code_of(refused) == "UNKNOW_ERROR"
        assert "full" in reason_of(refused) or "disk" in reason_of(refused)
        assert len(kernel.request("getRepos")["data"]["repoList"]) == 1
        kernel.process.kill()
    with KernelProcess(user_data) as kernel:
        assert len(kernel.request("getRepos")["data"]["repoList"]) == 1
        assert code_of(kernel.request("getApiKey", name="deepseek")) == "API_KEY_NOT_FOUND"
        assert code_of(kernel.request("setApiKey", name="deepseek", apiKey="secret")) == "SUCCESS"


@pytest.mark.slow
def test_two_kernels_on_one_user_data_both_answer(user_data: Path, repo: Path) -> None:
    with KernelProcess(user_data) as first, KernelProcess(user_data) as second:
        first.request("createRepo", repoName="demo", path=str(repo))
        assert len(second.request("getRepos")["data"]["repoList"]) == 1
        assert first.stop() == 0
        assert second.stop() == 0
