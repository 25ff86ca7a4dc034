"""Text of models without tools, taken apart: the same blocks however it is cut."""

from itertools import pairwise

import pytest
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece, TextToolCallParser
from hypothesis import example, given
from hypothesis import strategies as st

Block = tuple[TextBlockKind, str, str]
TEXT, THINKING, CALL, RESULT = (
    TextBlockKind.TEXT,
    TextBlockKind.THINKING,
    TextBlockKind.CALL,
    TextBlockKind.RESULT,
)

REACT = """Thought: I need the file,
all of it.
Action: read_file
Action Input: {"path": "a.py",
 "start_line": 1}
Observation: def main():
    pass

Thought: I know now.
Final Answer: It has `main`.

Action: is a word here.
"""
# What the property test cuts and mixes: everything that means something, and some that does not.
FRAGMENTS = [
    "思考", "执行", "结果", "Thought", "Action", "Action Input", "Observation", "Final Answer", ":",
    "\N{FULLWIDTH COLON}", "**", "```", "```tool", "```python", "`", "\n", "\n\n", " ", "    ",
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<", '{"name": "ls", "arguments": {}}',
    '{"path": "a', '"}', "}", "ls ./src", "read_file(path='a')", "None", "word", "字", "é", "#",
    "\\",
]  # fmt: skip


def blocks(*texts: str, known: list[str] | None = None) -> list[Block]:
    parser = TextToolCallParser(known)
    pieces = [piece for text in texts for piece in parser.feed(text)]
    return joined([*pieces, *parser.end()])


def joined(pieces: list[TextBlockPiece]) -> list[Block]:
    found: dict[int, Block] = {}
    for piece in pieces:
        before = found.get(piece.number, (piece.kind, piece.name, ""))
        found[piece.number] = (piece.kind, piece.name, before[2] + piece.text)
    return list(found.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello\n\nworld ", [(TEXT, "", "Hello\n\nworld")]),
        (
            "思考: 用户想要查看文件...\n执行: ls ./src",
            [(THINKING, "", "用户想要查看文件..."), (CALL, "ls", '{"input": "./src"}')],
        ),
        (
            (
                "思考\N{FULLWIDTH COLON}看\n执行\N{FULLWIDTH COLON}"
                'read_file(path="a", start_line=1)\n\n好。'
            ),
            [
                (THINKING, "", "看"),
                (CALL, "read_file", '{"path": "a", "start_line": 1}'),
                (TEXT, "", "好。"),
            ],
        ),
        (
            REACT,
            [
                (THINKING, "", "I need the file,\nall of it."),
                (CALL, "read_file", '{"path": "a.py", "start_line": 1}'),
                (RESULT, "", "def main():\n    pass"),
                (THINKING, "", "I know now."),
                (TEXT, "", "It has `main`.\n\nAction: is a word here."),
            ],
        ),
        (
            (
                "<think>hm\n</think>So:\n```tool\n"
                '{"name": "ls", "arguments": {"path": "."}}\n```\nThen.'
            ),
            [
                (THINKING, "", "hm"),
                (TEXT, "", "So:"),
                (CALL, "ls", '{"path": "."}'),
                (TEXT, "", "Then."),
            ],
        ),
        ("<thinking>never closed", [(THINKING, "", "never closed")]),
        ("a <think> in a line", [(TEXT, "", "a <think> in a line")]),
        (
            (
                '<tool_call>\n{"name": "a"}\n</tool_call>\n'
                '<tool_call>{"name": "b", "args": {"x": 1}}</tool_call>'
            ),
            [(CALL, "a", "{}"), (CALL, "b", '{"x": 1}')],
        ),
        (
            (
                '```tool\n[{"tool": "a", "input": {}},'
                ' {"function": {"name": "b", "arguments": "{}"}}]\n```'
            ),
            [(CALL, "a", "{}"), (CALL, "b", "{}")],
        ),
        ("```tool\n1 + 1\n```", [(TEXT, "", "```tool\n1 + 1\n```")]),
        (
            '```tool\n{"name": "a", "arguments": {"x": \n```',
            [(CALL, "a", '{"name": "a", "arguments": {"x":')],
        ),
        (
            "```python\nAction: x\nThought: y\n```\nend",
            [(TEXT, "", "```python\nAction: x\nThought: y\n```\nend")],
        ),
        ("Action: list_directory\n\nThen.", [(CALL, "list_directory", "{}"), (TEXT, "", "Then.")]),
        (
            "Thought: done\nAction: None needed\nFinal Answer: ok",
            [(THINKING, "", "done"), (TEXT, "", "ok")],
        ),
        ("**Thought:** bold\n\nShown.", [(THINKING, "", "bold"), (TEXT, "", "Shown.")]),
        (
            'Action: a\nAction Input:\n```json\n{"k": 1}\n```\nObservation: z',
            [(CALL, "a", '{"k": 1}'), (RESULT, "", "z")],
        ),
        ("Action Input: {}\nObservation: x", [(TEXT, "", "Action Input: {}\nObservation: x")]),
        ("结果: 很好\n答案: 42", [(TEXT, "", "结果: 很好\n答案: 42")]),
        ("", []),
    ],
)
def test_a_text_becomes_blocks(text: str, expected: list[Block]) -> None:
    assert blocks(text) == expected
    assert blocks(*text) == expected


def test_prose_behind_a_label_is_no_call_where_tools_are_known() -> None:
    known = ["read_file"]
    assert blocks("Action: open the door", known=known) == [(TEXT, "", "Action: open the door")]
    assert blocks("Action: read_file a.py", known=known) == [
        (CALL, "read_file", '{"input": "a.py"}')
    ]


def test_text_is_returned_as_soon_as_it_is_certain() -> None:
    parser = TextToolCallParser()
    assert parser.feed("He") == [TextBlockPiece(1, TEXT, "He")]
    assert parser.feed("llo\nThou") == [TextBlockPiece(1, TEXT, "llo")]
    assert parser.feed("ghtful") == [TextBlockPiece(1, TEXT, "\nThoughtful")]


texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=30).map(
    "".join
)


@given(texts, st.data())
@example(REACT, None)
def test_any_cut_gives_the_same_blocks(text: str, data: st.DataObject | None) -> None:
    whole = blocks(text)
    assert blocks(*text) == whole
    if data is not None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
        bounds = [0, *cuts, len(text)]
        assert blocks(*(text[a:b] for a, b in pairwise(bounds))) == whole


@given(texts)
def test_blocks_are_returned_in_order_and_none_twice(text: str) -> None:
    parser = TextToolCallParser()
    pieces = [piece for character in text for piece in parser.feed(character)] + parser.end()
    numbers = [piece.number for piece in pieces]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, len(set(numbers)) + 1))


@given(st.text(alphabet="abc \n", max_size=200))
def test_plain_text_is_kept_to_the_letter(text: str) -> None:
    assert blocks(text) == ([(TEXT, "", text.strip())] if text.strip() else [])
