import threading

from codekernel.domain.concurrency import CloseGuard

PATIENCE_SECONDS = 30


def test_closing_waits_for_those_inside_and_tells_those_who_come_later() -> None:
    closing = CloseGuard()
    closed = threading.Event()

    def close() -> None:
        closing.close()
        closed.set()

    closer = threading.Thread(target=close)
    with closing.use() as is_open:
        assert is_open
        closer.start()
        while still_open(closing):
            pass
        assert not closed.is_set()
    assert closed.wait(PATIENCE_SECONDS)
    closer.join()


def still_open(closing: CloseGuard) -> bool:
    with closing.use() as is_open:
        return is_open
