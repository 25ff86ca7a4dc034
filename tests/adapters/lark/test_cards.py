"""Messages of a turn as cards: golden files, the platform's rules, and nothing lost."""

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.chat.turns import TurnStep, TurnWindow
from codekernel.adapters.lark.cards import (
    MAX_REQUEST_BYTES,
    TurnContent,
    TurnState,
    render_reply,
    render_turn,
)
from codekernel.domain.agent_sessions import Actor, AgentSessionRecord, Device, SessionMessage
from codekernel.domain.chat import (
    AgentMessage,
    ContentBlock,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from support.lark_card_rules import CardRefused, check_card, list_texts, measure_request

GOLDEN = Path(__file__).parent / "golden"
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def say(seq: int, role: str, *blocks: ContentBlock) -> SessionMessage:
    message = AgentMessage(role, blocks)
    return SessionMessage(f"m{seq}", "s1", seq, 1_000 * seq, message, Actor(Device.TERMINAL))


# The three messages of document 004.
EXAMPLE = (
    say(
        2,
        "assistant",
        ThinkingContent("用户想要查看文件..."),
        ToolUseContent("call_1", "ls", {"path": "./src"}),
    ),
    say(3, "user", ToolResultContent("call_1", "index.ts\nutils.ts")),
    say(4, "assistant", TextContent("目录中包含 index.ts 和 utils.ts。")),
)
EDITED = (
    say(2, "assistant", ToolUseContent("a", "Edit", {"file_path": "a.py", "new": "x = 2"})),
    say(3, "assistant", ToolUseContent("b", "Bash", {"command": "pytest -q"})),
    say(4, "user", ToolResultContent("a", "done", diff=DIFF)),
    say(6, "user", ToolResultContent("b", "1 failed <a.py>", is_error=True)),
    say(7, "assistant", TextContent("I changed `x` for <you>.\n\n| a | b |\n|---|---|\n| 1 | 2 |")),
)


def make_steps(messages: Sequence[SessionMessage], *, is_finished: bool) -> tuple[TurnStep, ...]:
    """Return the steps of a turn's messages, as a chat has them."""
    last = messages[-1].seq if messages else 0
    record = AgentSessionRecord(
        "s1", "codekernel", "m", "/shop", "", 0, 0, 1, 1, last, is_thinking=not is_finished
    )
    window = TurnWindow("s1", 0)
    window.put(messages)
    turns = window.list_turns(record)
    return turns[0].steps if turns else ()


def content(
    messages: Sequence[SessionMessage],
    state: TurnState,
    prompt: str = "",
    seconds: int | None = None,
) -> TurnContent:
    is_finished = state in {TurnState.DONE, TurnState.FAILED}
    steps = make_steps(messages, is_finished=is_finished)
    return TurnContent("shop", steps, state, prompt, seconds)


CASES = {
    "empty": content((), TurnState.RUNNING),
    "running": content(EXAMPLE[:1], TurnState.RUNNING),
    "done": content(EXAMPLE, TurnState.DONE, seconds=3),
    "waiting": content(EDITED[:2], TurnState.WAITING, prompt="change x\nto <2>"),
    "failed": content(EDITED, TurnState.FAILED, seconds=5),
}


@pytest.mark.parametrize("name", CASES)
def test_a_turn_is_the_card_of_its_golden_file(name: str) -> None:
    cards = render_turn(CASES[name])
    for card in cards:
        check_card(card)
    golden = GOLDEN / f"{name}.json"
    assert json.loads(golden.read_text(encoding="utf-8")) == cards


@pytest.mark.parametrize(
    ("state", "color"),
    [
        (TurnState.RUNNING, "wathet"),
        (TurnState.WAITING, "orange"),
        (TurnState.DONE, "green"),
        (TurnState.FAILED, "red"),
    ],
)
def test_the_header_has_the_color_of_the_state(state: TurnState, color: str) -> None:
    (card,) = render_turn(content(EXAMPLE, state))
    assert card["header"]["template"] == color


def test_a_tool_goes_from_running_to_success_or_error_with_its_seconds() -> None:
    def read_rows(*messages: SessionMessage) -> list[str]:
        (card,) = render_turn(content(messages, TurnState.RUNNING))
        return [
            element["header"]["title"]["content"]
            for element in card["body"]["elements"]
            if element["tag"] == "collapsible_panel"
        ]

    assert read_rows(*EDITED[:2]) == [
        "⏳ **`Edit`** `a.py` Running",
        "⏳ **`Bash`** `pytest -q` Running",
    ]
    assert read_rows(*EDITED[:4]) == [
        "✅ **`Edit`** `a.py` Success · 2.0 s",
        "❌ **`Bash`** `pytest -q` Error · 3.0 s",
    ]


def test_only_thinking_and_tools_that_succeeded_are_folded() -> None:
    def read_states(messages: Sequence[SessionMessage]) -> list[bool]:
        (card,) = render_turn(content(messages, TurnState.DONE))
        elements = card["body"]["elements"]
        return [each["expanded"] for each in elements if each["tag"] == "collapsible_panel"]

    assert read_states(EXAMPLE) == [False, False]
    assert read_states(EDITED) == [False, True]


def test_the_last_card_alone_has_the_state_of_a_long_turn() -> None:
    long = say(2, "assistant", TextContent("word " * 20_000))
    cards = render_turn(content((long,), TurnState.DONE, seconds=9))
    assert len(cards) > 3
    assert {card["header"]["template"] for card in cards[:-1]} == {"grey"}
    assert cards[-1]["header"]["template"] == "green"
    assert cards[1]["header"]["title"]["content"] == "shop (2)"


def test_a_result_of_a_megabyte_is_shown_with_its_ends() -> None:
    messages = (
        say(2, "assistant", ToolUseContent("a", "Bash", {"command": "cat big"})),
        say(3, "user", ToolResultContent("a", "FIRST" + '"x"\\\n' * 200_000 + "LAST")),
    )
    (card,) = render_turn(content(messages, TurnState.DONE))
    check_card(card)
    text = "".join(list_texts(card))
    assert "FIRST" in text
    assert "LAST" in text
    assert "characters left out" in text


def make_random_turn(rng: random.Random) -> tuple[TurnContent, list[str]]:
    """Return a turn and the words of its texts, each of which is unique."""
    messages, words = [], []
    seq = 1
    for _ in range(rng.choice([1, 3, 10, 60])):
        seq += 1
        kind = rng.randrange(4)
        if kind == 0:
            count = rng.choice([1, 20, 400, 6_000])
            said = [f"w{seq}x{number}" for number in range(count)]
            words += said
            text = rng.choice([" ", "\n", "\n\n", ' "\\" ', " <b> ", " 語 "]).join(said)
            messages.append(say(seq, "assistant", TextContent(text)))
        elif kind == 1:
            text = "".join(rng.choices('ab\n"\\<>`語😀|-', k=rng.choice([5, 3_000, 40_000])))
            messages.append(say(seq, "assistant", ThinkingContent(text)))
        else:
            given = {"command": "".join(rng.choices('ab"\\`\n<>語', k=rng.choice([3, 5_000])))}
            messages.append(say(seq, "assistant", ToolUseContent(f"t{seq}", "Bash", given)))
            if kind == 2:
                text = "".join(rng.choices('ab\n"\\`<>', k=rng.choice([0, 100, 100_000])))
                diff = "".join(rng.choices('+-\n"\\', k=rng.choice([0, 50_000])))
                result = ToolResultContent(f"t{seq}", text, is_error=rng.random() < 0.3, diff=diff)
                messages.append(say(seq + 1, "user", result))
                seq += 1
    title = "".join(rng.choices('"\\語a', k=200))
    prompt = rng.choice(["", '"' * 9_000])
    steps = make_steps(messages, is_finished=True)
    return TurnContent(title, steps, TurnState.DONE, prompt, 1), words


@pytest.mark.parametrize("seed", range(12))
def test_any_turn_fits_its_cards_and_no_word_is_lost_or_twice(seed: int) -> None:
    turn, words = make_random_turn(random.Random(seed))  # noqa: S311
    cards = render_turn(turn)
    for card in cards:
        check_card(card)
        assert measure_request(card) <= MAX_REQUEST_BYTES
    shown = "\n".join(text for card in cards for text in list_texts(card))
    assert re.findall(r"w\d+x\d+", shown) == words


def test_a_reply_to_a_command_is_split_like_a_turn() -> None:
    cards = render_reply("line <1>\n" * 6_000, [("Choose", "id1")])
    assert len(cards) > 1
    for card in cards:
        check_card(card)
        assert measure_request(card) <= MAX_REQUEST_BYTES


@pytest.mark.parametrize(
    "damage",
    [
        {"elements": []},
        {"body": {"elements": [{"tag": "action", "actions": []}]}},
        {"body": {"elements": [{"tag": "markdown", "content": "a", "href": {}}]}},
        {"body": {"elements": [{"tag": "markdown", "content": "<at id=all></at>"}]}},
        {"body": {"elements": [{"tag": "markdown", "content": "![a](https://b.c)"}]}},
        {"config": {"wide_screen_mode": True, "update_multi": True}},
        {"config": {}},
    ],
)
def test_the_rules_refuse_what_the_platform_refuses(damage: dict[str, Any]) -> None:
    (card,) = render_turn(CASES["done"])
    with pytest.raises(CardRefused):
        check_card({**card, **damage})
