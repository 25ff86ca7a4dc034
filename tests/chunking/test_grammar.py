"""The tables name nodes, fields and packages that exist: a grammar that renames one is noticed."""

import subprocess
import sys
from importlib import import_module

import pytest
from chunking.samples import LANGUAGES
from codekernel.chunking.grammar import PARSE_SLICE_BYTES, Grammar, load_grammar, parse_tree
from tree_sitter import Language

LINE = b"x = [1, 2, 3]\n"

EVERY_LANGUAGE = pytest.mark.parametrize("name", LANGUAGES)


def load(grammar: Grammar) -> Language:
    return Language(getattr(import_module(grammar.package), grammar.entry_point)())


@EVERY_LANGUAGE
def test_every_node_type_of_a_table_is_in_its_grammar(name: str) -> None:
    grammar = load_grammar(name)
    assert grammar
    language = load(grammar)
    known = {language.node_kind_for_id(number) for number in range(language.node_kind_count)}
    values = {value for rule in grammar.rules.values() for value in rule.kinds_by_value}
    named = {
        *grammar.rules,
        *grammar.wrapper_types,
        *grammar.leading_types,
        *grammar.embedded_languages,
        *values,
    }
    assert named - known == set()


@EVERY_LANGUAGE
def test_every_step_to_a_name_is_a_field_or_a_node_type(name: str) -> None:
    grammar = load_grammar(name)
    assert grammar
    language = load(grammar)
    known = {language.node_kind_for_id(number) for number in range(language.node_kind_count)}
    known |= {language.field_name_for_id(number) for number in range(1, language.field_count + 1)}
    ways = [
        way for rule in grammar.rules.values() for way in ways_of(rule.name_path, rule.name_pattern)
    ]
    ways += [
        way for rule in grammar.rules.values() if rule.kinds_by_value for way in [rule.value_path]
    ]
    steps = {step.rstrip("*") for way in ways for step in way.replace("|", ".").split(".")}
    assert steps - known == set()


def ways_of(name: str, pattern: object) -> list[str]:
    return [] if pattern else [name]


def test_grammars_are_loaded_only_when_they_are_needed() -> None:
    code = (
        "import sys; from codekernel.chunking.chunker import chunk_text; chunk_text('# a', "
        "'markdown', [9]);"
        "before = [m for m in sys.modules if m.startswith('tree_sitter')];"
        "chunk_text('a = 1', 'python', [9]);"
        "print(before, sorted(m for m in sys.modules if m.startswith('tree_sitter_')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout.split() == [
        "[]",
        "['tree_sitter_python',",
        "'tree_sitter_python._binding']",
    ]


@pytest.mark.slow
def test_nothing_keeps_a_text_that_was_parsed() -> None:
    python = load_grammar("python")
    assert python
    for length in (1, PARSE_SLICE_BYTES // len(LINE), 3 * PARSE_SLICE_BYTES // len(LINE)):
        source = LINE * length
        holders = sys.getrefcount(source)
        for _ in range(3):
            tree = parse_tree(python, source)
            assert tree
            assert tree.root_node.end_byte == len(source)
            del tree
        assert sys.getrefcount(source) == holders
    before = sys.getallocatedblocks()
    for _ in range(100):
        parse_tree(python, LINE * 5000)
    assert sys.getallocatedblocks() - before < 100
