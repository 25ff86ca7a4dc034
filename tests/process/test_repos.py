"""Repository messages over a real kernel process."""

import shutil
from pathlib import Path

import pytest
from support.kernel_process import KernelProcess, code_of, reason_of


def test_a_created_repository_is_listed_in_order_and_survives_a_restart(
    kernel: KernelProcess, tmp_path: Path, user_data: Path
) -> None:
    for name in ("zebra", "ant"):
        (tmp_path / name).mkdir()
        created = kernel.request("createRepo", repoName=name, path=str(tmp_path / name))
        assert code_of(created) == "SUCCESS"
        assert "data" not in created
    expected = [{"name": name, "path": str(tmp_path / name)} for name in ("zebra", "ant")]
    assert kernel.request("getRepos")["data"] == {"repoList": expected}
    assert kernel.stop() == 0
    with KernelProcess(user_data) as again:
        assert again.request("getRepos")["data"] == {"repoList": expected}


def test_a_trailing_slash_changes_nothing(cleared_kernel: KernelProcess, repo: Path) -> None:
    assert (
        code_of(cleared_kernel.request("createRepo", repoName="demo", path=f"{repo}/")) == "SUCCESS"
    )
    assert cleared_kernel.request("getRepos")["data"]["repoList"][0]["path"] == str(repo)


@pytest.mark.parametrize("path", ["demo", "./demo", "", "~", "\0", "C:demo"])
def test_a_path_that_is_not_absolute_is_invalid(shared_kernel: KernelProcess, path: str) -> None:
    reply = shared_kernel.request("createRepo", repoName="demo", path=path)
    assert code_of(reply) == "INVALID_PATH"
    assert "absolute" in reason_of(reply)


def test_a_path_where_nothing_is_or_only_a_file_is_invalid(
    shared_kernel: KernelProcess, repo: Path
) -> None:
    (repo / "file").write_text("x", encoding="utf-8")
    for path in (repo / "nothing", repo / "file"):
        reply = shared_kernel.request("createRepo", repoName=path.name, path=str(path))
        assert code_of(reply) == "INVALID_PATH"
        assert str(path) in reason_of(reply)


@pytest.mark.parametrize("name", ["other", "", "Demo", "demo "])
def test_a_name_that_is_not_the_folders_is_refused(
    shared_kernel: KernelProcess, repo: Path, name: str
) -> None:
    reply = shared_kernel.request("createRepo", repoName=name, path=str(repo))
    assert code_of(reply) == "REPO_NAME_NOT_MATCH"
    assert "demo" in reason_of(reply)


def test_the_root_folder_cannot_be_a_repository(shared_kernel: KernelProcess, repo: Path) -> None:
    assert code_of(shared_kernel.request("createRepo", repoName="", path=repo.anchor)) == (
        "REPO_NAME_NOT_MATCH"
    )


def test_a_name_typed_with_composed_accents_matches_a_folder_stored_with_others(
    cleared_kernel: KernelProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "cafe\u0301"
    folder.mkdir()
    assert (
        code_of(cleared_kernel.request("createRepo", repoName="caf\u00e9", path=str(folder)))
        == "SUCCESS"
    )


def test_a_second_repository_of_the_same_name_is_refused(
    cleared_kernel: KernelProcess, repo: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "elsewhere" / repo.name
    twin.mkdir(parents=True)
    cleared_kernel.request("createRepo", repoName="demo", path=str(repo))
    for path in (repo, twin):
        reply = cleared_kernel.request("createRepo", repoName="demo", path=str(path))
        assert code_of(reply) == "REPO_NAME_EXIST"


def test_opening_answers_first_and_then_tells_the_window(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.open(repo, session=120)
    opened, prepared = cleared_kernel.lines[-2:]
    assert opened["data"] == {"repoName": "demo", "path": str(repo)}
    assert prepared["message"] == {"type": "sessionPrepared", "repoName": "demo", "path": str(repo)}
    assert (prepared["sessionId"], prepared["toMain"], prepared["isReply"]) == (120, False, False)
    assert prepared["callbackId"] != -1


def test_opening_what_is_not_registered_says_so(shared_kernel: KernelProcess) -> None:
    reply = shared_kernel.request("openRepo", repoName="nothing", sessionId=1)
    assert code_of(reply) == "REPO_NOT_FOUND"


def test_opening_a_repository_whose_folder_was_deleted_says_so(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.request("createRepo", repoName="demo", path=str(repo))
    shutil.rmtree(repo)
    reply = cleared_kernel.request("openRepo", repoName="demo", sessionId=1)
    assert code_of(reply) == "REPO_NOT_EXIST"
    assert str(repo) in reason_of(reply)
    assert code_of(cleared_kernel.request("search", session=1, query="x")) == "SESSION_NOT_FOUND"


def test_a_window_cannot_open_two_repositories(cleared_kernel: KernelProcess, repo: Path) -> None:
    cleared_kernel.open(repo, session=1)
    assert (
        code_of(cleared_kernel.request("openRepo", repoName="demo", sessionId=1))
        == "SESSION_EXISTS"
    )


def test_the_main_process_is_not_a_window(cleared_kernel: KernelProcess, repo: Path) -> None:
    cleared_kernel.request("createRepo", repoName="demo", path=str(repo))
    assert (
        code_of(cleared_kernel.request("openRepo", repoName="demo", sessionId=-1)) == "WRONG_PARAM"
    )


@pytest.mark.parametrize("field", ["sessionId", "windowId"])
def test_closing_answers_with_both_names_of_the_window(
    cleared_kernel: KernelProcess, repo: Path, field: str
) -> None:
    cleared_kernel.open(repo, session=0)
    reply = cleared_kernel.request("closeRepo", **{field: 0})
    assert code_of(reply) == "SUCCESS"
    assert (reply["message"]["sessionId"], reply["message"]["windowId"]) == (0, 0)
    assert code_of(cleared_kernel.request("closeRepo", sessionId=0)) == "SESSION_NOT_FOUND"
    assert code_of(cleared_kernel.request("closeRepo")) == "WRONG_PARAM"


def test_a_closed_window_can_open_again_at_once(cleared_kernel: KernelProcess, repo: Path) -> None:
    cleared_kernel.open(repo, session=3)
    close = cleared_kernel.post("closeRepo", sessionId=3)
    reopen = cleared_kernel.post("openRepo", repoName="demo", sessionId=3)
    assert code_of(cleared_kernel.reply_to(close)) == "SUCCESS"
    assert code_of(cleared_kernel.reply_to(reopen)) == "SUCCESS"
    assert code_of(cleared_kernel.request("getApiUsage", session=3)) == "SUCCESS"


def test_deleting_forgets_the_repository_and_its_index_but_not_the_users_files(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    (repo / "hello").write_bytes(b"\0")  # nothing that a model would be opened for
    kernel.open(repo, session=4)
    assert [folder.name for folder in (user_data / "index").iterdir()] == ["1"]
    assert code_of(kernel.request("deleteRepo", repoName="demo")) == "SUCCESS"
    assert kernel.request("getRepos")["data"]["repoList"] == []
    assert not (user_data / "index" / "1").exists()
    assert (repo / "hello").exists()
    assert code_of(kernel.request("getApiUsage", session=4)) == "SESSION_NOT_FOUND"
    assert code_of(kernel.request("deleteRepo", repoName="demo")) == "REPO_NOT_FOUND"


def test_a_repository_registered_again_gets_a_new_index(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    kernel.open(repo, session=4)
    kernel.request("deleteRepo", repoName="demo")
    kernel.open(repo, session=5)
    assert (user_data / "index" / "2").is_dir()
