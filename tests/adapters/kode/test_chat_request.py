import json
from contextlib import suppress
from pathlib import Path

import pytest
from codekernel.adapters.kode.chat_request import (
    FolderNotAllowed,
    KodeChatRequest,
    parse_chat_request,
)
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.errors import WrongParam
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def roots(tmp_path: Path) -> list[WorkspaceRoot]:
    for name in ("one/inner", "two", "out"):
        (tmp_path / name).mkdir(parents=True)
    return [WorkspaceRoot.from_path(tmp_path / name) for name in ("one", "two")]


def test_every_field_is_read() -> None:
    body = {
        "message": "do it",
        "mode": "ask",
        "agentId": "0123abcd",
        "outputsPath": "/out",
        "context": {
            "userId": "ann",
            "workingDir": "/work",
            "files": ["a", "b"],
            "notebookPath": "n.ipynb",
            "unknown": 1,
        },
    }
    assert parse_chat_request(json.dumps(body).encode()) == KodeChatRequest(
        message="do it",
        is_read_only=True,
        agent_id="0123abcd",
        outputs_path="/out",
        working_dir="/work",
        user_id="ann",
        notebook_path="n.ipynb",
        files=("a", "b"),
    )


def test_the_message_alone_is_enough_and_null_is_left_out() -> None:
    nothing = {"mode": None, "agentId": None, "context": {"files": None, "workingDir": None}}
    request = parse_chat_request(json.dumps({"message": "a", **nothing}).encode())
    assert request == KodeChatRequest("a")
    assert request.build_prompt() == "a"


@given(st.binary() | st.text().map(str.encode) | st.builds(json.dumps, st.dictionaries(
    st.sampled_from(["message", "mode", "context", "agentId", "outputsPath"]),
    st.none() | st.integers() | st.text() | st.lists(st.text()),
)).map(str.encode))  # fmt: skip
def test_whatever_is_sent_is_a_request_or_is_refused(body: bytes) -> None:
    with suppress(WrongParam):
        assert parse_chat_request(body).message.strip()


def test_the_first_folder_that_exists_is_chosen(roots: list[WorkspaceRoot]) -> None:
    one, two = roots
    inner = one.folder / "inner"
    for request, expected in (
        (KodeChatRequest("a"), one.folder),
        (KodeChatRequest("a", outputs_path=str(inner), working_dir=str(two.folder)), inner),
        (
            KodeChatRequest("a", outputs_path=str(inner / "no"), working_dir=str(two.folder)),
            two.folder,
        ),
        (KodeChatRequest("a", working_dir="inner"), inner),
    ):
        folder, root = request.choose_folder(roots)
        assert folder == expected
        assert folder.is_relative_to(root.folder)


def test_a_folder_that_is_missing_is_no_reason_to_work_in_another_one(
    roots: list[WorkspaceRoot],
) -> None:
    with pytest.raises(WrongParam):
        KodeChatRequest("a", working_dir=str(roots[0].folder / "no")).choose_folder(roots)


@pytest.mark.parametrize("path", ["/", "..", "../out", "../out/none", "/etc", "inner/../../out"])
def test_a_folder_outside_is_refused_whether_or_not_it_exists(
    roots: list[WorkspaceRoot], path: str
) -> None:
    with pytest.raises(FolderNotAllowed):
        KodeChatRequest("a", outputs_path=path, working_dir="inner").choose_folder(roots)


def test_a_nul_in_a_path_is_refused(roots: list[WorkspaceRoot]) -> None:
    with pytest.raises(FolderNotAllowed):
        KodeChatRequest("a", working_dir="in\0ner").choose_folder(roots)
