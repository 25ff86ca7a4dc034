"""A turn as Telegram's HTML; golden/ has the messages of each turn, one after another.

After a change: GOLDEN=write python -m pytest tests/adapters/telegram/test_rendering.py, and look.
"""

import os
from pathlib import Path

import pytest
from codekernel.adapters.chat.commands import CommandReply
from codekernel.adapters.chat.turns import ChatTurn, TextStep
from codekernel.adapters.telegram.markdown_spans import parse_markdown
from codekernel.adapters.telegram.rendering import (
    DocumentPage,
    PageButton,
    TextPage,
    render_notice,
    render_permission,
    render_reply,
    render_turn,
)
from codekernel.adapters.telegram.rich_text import (
    clean_spans,
    format_html,
    split_pages,
)
from codekernel.domain.agent_sessions import (
    Actor,
    PermissionStatus,
    SessionMessage,
    SessionPermission,
)
from codekernel.domain.chat import (
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from hypothesis import given
from hypothesis import strategies as st
from support.bot_html import MAX_ENTITIES, MAX_UNITS, count_units, parse_html
from support.chat_steps import build_steps

GOLDEN = Path(__file__).parent / "golden"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a < b\n+a & b\n"


def assistant(*blocks: TextContent | ThinkingContent | ToolUseContent) -> AgentMessage:
    return AgentMessage("assistant", blocks)


def result(tool_use_id: str, text: str, diff: str = "", *, is_error: bool = False) -> AgentMessage:
    return AgentMessage("user", (ToolResultContent(tool_use_id, text, is_error, diff),))


MARKDOWN = """# Result of **it**

See [the page](https://example.org/?a=1&b=2) and [code](src/a.py#L3); `x < y` holds, _so_ ~~not~~.
snake_case and 2 * 3 * 4 stay, \\*so\\* does <b>this</b>.

- one
  - two **bold `code`**
- [x] done
- [ ] open

1. first
2. second

> quoted *words*, `code` and [a link](https://example.org)
> go on

| name | 数 |
|------|---:|
| a    | 一 |
| long name | 2 |

```python
def f(a: int) -> bool:
    return a < 1 and a & 2
```
---
~~~
no language
~~~
end"""

TURNS = {
    "example_of_document_004": (
        True,
        [
            assistant(
                ThinkingContent("用户想要查看文件..."),
                ToolUseContent("call_1", "ls", {"path": "./src"}),
            ),
            result("call_1", "index.ts\nutils.ts"),
            assistant(TextContent("目录中包含 index.ts 和 utils.ts。")),
        ],
    ),
    "running": (False, [assistant(ToolUseContent("1", "run", {"command": "make\n  test"}))]),
    "nothing_yet": (False, []),
    "ended_without_a_word": (True, []),
    "stopped": (True, [assistant(ToolUseContent("1", "run", {"command": "sleep 9"}))]),
    "failed_tool": (
        True,
        [
            assistant(ToolUseContent("1", "read", {"path": "<none>"})),
            result("1", "no such file: <none>", is_error=True),
        ],
    ),
    "diff": (
        True,
        [
            assistant(ToolUseContent("1", "edit", {"path": "x.py", "old": "a < b"})),
            result("1", "changed", DIFF),
            assistant(TextContent("Changed.")),
        ],
    ),
    "markdown": (True, [assistant(TextContent(MARKDOWN))]),
    "long_output": (
        True,
        [assistant(ToolUseContent("1", "cat", {})), result("1", "0123456789" * 500)],
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_is_rendered_as_its_golden_file_says(name: str) -> None:
    is_finished, messages = TURNS[name]
    steps = build_steps(messages, is_finished=is_finished)
    pages = render_turn(ChatTurn(1, None, steps, is_finished))
    htmls = [page.html for page in pages if isinstance(page, TextPage)]
    assert all(parse_html(html).problems == [] for html in htmls)
    rendered = "\n=====\n".join(htmls) + "\n"
    golden = GOLDEN / f"{name}.html"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(rendered, encoding="utf-8")
    assert rendered == golden.read_text(encoding="utf-8")


def test_what_came_from_elsewhere_is_quoted_with_its_speaker() -> None:
    message = AgentMessage("user", (TextContent("do <this>"),))
    request = SessionMessage("m", "s", 1, 1, message, Actor("webapp", "Ann & Bob"), "", 1)
    turn = ChatTurn(1, request, (TextStep("done"),), is_finished=True)
    (page,) = render_turn(turn, shows_request=True)
    assert isinstance(page, TextPage)
    assert page.html == (
        "👤 Ann &amp; Bob (the web page)\n<blockquote>do &lt;this&gt;</blockquote>\ndone"
    )
    assert render_turn(turn) == [TextPage("done")]


def test_a_long_turn_ends_with_a_message_that_makes_a_sound() -> None:
    turn = ChatTurn(1, None, (TextStep("done"),), is_finished=True, seconds=95.2)
    assert render_turn(turn) == [TextPage("done"), TextPage("✅ Done after 1 min 35 s.")]
    growing = render_turn(ChatTurn(1, None, (TextStep("do"),), is_finished=False))
    assert [page.is_silent for page in growing if isinstance(page, TextPage)] == [True]


def test_a_notice_has_no_content() -> None:
    turn = ChatTurn(1, None, (TextStep("secret"),), is_finished=True)
    assert render_notice(turn, "demo") == [TextPage("✅ <b>demo</b> is done.")]


def test_huge_texts_and_diffs_are_documents() -> None:
    text, diff = "x" * 1_000_000, "\n".join(f"+{number}" for number in range(9_000))
    steps = build_steps(
        [
            assistant(TextContent(text), ToolUseContent("1", "edit", {})),
            result("1", "changed", diff),
        ],
        is_finished=True,
    )
    pages = render_turn(ChatTurn(1, None, steps, is_finished=True))
    documents = [page for page in pages if isinstance(page, DocumentPage)]
    assert [(it.name, it.text) for it in documents] == [
        ("answer.md", text),
        ("changes.diff", diff),
    ]
    assert len(pages) - len(documents) <= 2


def test_the_buttons_of_a_reply_are_under_its_last_message() -> None:
    buttons = (PageButton("Yes", "1"),)
    pages = render_reply(CommandReply("word " * 1_500), buttons)
    assert len(pages) == 2
    assert [page.buttons for page in pages if isinstance(page, TextPage)] == [(), buttons]


def test_a_permission_has_buttons_until_it_is_decided() -> None:
    buttons = (PageButton("Allow", "1"),)
    asked = SessionPermission("p", "run <it>", {"command": "rm -r <dir>\n" * 900}, 1, "runs")
    page = render_permission(asked, "demo", buttons)
    assert page.buttons == buttons
    parsed = parse_html(page.html)
    assert parsed.text.startswith("🔐 demo asks to use run <it> (runs)\ncommand: rm -r <dir>")
    assert count_units(parsed.text) <= MAX_UNITS
    assert "rm -r" not in render_permission(asked, "demo", buttons, is_notice=True).html
    denied = SessionPermission(
        "p", "run", {}, 1, status=PermissionStatus.DENIED, answered_by=Actor("lark", "Bob")
    )
    shown = render_permission(denied, "demo", buttons)
    assert shown.buttons == ()
    assert "Denied by Bob (Lark)." in shown.html


# Characters that break converters: markup, entities, both kinds of emoji, right-to-left, controls.
HOSTILE = st.text(
    st.sampled_from("ab *_`~[]()<>&\"'#|-\n\\!:/.0😀👨‍👩‍👧é中\u200d\ufe0f\x00\u202e\t>")
)
WORDS = st.lists(
    st.sampled_from(
        (
            "**",
            "_",
            "`",
            "```\n",
            "~~~py\n",
            "> ",
            "- ",
            "| a | b |\n|---|---|\n",
            "[a](http://b)",
            "<b>",
            "&lt;",
            "word ",
            "\n\n",
            "😀" * 30,
            "x" * 900,
            "# ",
            "* ",
            "\\",
        )
    ),
    max_size=60,
).map("".join)


@given(st.one_of(HOSTILE, WORDS))
def test_whatever_a_model_writes_is_accepted_by_telegram(text: str) -> None:
    spans = clean_spans(parse_markdown(text))
    for page in split_pages(spans):
        parsed = parse_html(format_html(page))
        assert parsed.problems == []
        assert 0 < count_units(parsed.text) <= MAX_UNITS
        assert parsed.text.strip()


@given(st.lists(WORDS, min_size=1, max_size=6), st.integers(1, 9))
def test_nothing_is_lost_between_pages(texts: list[str], copies: int) -> None:
    spans = clean_spans(parse_markdown("\n".join(texts * copies)))
    whole = "".join("".join(span.text for span in spans).split())
    pages = ["".join(span.text for span in page) for page in split_pages(spans)]
    assert "".join("".join(pages).split()) == whole


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(0, 12_000))
def test_what_is_added_later_changes_only_the_last_page(texts: list[str], more: int) -> None:
    spans = clean_spans(parse_markdown("\n".join(texts * 4)))
    before = [format_html(page) for page in split_pages(spans)]
    added = clean_spans([*spans, *parse_markdown("y " * more)])
    after = [format_html(page) for page in split_pages(added)]
    assert after[: max(len(before) - 1, 0)] == before[:-1]


def test_a_page_ends_between_paragraphs_if_it_can() -> None:
    paragraph = "word " * 300 + "end."
    pages = split_pages(parse_markdown("\n\n".join([paragraph] * 5)))
    assert [format_html(page).count("end.") for page in pages] == [2, 2, 1]


def test_a_code_block_over_two_pages_is_closed_and_opened_again() -> None:
    pages = split_pages(parse_markdown("```py\n" + "x = 1\n" * 1_000 + "```"))
    htmls = [format_html(page) for page in pages]
    assert len(htmls) == 2
    assert all(it.startswith('<pre><code class="language-py">') for it in htmls)
    assert all(it.endswith("</code></pre>") for it in htmls)


def test_a_page_has_at_most_a_hundred_entities() -> None:
    pages = split_pages(parse_markdown("**b** `c` " * 300))
    counts = [len(parse_html(format_html(page)).entities) for page in pages]
    assert sum(counts) == 600
    assert max(counts) <= MAX_ENTITIES


def test_an_emoji_is_never_cut() -> None:
    family = "👨‍👩‍👧"
    for page in split_pages(parse_markdown(family * 2_000)):
        text = "".join(span.text for span in page)
        assert text.replace(family, "") == ""


def test_a_hostile_line_takes_no_long_time() -> None:
    for text in ("*" * 20_000, "[" * 20_000, "`a" * 4_000, "_a" * 4_000, "**a" * 2_600):
        assert split_pages(parse_markdown(text))
