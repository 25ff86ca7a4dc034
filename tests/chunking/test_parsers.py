"""Parsing, as far as it is not the grammars': what stays behind of a text."""

import sys

import pytest
from codekernel.chunking.parsers import PARSE_SLICE_BYTES, parse_tree

LINE = b"x = [1, 2, 3]\n"


@pytest.mark.slow
def test_nothing_keeps_a_text_that_was_parsed() -> None:
    for length in (1, PARSE_SLICE_BYTES // len(LINE), 3 * PARSE_SLICE_BYTES // len(LINE)):
        source = LINE * length
        holders = sys.getrefcount(source)
        for _ in range(3):
            tree = parse_tree("tree_sitter_python", "language", source)
            assert tree
            assert tree.root_node.end_byte == len(source)
            del tree
        assert sys.getrefcount(source) == holders
    before = sys.getallocatedblocks()
    for _ in range(100):
        parse_tree("tree_sitter_python", "language", LINE * 5000)
    assert sys.getallocatedblocks() - before < 100
