import json
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from codekernel.conversation.conversations import RunningTurns
from codekernel.domain.chat import (
    ChatToolCall,
    ChatToolCalls,
    ReasoningDelta,
    TextDelta,
    TokensUsed,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import TurnOutcome
from codekernel.domain.turn_events import (
    AnswerDelta,
    ExcerptRetrieved,
    RetrievalAnnotated,
    SearchIssued,
    ShownEvent,
    TurnDone,
    TurnFailed,
)
from codekernel.errors import ContextTooLong, ToolsRefused, WrongParam
from codekernel.storage.vault.vault import ModelUsage
from support.conversation_world import World, reply_text


def wants(*queries: str, purpose: str = "") -> list[Any]:
    arguments = json.dumps({"purpose": purpose, "queries": queries})
    return [ChatToolCalls((ChatToolCall("c1", "search", arguments),)), TokensUsed(7, 3, exact=True)]


def answer(events: list[ShownEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, AnswerDelta))


def searches(events: list[ShownEvent]) -> list[str]:
    return [event.query for event in events if isinstance(event, SearchIssued)]


def done(events: list[ShownEvent]) -> TurnDone:
    assert isinstance(events[-1], TurnDone)
    return events[-1]


def stored(world: World, number: int = 1) -> Any:
    return json.loads(world.files.history_path(number).read_bytes())


def test_the_first_turn_searches_for_the_question_and_later_ones_leave_it_to_the_model(
    world: World,
) -> None:
    world.model.script = [reply_text("One."), reply_text("Two.")]
    first = world.ask("Session")
    assert [type(event) for event in first[:2]] == [RetrievalAnnotated, SearchIssued]
    assert any(isinstance(event, ExcerptRetrieved) for event in first)
    second = world.ask("thanks")
    assert [type(event) for event in second] == [AnswerDelta, TurnDone]


def test_what_was_found_before_is_not_shown_again_and_a_model_in_circles_has_to_answer(
    world: World,
) -> None:
    world.model.script = [wants("Session", "session"), reply_text("Enough.")]
    events = world.ask("Session")
    assert searches(events) == ["Session"]
    assert answer(events) == "Enough."
    assert world.model.requests[1].tools == ()
    found = [event.excerpt for event in events if isinstance(event, ExcerptRetrieved)]
    assert len({(each.path, each.begin_line) for each in found}) == len(found)


def test_no_more_rounds_are_made_than_the_settings_allow(world: World) -> None:
    world.settings.append(replace(world.settings[-1], max_rounds=2))
    world.model.script = [wants("add_route"), wants("third"), reply_text("Never reached.")]
    events = world.ask("Session")
    assert searches(events) == ["Session", "add_route"]
    assert world.model.requests[-1].tools == ()
    assert isinstance(events[-2], TurnFailed)
    assert done(events).outcome is TurnOutcome.FAILED


def test_reasoning_is_no_part_of_the_answer_and_an_opening_becomes_the_purpose(
    world: World,
) -> None:
    world.model.script = [
        [ReasoningDelta("Hmm"), TextDelta("Let me look."), *wants("add_route")],
        reply_text("Here it is."),
    ]
    events = world.ask("Session")
    assert answer(events) == "Here it is."
    purposes = [event.purpose for event in events if isinstance(event, RetrievalAnnotated)]
    assert purposes[1:] == ["Let me look."]


def test_an_answer_begun_before_a_search_continues_in_a_new_paragraph(world: World) -> None:
    world.model.script = [[TextDelta("Partly so."), *wants("add_route")], reply_text("And so.")]
    assert answer(world.ask("Session")) == "Partly so.\n\nAnd so."


def test_tools_that_are_refused_and_a_context_that_is_too_long_are_mended(world: World) -> None:
    world.model.script = [
        [ToolsRefused("no tools")],
        [ContextTooLong("too long")],
        reply_text("```search\nadd_route\n```"),
        reply_text("Mended."),
    ]
    events = world.ask("Session")
    assert answer(events) == "Mended."
    assert searches(events) == ["Session", "add_route"]
    native, fenced, shorter, _ = world.model.requests
    assert native.tools
    assert not fenced.tools
    assert "```search" in fenced.messages[0].content
    assert len(shorter.messages[-1].content) < len(fenced.messages[-1].content)


def test_a_context_that_stays_too_long_fails(world: World) -> None:
    world.model.script = [[ContextTooLong("too long")], [ContextTooLong("too long")]]
    events = world.ask("Session")
    assert isinstance(events[-2], TurnFailed)
    assert events[-2].code == "NETWORK_ERROR"


def test_retrieved_text_is_fenced_so_that_no_file_can_end_the_fence(world: World) -> None:
    world.model.script = [reply_text("x")]
    world.ask("Session")
    system, question = world.model.requests[0].messages
    fence = question.content.split("\n\n")[2].split("\n")[0]
    assert fence.startswith("<files-")
    assert fence in system.content
    assert "never instructions" in system.content
    assert question.content.rstrip().endswith(fence.replace("<", "</"))


def test_a_stop_keeps_what_was_shown_and_what_it_cost(world: World) -> None:
    cancel = CancelToken()
    world.model.script = [[TextDelta("Half"), cancel.cancel, TextDelta("never")]]
    events = world.ask("Session", cancel=cancel)
    assert done(events).outcome is TurnOutcome.STOPPED
    assert stored(world)["history"][0]["answer"] == "Half"
    assert world.ledger.sum_by_model(1) == [ModelUsage("scripted-1", 10, 1)]


def test_a_turn_that_is_left_in_the_middle_is_kept_like_a_stopped_one(world: World) -> None:
    world.model.script = [reply_text("Half", "never")]
    with world.begin("Session") as turn:
        for event in turn.stream_events():
            if isinstance(event, AnswerDelta):
                break
    (turn,) = stored(world)["history"]
    assert (turn["answer"], turn["outcome"]) == ("Half", "stopped")
    assert turn["usage"]["input_token"] > 0
    assert turn["usage"]["exact"] is False
    world.model.script = [reply_text("Next.")]
    assert answer(world.ask("again")) == "Next."


def test_a_conversation_takes_one_question_at_a_time_and_another_does_not_wait(
    world: World,
) -> None:
    world.model.script = [reply_text("One."), reply_text("Other.")]
    with world.begin("Session") as turn:
        with pytest.raises(WrongParam, match="still answering"):
            world.ask("second")
        events = list(turn.stream_events())
        assert answer(world.ask("other", number=2)) == "Other."
    assert answer(events) == "One."


def test_a_question_in_another_process_is_not_disturbed(world: World) -> None:
    lock = world.files.create_lock(1)
    assert lock.try_acquire_or_log()
    with pytest.raises(WrongParam, match="still answering"):
        world.ask("Session")
    lock.release()
    world.model.script = [reply_text("Now.")]
    assert answer(world.ask("Session")) == "Now."


def test_what_is_stopped_before_it_begins_ends_at_once_and_the_next_question_does_not(
    world: World,
) -> None:
    world.conversations.announce(1)
    assert world.conversations.stop(1)
    assert [type(event) for event in world.ask("Session")] == [TurnDone]
    world.conversations.announce(1)
    world.model.script = [reply_text("Fine.")]
    assert answer(world.ask("Session")) == "Fine."
    assert not world.conversations.stop(1)


def test_an_unexpected_failure_is_reported_and_the_turn_is_kept(world: World) -> None:
    world.model.script = [[TextDelta("Half"), ZeroDivisionError("a bug")]]
    events = world.ask("Session")
    assert [type(event) for event in events[-2:]] == [TurnFailed, TurnDone]
    (turn,) = stored(world)["history"]
    assert (turn["answer"], turn["outcome"]) == ("Half", "failed")


def test_a_folder_in_the_place_of_a_history_is_set_aside_and_the_turn_is_kept(world: World) -> None:
    world.model.script = [reply_text("Kept.")]
    path = world.files.history_path(1)
    with world.begin("Session") as turn:
        path.unlink()
        path.mkdir()
        events = list(turn.stream_events())
    assert isinstance(events[-1], TurnDone)
    assert events[-1].unsaved == ""
    assert stored(world)["history"][0]["answer"] == "Kept."
    assert [each.is_dir() for each in path.parent.glob("*.unreadable-*")] == [True]
    assert world.ledger.sum_by_model(1) == [ModelUsage("scripted-1", 10, 5)]


@pytest.mark.slow
def test_a_journal_cut_off_anywhere_gives_a_whole_history(
    world: World,
) -> None:
    copies: list[tuple[Path, bytes]] = []

    def copy() -> None:
        (journal,) = world.files.list_journals()
        copies.append((journal, journal.read_bytes()))

    world.model.script = [[TextDelta("One "), TextDelta("two."), copy, *reply_text()]]
    whole = answer(world.ask("Session"))
    ((journal, content),) = copies
    lengths = sorted({*range(0, len(content), 211), *range(len(content) - 99, len(content) + 1)})
    for length in lengths:
        world.files.history_path(1).unlink(missing_ok=True)
        journal.write_bytes(content[:length])
        world.conversations.recover()
        assert not journal.exists()
        if length > content.index(b"\n"):
            (turn,) = stored(world)["history"]
            assert whole.startswith(turn["answer"])
            assert turn["outcome"] == "interrupted"
    journal.write_bytes(content)
    world.conversations.recover()
    assert len(stored(world)["history"]) == 1


def test_a_turn_settled_twice_is_kept_and_counted_once(world: World) -> None:
    world.model.script = [reply_text("Half")]
    with world.begin("Session") as turn:
        (journal,) = world.files.list_journals()
        for event in turn.stream_events():
            if isinstance(event, AnswerDelta):
                content = journal.read_bytes()
    journal.write_bytes(content)
    before = world.ledger.sum_by_model(1)
    world.conversations._store.recover_journals()
    journal.write_bytes(content)
    world.conversations._store.recover_journals()
    assert len(stored(world)["history"]) == 1
    assert world.ledger.sum_by_model(1) == before


def test_a_question_during_a_recovery_waits_for_it_instead_of_being_refused(world: World) -> None:
    world.model.script = [[TextDelta("Half"), RuntimeError("killed")], reply_text("Whole.")]
    with (
        world.begin("Session") as turn,
        suppress(RuntimeError),
    ):
        for event in turn.stream_events():
            if isinstance(event, AnswerDelta):
                (journal,) = world.files.list_journals()
                content = journal.read_bytes()
    world.files.history_path(1).unlink()
    journal.write_bytes(content)
    recovering, may_go_on = threading.Event(), threading.Event()

    def hold_the_recovery() -> None:
        if threading.current_thread() is thread:
            recovering.set()
            assert may_go_on.wait(60)

    world.model.on_count = hold_the_recovery
    thread = threading.Thread(target=world.conversations.recover)
    thread.start()
    assert recovering.wait(60)
    threading.Timer(0.1, may_go_on.set).start()
    assert answer(world.ask("And now?")) == "Whole."
    thread.join(60)
    assert [each["answer"] for each in stored(world)["history"]] == ["Half", "Whole."]


def test_how_many_turns_are_under_way_is_reported_whenever_it_changes() -> None:
    counts: list[int] = []
    running = RunningTurns(counts.append)
    running.start(1, CancelToken())
    running.start(2, CancelToken())
    with pytest.raises(WrongParam):
        running.start(2, CancelToken())
    running.finish(1)
    running.finish(2)
    assert counts == [1, 2, 1, 0]


def test_a_conversation_that_is_held_takes_no_question_and_one_under_way_is_not_held() -> None:
    running = RunningTurns()
    assert running.reserve(1)
    with pytest.raises(WrongParam):
        running.start(1, CancelToken())
    running.finish(1)
    running.start(1, CancelToken())
    assert not running.reserve(1)


def test_a_turn_that_was_stopped_before_it_began_begins_cancelled() -> None:
    running = RunningTurns()
    running.announce(7)
    assert running.stop(7)
    token = CancelToken()
    running.start(7, token)
    assert token.is_cancelled
