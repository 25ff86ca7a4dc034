"""Something made later: once, and only if somebody asks."""

import threading

from kernel.domain.later import Later


def test_it_is_made_once_however_many_threads_ask() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[0]

    later = Later(make)
    threads = [threading.Thread(target=later) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [later()] == made


def test_what_nobody_asked_for_is_not_made_to_be_closed() -> None:
    later = Later(lambda: "value")
    closed: list[str] = []
    later.when_there(closed.append)
    assert closed == []
    assert later() == "value"
    later.when_there(closed.append)
    assert closed == ["value"]
