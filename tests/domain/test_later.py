"""Something made later: once, and only if somebody asks."""

import threading

from codekernel.domain.concurrency import Lazy


def test_it_is_made_once_however_many_threads_ask() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[0]

    later = Lazy(make)
    threads = [threading.Thread(target=later) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [later()] == made


def test_what_nobody_asked_for_is_not_made_to_be_closed() -> None:
    later = Lazy(lambda: "value")
    closed: list[str] = []
    later.use_if_created(closed.append)
    assert closed == []
    assert later() == "value"
    later.use_if_created(closed.append)
    assert closed == ["value"]
