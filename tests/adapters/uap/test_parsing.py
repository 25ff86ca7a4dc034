import json
from itertools import pairwise
from pathlib import Path

from codekernel.adapters.uap.messages import BlockParser, parse_blocks
from codekernel.domain.chat import TextContent, ThinkingContent, ToolResultContent, ToolUseContent
from hypothesis import given
from hypothesis import strategies as st

EXAMPLES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "document_004.json").read_text(encoding="utf-8")
)
SPOKEN = (
    '思考: 用户想要查看文件...\n执行: ls {"path": "./src"}\n'
    "观察: index.ts\nutils.ts\n回答: 两个文件 😀"
)
EXPECTED = (
    ThinkingContent("用户想要查看文件..."),
    ToolUseContent("call_1", "ls", {"path": "./src"}),
    ToolResultContent("call_1", "index.ts\nutils.ts"),
    TextContent("两个文件 😀"),
)


def test_unstructured_text_becomes_the_blocks_of_the_document() -> None:
    assert parse_blocks(SPOKEN) == EXPECTED
    assert [block.to_json() for block in EXPECTED[:2]] == EXAMPLES["thinks_and_calls"]["content"]


def test_byte_by_byte_it_is_the_same() -> None:
    parser = BlockParser()
    for byte in SPOKEN.encode():
        parser.feed(bytes([byte]))
    assert parser.end() == EXPECTED


@given(st.lists(st.integers(0, len(SPOKEN.encode())), max_size=10))
def test_cut_anywhere_between_bytes_it_is_the_same(cuts: list[int]) -> None:
    parser, whole = BlockParser(), SPOKEN.encode()
    bounds = [0, *sorted(cuts), len(whole)]
    for begin, end in pairwise(bounds):
        parser.feed(whole[begin:end])
    assert parser.end() == EXPECTED


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_break_nothing(content: bytes) -> None:
    whole, single = BlockParser(), BlockParser()
    whole.feed(content)
    for byte in content:
        single.feed(bytes([byte]))
    assert whole.end() == single.end()


def test_blocks_grow() -> None:
    parser = BlockParser()
    assert parser.feed("Hel")
    assert parser.blocks == (TextContent("Hel"),)
    assert not parser.feed("\n")
    assert parser.feed("lo")
    assert parser.blocks == (TextContent("Hel\nlo"),)


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    [use] = parse_blocks('```tool\n{"name": "ls", "arguments": {"path": \n```')
    assert isinstance(use, ToolUseContent)
    assert list(use.input) == ["input"]
