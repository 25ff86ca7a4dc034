"""The pages in Debian's Firefox: ``scripts/test.py full`` where it is installed."""

from pathlib import Path

import pytest
from adapters.web.browsing import WebProcess
from support.chat_server import ChatServer, reply_calls, reply_text
from support.effort import FULL
from support.firefox import ENTER, find_firefox, start_firefox


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="a second browser: scripts/test.py full")
@pytest.mark.skipif(find_firefox() is None, reason="apt install firefox-esr")
def test_a_person_searches_opens_and_asks(
    web: WebProcess, server: ChatServer, tmp_path: Path
) -> None:
    search = reply_calls(("search", {"purpose": "Find the end", "queries": ["close session"]}))
    server.extend_script(
        lambda _: search, lambda _: reply_text("It is closed in `session.py:1-2`.")
    )
    program = find_firefox()
    assert program
    with start_firefox(program, tmp_path / "profile") as firefox:
        firefox.open(web.address)
        firefox.type("#query", "close the session")
        place = firefox.wait_for(
            "document.querySelector('article.result .result-open')?.textContent.trim()"
        )
        assert place.startswith("session.py")
        firefox.wait_for("(document.querySelector('.result-open').click(), true)")
        title = firefox.wait_for("document.querySelector('dialog .viewer-title')?.textContent")
        assert "session.py" in title
        firefox.wait_for("document.querySelector('dialog .code-line')?.textContent")
        firefox.wait_for("(document.querySelector('dialog').close(), true)")
        firefox.wait_for("(document.querySelector('#tab-talk').click(), true)")
        firefox.type("#question", f"How does a session end?{ENTER}")
        answer = firefox.wait_for(
            "document.querySelector('.answer-foot') &&"
            " document.querySelector('.turns article').innerText"
        )
        assert "It is closed in" in answer
        assert firefox.wait_for("location.search").startswith("?repo=demo")
        assert firefox.problems == []
