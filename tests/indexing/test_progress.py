from kernel.indexing.progress import Progress

Told = list[tuple[str, str, float]]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def tracker() -> tuple[Progress, Told, Clock]:
    told: Told = []
    clock = Clock()
    return Progress(lambda *said: told.append(said), clock), told, clock


def test_each_file_begins_at_zero_and_ends_with_one_done() -> None:
    progress, told, _ = tracker()
    progress.begin(["a", "b"])
    progress.end("a")
    progress.end("a")
    assert told == [("a", "embedding", 0.0), ("b", "embedding", 0.0), ("a", "done", 1.0)]
    assert progress.under_way == 1


def test_small_steps_are_told_only_after_a_quiet_second() -> None:
    progress, told, clock = tracker()
    progress.begin(["a"])
    progress.embedded("a", 0.05)
    assert len(told) == 1
    clock.now += 1.0
    progress.embedded("a", 0.06)
    assert len(told) == 2
    progress.embedded("a", 0.07)
    assert len(told) == 2


def test_large_steps_and_the_end_of_the_way_are_told_at_once() -> None:
    progress, told, _ = tracker()
    progress.begin(["a"])
    progress.embedded("a", 0.2)
    progress.embedded("a", 1.0)
    assert [round(value, 3) for _, _, value in told] == [0.0, 0.222, 0.99]


def test_progress_never_runs_backwards() -> None:
    progress, told, clock = tracker()
    progress.begin(["a"])
    progress.embedded("a", 0.5)
    clock.now += 5
    progress.embedded("a", 0.1)
    progress.begin(["a"])
    values = [value for _, _, value in told]
    assert values == sorted(values)


def test_nothing_is_said_of_a_file_that_never_began() -> None:
    progress, told, _ = tracker()
    progress.cut("a")
    progress.end("a")
    assert told == []


def test_a_window_that_is_opened_later_learns_what_is_under_way() -> None:
    progress, _, _ = tracker()
    progress.begin(["a", "b"])
    progress.embedded("b", 0.5)
    assert [(path, round(value, 2)) for path, value in progress.snapshot()] == [
        ("a", 0.0),
        ("b", 0.51),
    ]
