"""Whether a store is asked depends on what was measured here."""

from pathlib import Path

from codekernel.sharing.vector_speeds import (
    ASSUMED_PER_SECOND,
    FILE_NAME,
    MAX_AGE_SECONDS,
    MIN_MEASURED,
    MeasuredSpeed,
    read_speeds,
)
from sharing.team_world import Clock, TeamWorld, find, make_texts

MODEL = "ab" * 8


def test_a_store_is_asked_until_computing_is_known_to_be_quicker(tmp_path: Path) -> None:
    speed = MeasuredSpeed(tmp_path, MODEL)

    def is_asked() -> bool:
        return speed.known.is_fetching_quicker

    assert is_asked()
    speed.note_computed(30)
    assert is_asked(), "a large model"
    speed.note_computed(2 * ASSUMED_PER_SECOND)
    assert not is_asked(), "a small one"
    speed.note_fetched(100_000, 1.0)
    assert is_asked(), "a quick store"
    for _ in range(20):
        speed.note_fetched(MIN_MEASURED, 10.0)
    assert not is_asked(), "a slow store"


def test_a_few_vectors_say_nothing_about_a_store(tmp_path: Path) -> None:
    speed = MeasuredSpeed(tmp_path, MODEL)
    speed.note_fetched(MIN_MEASURED - 1, 100.0)
    assert speed.known.fetched == 0


def test_what_was_measured_is_known_to_the_next_process_for_a_day(tmp_path: Path) -> None:
    clock = Clock()
    speed = MeasuredSpeed(tmp_path, MODEL, clock)
    speed.note_computed(30)
    speed.note_fetched(MIN_MEASURED, 32.0)
    speed.save()
    MeasuredSpeed(tmp_path, "cd" * 8, clock).save()
    assert MeasuredSpeed(tmp_path, MODEL, clock).known == read_speeds(tmp_path)[MODEL]
    assert not MeasuredSpeed(tmp_path, MODEL, clock).known.is_fetching_quicker
    clock.now += MAX_AGE_SECONDS + 1
    assert MeasuredSpeed(tmp_path, MODEL, clock).known.is_fetching_quicker


def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    for content in (b"", b"[]", b"\xff", b'{"ab": {"other": 1}}', b'{"ab": 3}'):
        (tmp_path / FILE_NAME).write_bytes(content)
        assert read_speeds(tmp_path) == {}


def test_members_measure_what_the_store_gives(tmp_path: Path) -> None:
    world = TeamWorld(tmp_path)
    texts = make_texts(MIN_MEASURED)
    world.contribute(world.join("ann"), texts)
    bob = world.join("bob")
    find(bob, texts)
    bob.save()
    (speed,) = read_speeds(tmp_path / "bob").values()
    assert speed.fetched > 0
