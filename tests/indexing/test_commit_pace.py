"""When a batch is committed."""

from codekernel.indexing.commit_pace import CALM_SECONDS, CommitPace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def measure_batch(pace: CommitPace, clock: Clock) -> float:
    """How long it takes until the batch is due."""
    begun = clock.now
    while not pace.is_due:
        clock.now += 0.01
    return round(clock.now - begun, 1)


def test_each_batch_may_take_longer_than_the_one_before_up_to_the_limit() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 0.8, clock)
    pace.begin_list()
    seconds = []
    for _ in range(5):
        seconds.append(measure_batch(pace, clock))
        pace.begin_next()
    assert seconds == [0.1, 0.4, 0.8, 0.8, 0.8]


def test_a_list_soon_after_another_goes_on_at_its_pace() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    pace.begin_list()
    for _ in range(2):
        measure_batch(pace, clock)
        pace.begin_next()
    clock.now += CALM_SECONDS / 2
    pace.begin_list()
    assert measure_batch(pace, clock) == 1.6


def test_files_of_which_an_earlier_state_is_found_may_wait_longer() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    clock.now += CALM_SECONDS * 1.1
    pace.begin_list(are_known=True)
    assert measure_batch(pace, clock) == 0.4


def test_after_a_calm_the_first_files_are_committed_soon_again() -> None:
    clock = Clock()
    pace = CommitPace(0.1, 4.0, clock)
    pace.begin_list()
    measure_batch(pace, clock)
    pace.begin_next()
    clock.now += CALM_SECONDS * 1.1
    pace.begin_list()
    assert measure_batch(pace, clock) == 0.1
