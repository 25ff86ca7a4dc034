import json

from codekernel.adapters.hub.events import HubEvent, HubEventLog
from hypothesis import given
from hypothesis import strategies as st


def read_numbers(events: list[HubEvent] | None) -> list[int] | None:
    return None if events is None else [event.id for event in events]


def test_events_have_an_id_of_epoch_number_and_tag() -> None:
    log = HubEventLog()
    log.append({"type": "a"}, session_id="s")
    (event,) = log.read_after(0) or []
    head, data, *_ = event.frame.decode().splitlines()
    epoch, number, tag = head.removeprefix("id: ").split(":")
    assert (len(epoch), number, len(tag)) == (8, "1", 8)
    assert json.loads(data.removeprefix("data: ")) == {"type": "a"}
    assert log.parse_id(head.removeprefix("id: ")) == 1


def test_ids_of_another_run_and_malformed_ones_are_unknown() -> None:
    log, other = HubEventLog(), HubEventLog()
    wrong = ["", "x", "::", f"{log.epoch}:1:zz", f"{log.epoch}:x:{log.format_id(1)[-8:]}"]
    wrong += [f"{log.epoch}:{'9' * 30}:{log.format_id(1)[-8:]}", other.format_id(0)]
    assert [log.parse_id(text) for text in wrong] == [None] * len(wrong)


def test_growing_messages_are_told_and_not_kept() -> None:
    log = HubEventLog()
    told: list[HubEvent] = []
    log.listen(told.append)
    log.append({"type": "message-growing"}, session_id="s", replaces="s")
    assert [event.id for event in told] == [0]
    assert not told[0].frame.startswith(b"id:")
    assert log.read_after(0) == []


@given(
    sizes=st.lists(st.integers(0, 300), max_size=40),
    max_events=st.integers(1, 20),
    max_bytes=st.integers(50, 2000),
    after=st.integers(-2, 45),
)
def test_a_replay_is_whole_or_a_gap(
    sizes: list[int], max_events: int, max_bytes: int, after: int
) -> None:
    log = HubEventLog(max_events, max_bytes)
    for size in sizes:
        log.append({"text": "x" * size}, session_id="s")
    replayed = read_numbers(log.read_after(after))
    if replayed is None:
        assert after < 0 or after > len(sizes) or len(sizes) - after > 1 or not sizes
    else:
        assert replayed == list(range(after + 1, len(sizes) + 1))
        assert len(replayed) <= max_events
    assert read_numbers(log.read_after(len(sizes))) == []
    if sizes:
        assert read_numbers(log.read_after(len(sizes) - 1)) == [len(sizes)]


def test_a_listener_gets_what_it_missed_and_then_all() -> None:
    log = HubEventLog()
    for _ in range(3):
        log.append({}, session_id="s")
    told: list[HubEvent] = []
    last, is_resumed, close = log.listen(told.append, after=1)
    assert (last, is_resumed) == (3, True)
    log.append({}, session_id="s")
    close()
    log.append({}, session_id="s")
    assert [event.id for event in told] == [2, 3, 4]
    assert log.listen(told.append, after=77)[1] is False
