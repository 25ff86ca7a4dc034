"""findRelated and getCalls over a real kernel process."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.index_client import config, open_client, write_settings
from support.kernel_process import KernelProcess, code_of

pytestmark = pytest.mark.slow

CLOSE = "class {name}:\n    def close(self):\n        flush(self)\n        self.closed = True\n"
CALLER = "from one import Session\n\n\ndef shut_down(session: Session):\n    session.close()\n"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    """Two classes that are alike, and a function that calls a method of one."""
    repo = tmp_path_factory.mktemp("places") / "demo"
    repo.mkdir()
    user_data = repo.parent / "userData"
    user_data.mkdir()
    write_settings(user_data, config("static", 400))
    (repo / "one.py").write_text(CLOSE.format(name="Session"), encoding="utf-8")
    (repo / "two.py").write_text(CLOSE.format(name="Connection"), encoding="utf-8")
    (repo / "down.py").write_text(CALLER, encoding="utf-8")
    with KernelProcess(user_data) as kernel:
        kernel.event("ready")
        open_client(kernel, repo, session=1).wait_until_idle()
        yield kernel


def data_of(kernel: KernelProcess, message: str, **fields: Any) -> Any:
    reply = kernel.request(message, session=1, **fields)
    assert code_of(reply) == "SUCCESS", reply
    return reply["data"]


def test_code_like_a_place_is_found_without_the_place_itself(opened: KernelProcess) -> None:
    results = data_of(opened, "findRelated", place="one.py:2")["results"]
    assert results[0]["filePath"] == "two.py"
    assert "one.py" not in {result["filePath"] for result in results}


def test_as_many_related_places_as_were_asked_for(opened: KernelProcess) -> None:
    assert len(data_of(opened, "findRelated", place="one.py:2", limit=1)["results"]) == 1


@pytest.mark.parametrize("place", ["gone.py:1", "one.py:4001"])
def test_a_place_that_is_not_indexed_is_refused(opened: KernelProcess, place: str) -> None:
    reply = opened.request("findRelated", session=1, place=place)
    assert code_of(reply) == "WRONG_PARAM"


def test_callers_and_callees_are_places_with_lines(opened: KernelProcess) -> None:
    (found,) = data_of(opened, "getCalls", symbol="Session.close")["definitions"]
    assert found["place"]["filePath"] == "one.py"
    assert (found["place"]["firstLine"], found["place"]["lastLine"]) == (2, 4)
    (caller,) = found["callers"]
    assert caller["place"]["name"] == "shut_down"
    assert caller["lines"] == [5]
    (called,) = data_of(opened, "getCalls", symbol="shut_down")["definitions"]
    assert [callee["place"]["name"] for callee in called["callees"]] == ["Session.close"]


def test_definitions_of_the_same_name_are_apart(opened: KernelProcess) -> None:
    definitions = data_of(opened, "getCalls", symbol="close")["definitions"]
    assert {each["place"]["name"] for each in definitions} == {
        "Session.close",
        "Connection.close",
    }


def test_an_unknown_name_has_no_definitions(opened: KernelProcess) -> None:
    assert data_of(opened, "getCalls", symbol="nowhere")["definitions"] == []
