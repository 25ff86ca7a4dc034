"""Tabs ask the kernel: calls, sessions, events, and what becomes of them when a tab goes."""

import json
import signal
import threading
from itertools import islice
from pathlib import Path

import pytest
from adapters.web.browsing import Browser, WebProcess
from codekernel.adapters.web.web_client import MAX_CONCURRENT_CALLS, WebAdapter
from codekernel.storage.user_data import UserData
from codekernel.transport.lines import MemoryChannel


def test_a_tab_asks_for_repositories_and_its_own_repository(browser: Browser, repo: Path) -> None:
    with browser.tab() as tab:
        assert tab.call("getRepos") == {"repoList": [{"name": "demo", "path": str(repo)}]}
        assert tab.code("search", query="session") == "SESSION_NOT_FOUND"
        opened = tab.open("demo")
        assert (opened["repoName"], opened["path"]) == ("demo", str(repo))
        tab.index("session.py", "routing.py")
        (first, *_) = tab.call("search", query="close the session")["results"]
        assert first["filePath"] == "session.py"
        assert tab.call("getIndexStatus")["files"] == 2
        assert tab.call("closeRepo") is None
        assert tab.code("getIndexStatus") == "SESSION_NOT_FOUND"


def test_every_tab_hears_that_the_list_of_repositories_has_changed(
    browser: Browser, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with browser.tab() as tab, browser.tab() as adding:
        assert tab.call("getRepos")["repoList"]
        adding.call("createRepo", repoName="other", path=str(other))
        tab.event("reposChanged")
        assert len(tab.call("getRepos")["repoList"]) == 2


def test_what_a_tab_asks_its_session_while_a_repository_is_opened_waits_for_it(
    browser: Browser,
) -> None:
    with browser.tab() as tab:
        numbers = [tab.post("openRepo", repoName="demo")]
        numbers += [tab.post("getIndexStatus") for _ in range(8)]
        assert all("data" in tab.answer_to(number) for number in numbers)
        refused = [tab.post("openRepo", repoName="nowhere"), tab.post("getIndexStatus")]
        codes = [tab.answer_to(number)["failure"]["code"] for number in refused]
        assert codes == ["REPO_NOT_FOUND", "SESSION_NOT_FOUND"]


def test_what_needs_no_session_does_not_wait_while_a_repository_is_opened(user_data: Path) -> None:
    channel = MemoryChannel()  # of a kernel that answers nothing
    client = WebAdapter(channel, UserData(user_data), {}, "").open_client()
    calls = [
        {"id": 1, "call": "openRepo", "fields": {"repoName": "slow"}},
        {"id": 2, "call": "getRepos"},
        {"id": 3, "call": "openRepo", "fields": {"repoName": "other"}},
    ]

    def read_from_tab() -> None:
        for call in calls:
            client.handle_message(json.dumps(call))

    threading.Thread(target=read_from_tab, daemon=True).start()
    lines = islice(channel.iter_lines(), 3)
    asked = [json.loads(line)["message"] for line in lines if isinstance(line, bytes)]
    assert sorted(message["type"] for message in asked) == ["getRepos", "openRepo", "openRepo"]


@pytest.mark.parametrize(
    "call", ["getApiKey", "stopAll", "stopConversation", "beginConversation", "ready", "__init__"]
)
def test_what_a_tab_may_not_ask_is_refused(known: Browser, call: str) -> None:
    with known.tab() as tab:
        assert tab.code(call, name="model", sessionId=1) == "FORBIDDEN"


def test_a_key_goes_in_and_never_comes_back(known: Browser) -> None:
    with known.tab() as tab:
        assert tab.call("hasApiKey", name="model") is False
        assert tab.call("setApiKey", name="model", apiKey="sk-very-secret") is None
        assert tab.call("hasApiKey", name="model") is True
        assert "very-secret" not in json.dumps(tab.told)
        tab.call("setApiKey", name="model", apiKey="")


def test_a_refusal_of_the_kernel_keeps_its_code_and_sentence(known: Browser) -> None:
    with known.tab() as tab:
        failure = tab.ask("openRepo", repoName="nowhere")["failure"]
        assert failure["name"] == "KernelError"
        assert failure["code"] == "REPO_NOT_FOUND"
        assert "nowhere" in failure["message"]
        assert tab.code("createRepo", repoName=5) == "WRONG_PARAM"
        assert tab.code("openRepo") == "WRONG_PARAM"


def test_fields_that_are_no_object_are_refused(known: Browser) -> None:
    with known.tab() as tab:
        tab.send({"id": 1, "call": "getRepos", "fields": [1]})
        assert tab.answer_to(1)["failure"]["code"] == "WRONG_PARAM"
        tab.send({"id": 2, "call": "getRepos", "fields": None})
        assert "data" in tab.answer_to(2)
        tab.send({"id": 3, "call": {"a": 1}, "fields": {}})
        assert tab.answer_to(3)["failure"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", "{}", '{"id": "1"}', '"\\ud800', "17", "[" * 100_000]
)
def test_a_tab_that_talks_nonsense_is_shown_the_door(known: Browser, text: str) -> None:
    with known.tab() as tab, known.tab() as other:
        tab.send_text(text)
        assert tab.wait_until_closed() == 1007
        assert other.call("getRepos")


def test_a_request_the_kernel_would_not_take_is_too_large(known: Browser) -> None:
    with known.tab() as tab:
        tab.open("demo")
        # Four bytes each on the way here, twelve in the line of ASCII that the kernel reads.
        assert tab.code("search", query="\N{GRINNING FACE}" * 1_500_000) == "TOO_LARGE"
        assert tab.call("getRepos")


def test_a_message_of_more_than_sixteen_mebibytes_costs_the_connection(known: Browser) -> None:
    with known.tab() as tab:
        tab.send_text("x" * (16 * 1024 * 1024 + 1))
        assert tab.wait_until_closed() == 1009


def test_many_calls_at_once_are_all_answered(known: Browser) -> None:
    with known.tab() as tab:
        numbers = [tab.post("getRepos") for _ in range(5 * MAX_CONCURRENT_CALLS)]
        assert all("data" in tab.answer_to(number) for number in numbers)


def test_calls_are_carried_out_in_the_order_they_came(known: Browser) -> None:
    with known.tab() as tab:
        for round_number in range(20):
            key = "" if round_number % 2 else "sk-0123456789"
            tab.post("setApiKey", name="model", apiKey=key)
            assert tab.call("hasApiKey", name="model") is bool(key)


@pytest.mark.slow
def test_two_tabs_have_sessions_of_their_own(browser: Browser, tmp_path: Path) -> None:
    other_repo = tmp_path / "other"
    other_repo.mkdir()
    (other_repo / "painting.py").write_text("def paint_the_wall():\n    pass\n", encoding="utf-8")
    with browser.tab() as one, browser.tab() as two:
        one.call("createRepo", repoName="other", path=str(other_repo))
        one.open("demo")
        two.open("other")
        two.index("painting.py")
        assert two.call("search", query="paint")["results"][0]["filePath"] == "painting.py"
        assert not [
            item
            for told in one.told
            for item in told.get("event", {}).get("items", [])
            if item["filePath"] == "painting.py"
        ]
        two.call("closeRepo")
        assert one.call("getIndexStatus")


@pytest.mark.slow
def test_a_tab_that_opens_another_repository_leaves_the_first(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with browser.tab() as tab:
        tab.call("createRepo", repoName="other", path=str(tmp_path / "other"))
        tab.open("demo")
        assert tab.call("openRepo", repoName="other")["path"] == str(tmp_path / "other")
        assert tab.call("openRepo", repoName="other")["repoName"] == "other"


@pytest.mark.slow
def test_deleting_a_repository_closes_it_in_every_tab(browser: Browser) -> None:
    with browser.tab() as one, browser.tab() as two:
        one.open("demo")
        two.open("demo")
        two.call("deleteRepo", repoName="demo")
        assert one.code("getIndexStatus") == "SESSION_NOT_FOUND"
        assert one.code("openRepo", repoName="demo") == "REPO_NOT_FOUND"


@pytest.mark.slow
def test_a_page_that_is_loaded_again_finds_its_session_prepared(browser: Browser) -> None:
    with browser.tab() as tab:
        tab.open("demo")
        tab.index("session.py", "routing.py")
    with browser.tab() as tab:
        assert tab.call("openRepo", repoName="demo")["state"] == "prepared"
        assert tab.call("getIndexStatus")["files"] == 2


@pytest.mark.slow
def test_when_codekernel_stops_tabs_are_told_that_it_went_away(
    web: WebProcess, browser: Browser
) -> None:
    with browser.tab() as tab, browser.tab() as other:
        tab.open("demo")
        other.call("getRepos")
        web.signal(signal.SIGINT)
        assert tab.wait_until_closed() == 1001
        assert other.wait_until_closed() == 1001
    assert web.finish()[0] == 0
