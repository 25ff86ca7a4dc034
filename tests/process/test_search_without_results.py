"""A search without results says why: a wrong filter, or a folder that is gone."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.conversation_client import chat_settings, write_sources
from support.kernel_process import KernelProcess, code_of, reason_of


@pytest.fixture
def kernel(user_data: Path, repo: Path) -> Any:
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    (repo / "src").mkdir()
    write_sources(repo / "src")
    with KernelProcess(user_data) as running:
        running.open(repo, 7)
        while not running.request("search", session=7, query="close session")["data"]["results"]:
            continue  # until it is indexed
        yield running


def test_a_filter_that_nothing_fits_is_refused_with_the_near_ones(kernel: KernelProcess) -> None:
    said = {
        "lang:pyton close": 'no language is called "pyton"; near: python',
        "path:srcc close": 'no indexed file has "srcc" in its path; near: src',
        "file:sesion.py close": 'no indexed file has "sesion.py" in its name; near: session.py',
        "symbol:Sesion close": 'nothing indexed is called "Sesion"; near: Session',
    }
    for query, words in said.items():
        reply = kernel.request("search", session=7, query=query)
        assert code_of(reply) == "WRONG_PARAM"
        assert words in reason_of(reply)


def test_filters_that_something_fits_may_find_nothing(kernel: KernelProcess) -> None:
    for query in ('path:src "no such text"', "lang:python file:routing symbol:Session"):
        reply = kernel.request("search", session=7, query=query)
        assert (code_of(reply), reply["data"]["results"]) == ("SUCCESS", []), query


def test_a_folder_that_was_deleted_is_said_to_be_gone(kernel: KernelProcess, repo: Path) -> None:
    # Not file by file, each of which may be noticed before the folder is gone.
    shutil.rmtree(repo.rename(repo.with_name("deleted")))
    reply = kernel.request("search", session=7, query="close session")
    assert code_of(reply) == "REPO_NOT_EXIST"
    assert f"the folder {repo} is gone" in reason_of(reply)
    status: dict[str, Any] = {}
    while not status.get("trouble"):  # until the deletion is noticed
        status = kernel.request("getIndexStatus", session=7)["data"]
    assert (status["state"], status["files"]) == ("trouble", 2)
    assert "is gone" in status["trouble"]
