from codekernel.adapters.hub.devices import MAX_ADDRESSES, FailureLimit


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_address_waits_after_too_many_failures() -> None:
    clock = Clock()
    limit = FailureLimit(3, 60.0, clock)
    for _ in range(3):
        assert limit.get_wait("a") == 0
        limit.note_failure("a")
    assert limit.get_wait("a") == 60
    assert limit.get_wait("b") == 0
    clock.now += 59
    assert limit.get_wait("a") == 1
    clock.now += 2
    assert limit.get_wait("a") == 0


def test_one_more_failure_counts_with_the_last_ones() -> None:
    clock = Clock()
    limit = FailureLimit(2, 60.0, clock)
    limit.note_failure("a")
    clock.now += 50
    limit.note_failure("a")
    clock.now += 20
    assert limit.get_wait("a") == 0
    limit.note_failure("a")
    assert limit.get_wait("a") == 40


def test_the_table_of_addresses_is_bounded() -> None:
    limit = FailureLimit(1, 60.0, Clock())
    for number in range(MAX_ADDRESSES + 10):
        limit.note_failure(str(number))
    assert limit.get_wait("0") == 0
    assert limit.get_wait(str(MAX_ADDRESSES)) > 0
