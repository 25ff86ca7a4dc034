"""A tab that does not read costs nobody else anything, and no memory."""

import sys
from pathlib import Path

import pytest
from adapters.web.browsing import Browser, WebProcess
from codekernel.adapters.web.outbox import Outbox

pytestmark = pytest.mark.slow
CALLS = 400
LINES, LINE_LENGTH = 2000, 500
# Half of what the answers weigh together.
MOST_GROWTH_BYTES = CALLS * LINES * LINE_LENGTH // 2


def memory_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_a_tab_that_does_not_read_has_to_wait_and_others_do_not(
    web: WebProcess, browser: Browser, repo: Path
) -> None:
    (repo / "wide.py").write_text(f"{'x' * (LINE_LENGTH - 1)}\n" * LINES, encoding="utf-8")
    place = {"filePath": "wide.py", "beginLine": 0, "endLine": LINES}
    with browser.tab() as slow, browser.tab() as quick:
        slow.open("demo")
        quick.open("demo")
        quick.index("session.py", "routing.py")  # so that all models are loaded
        assert len(quick.call("readLines", **place)["content"]) == LINES * LINE_LENGTH
        before = memory_of(web.process.pid)
        slow.pause()
        numbers = [slow.post("readLines", **place) for _ in range(CALLS)]
        for _ in range(200):
            assert "state" in quick.call("getIndexStatus")
        assert memory_of(web.process.pid) - before < MOST_GROWTH_BYTES
        slow.go_on()
        assert all("data" in slow.answer_to(number) for number in numbers)


def test_of_many_words_about_a_file_the_last_waits() -> None:
    outbox = Outbox()
    for progress in range(1000):
        for path in ("a.py", "b.py"):
            outbox.put_status({"filePath": path, "status": "embedding", "progress": progress})
    outbox.put_status({"filePath": "a.py", "status": "done", "progress": 1.0})
    (text,) = [next(iter(outbox))]
    assert isinstance(text, str)
    assert text.count("filePath") == 2
    assert text.index("b.py") < text.index("a.py")
    assert '"progress": 999' in text
