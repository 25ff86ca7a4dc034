"""What a change of places reaches: callers by distance, and tests, strongest evidence first.

locate    a place -> the definitions there, or the lines that are in none
follow    definitions -> who calls them (callgraph/); who uses one that nobody can call
gather    the tests that are reached, and those that a search for the changed words finds
rank      callgraph/test_ranking.py
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from codekernel.agent.code_queries import (
    CodeContext,
    CodePlace,
    Symbol,
    is_in_repository,
    list_symbols,
    parse_place,
    suggest_similar,
)
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import load_text_file
from codekernel.agent.tools.index_search import explain_no_call_chain
from codekernel.callgraph.test_ranking import (
    ChangedText,
    RankedTest,
    ReachedDefinition,
    TestCode,
    join_callers,
    rank_tests,
)
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallDirection,
)
from codekernel.errors import WrongParam
from codekernel.search.boosts import classify_path

# So far a change is followed unless a depth is given: farther callers are seldom touched.
DEFAULT_IMPACT_DEPTH = 3

# Definitions of places that are followed at once.
MAX_CHANGED_DEFINITIONS = 30

# Of one definition; tests come late in the order of paths.
MAX_IMPACT_CALLERS = 200

# Files whose tests are compared: those that are reached, nearest first, and those that are found.
MAX_REACHED_FILES = 20
MAX_FOUND_CHUNKS = 60

# Terms of a search; more words find no better files.
MAX_SEARCHED_WORDS = 24

_TEST_NAME = re.compile(r"test|spec|it_|should|benchmark|example|fuzz", re.IGNORECASE)
_TEST_MARK = re.compile(r"@\w*Test\b|#\[\w*:*test|\[(?:Fact|Theory|Test\w*)\b")
_LINES_OF_MARK = 3

_ASSIGNED = re.compile(r"^\s*(?:[a-z]+\s+){0,3}(?P<name>[A-Za-z_]\w{2,})\s*(?::[^=\n]+)?:?=(?!=)")
_WORD = re.compile(r"[^\W\d]\w{2,}")


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """Callers nearest first, tests strongest first; ``left_out`` callers were not followed."""

    changed: tuple[CallChainNode, ...]
    callers: tuple[ReachedDefinition, ...]
    tests: tuple[RankedTest, ...]
    # Tests that there is less evidence for.
    weak_tests: tuple[RankedTest, ...] = ()
    left_out: int = 0
    behind: int = 0  # files that have not been read yet


@dataclass(frozen=True, slots=True)
class ChangedCode:
    """A definition that is meant, or lines that are in none; without a path only its name."""

    name: str
    place: CodePlace | None = None
    kind: str = "file"
    text: str = ""

    def as_node(self) -> CallChainNode:
        """Return it as the call graph has definitions."""
        if self.place is None:
            raise ValueError("a bare name is looked up in the call graph")
        return CallChainNode(
            self.name, self.kind, self.place.path, self.place.first_line, self.place.last_line
        )


def find_impact(places: Sequence[str], depth: int, context: CodeContext) -> ChangeImpact:
    """Return what a change of the places reaches. Raises ToolError."""
    if context.call_chain is None or not any(place.strip() for place in places):
        raise ToolError("Say of what: a name, Class.name, path:line or path.")
    meant = list(
        dict.fromkeys(it for text in places for it in locate_change(text.strip(), context))
    )
    changed = meant[:MAX_CHANGED_DEFINITIONS]
    answers = {
        one: _ask_callers(one.name, one.place, depth, context) for one in changed if one.name
    }
    followed = [answer for answer in answers.values() if answer.chains]
    if not followed and not any(one.place for one in changed):
        answer = next(iter(answers.values()))
        raise ToolError(explain_no_call_chain(answer) + suggest_similar(places[0], context))
    users = [
        _ask_callers(".".join(user.names), CodePlace(user.path), depth - 1, context)
        for one in changed
        if one.place and not (one in answers and answers[one].chains)
        for user in _list_users(one, context)
    ]
    reached = join_callers(followed, users)
    uncalled = [
        it.as_node() for it in changed if it.place and not (it in answers and answers[it].chains)
    ]
    nodes = (*reached.changed, *uncalled)
    text = _describe_change(changed, nodes, context)
    tests = gather_tests(text, reached.callers, context)
    strong, weak = rank_tests(tests, text, reached.callers)
    callers = tuple(each for each in reached.callers if not _is_test(each.place.path))
    left_out = reached.left_out + len(meant) - len(changed)
    return ChangeImpact(nodes, callers, tuple(strong), tuple(weak), left_out, reached.behind)


def _is_test(path: str) -> bool:
    return classify_path(path).is_test


def _ask_callers(
    name: str, place: CodePlace | None, depth: int, context: CodeContext
) -> CallChainResult:
    if context.call_chain is None:
        raise ValueError("there is no call graph")
    path = place.path if place else ""
    question = CallChainQuery(
        name, CallDirection.CALLERS, depth, most_callers=MAX_IMPACT_CALLERS, path=path
    )
    return context.call_chain(question, context.cancel, context.limits.timeout_seconds)


def locate_change(text: str, context: CodeContext) -> list[ChangedCode]:
    """Return what is meant: a name, or the definitions at a place. Raises ToolError."""
    if not is_in_repository(text, context):
        return [ChangedCode(text)]
    place = parse_place(text, context)
    lines = load_text_file(context, place.path).text.split("\n")
    symbols = list(list_symbols(place.path, context))
    if not place.first_line:
        return [_take_definition(each, lines, None) for each in symbols]
    around = [
        each
        for each in symbols
        if each.first_line <= place.last_line and place.first_line <= each.last_line
    ]
    outer = {names for each in around for names in _list_outer_names(each)}
    inner = [each for each in around if each.names not in outer]
    if inner:
        return [_take_definition(each, lines, place) for each in inner]
    changed = "\n".join(lines[place.first_line - 1 : place.last_line])
    names = [found["name"] for line in changed.split("\n") if (found := _ASSIGNED.match(line))]
    if not names:
        raise ToolError(f"{place} is in no definition.{_name_nearest(place, symbols)}")
    return [ChangedCode(name, place, "variable", changed) for name in dict.fromkeys(names)]


def _name_nearest(place: CodePlace, symbols: Sequence[Symbol]) -> str:
    def count_lines(symbol: Symbol) -> int:
        return min(
            abs(symbol.first_line - place.last_line), abs(symbol.last_line - place.first_line)
        )

    if not symbols:
        return ""
    nearest = min(symbols, key=count_lines)
    lines = CodePlace(place.path, nearest.first_line, nearest.last_line)
    return f" The nearest is {'.'.join(nearest.names)} {lines}."


def _list_outer_names(symbol: Symbol) -> Iterable[tuple[str, ...]]:
    return (symbol.names[:end] for end in range(1, len(symbol.names)))


def _take_definition(symbol: Symbol, lines: list[str], asked: CodePlace | None) -> ChangedCode:
    """Return a definition with its text, or those of its lines that were asked for."""
    first, last = symbol.first_line, symbol.last_line
    if asked:
        first, last = max(first, asked.first_line), min(last, asked.last_line)
    return ChangedCode(
        ".".join(symbol.names),
        CodePlace(symbol.path, symbol.first_line, symbol.last_line),
        symbol.kind,
        "\n".join(lines[first - 1 : last]),
    )


def _list_users(one: ChangedCode, context: CodeContext) -> list[Symbol]:
    """Return the definitions of a file that name what changes in it and cannot be called."""
    if one.place is None:
        return []
    word = re.compile(rf"\b{re.escape(one.name.rpartition('.')[2])}\b")
    lines = load_text_file(context, one.place.path).text.split("\n")
    symbols = [
        each
        for each in list_symbols(one.place.path, context)
        if not one.place.first_line <= each.first_line <= one.place.last_line
    ]
    outer = {names for each in symbols for names in _list_outer_names(each)}
    users = (
        each
        for each in symbols
        if each.names not in outer
        and word.search("\n".join(lines[each.first_line - 1 : each.last_line]))
    )
    return list(islice(users, MAX_CHANGED_DEFINITIONS))


def _describe_change(
    changed: Sequence[ChangedCode], nodes: Sequence[CallChainNode], context: CodeContext
) -> ChangedText:
    texts = [one.text for one in changed]
    if not any(texts):  # a name alone
        for node in nodes:
            with suppress(ToolError):  # the file is gone
                lines = load_text_file(context, node.path).text.split("\n")
                texts.append("\n".join(lines[node.first_line - 1 : node.last_line]))
    names = {node.name.rpartition(".")[2] for node in nodes}
    return ChangedText(frozenset(names), frozenset(node.path for node in nodes), "\n".join(texts))


def gather_tests(
    changed: ChangedText, reached: Sequence[ReachedDefinition], context: CodeContext
) -> list[TestCode]:
    """Return the tests of the files that are reached, and of those that a search finds."""
    near = dict.fromkeys(each.place.path for each in reached if _is_test(each.place.path))
    paths = dict.fromkeys([*islice(near, MAX_REACHED_FILES), *_search_test_files(changed, context)])
    return [test for path in paths for test in list_tests(path, context)]


def _search_test_files(changed: ChangedText, context: CodeContext) -> list[str]:
    if context.search is None:
        return []
    stems = [path.rpartition("/")[2].partition(".")[0] for path in changed.paths]
    words = dict.fromkeys([*changed.names, *stems, *_WORD.findall(changed.text)])
    query = " ".join(islice(words, MAX_SEARCHED_WORDS))
    try:
        hits = context.search(f"kind:test {query}", MAX_FOUND_CHUNKS)
    except WrongParam:  # there are no tests
        return []
    return list(dict.fromkeys(hit.chunk.path for hit in hits if _is_test(hit.chunk.path)))


def list_tests(path: str, context: CodeContext) -> list[TestCode]:
    """Return the tests in a file; the whole file if they have no names of their own."""
    try:
        text = load_text_file(context, path).text
    except ToolError:  # gone, or no text
        return []
    lines = text.split("\n")
    found = []
    for each in list_symbols(path, context):
        marks = "\n".join(lines[max(0, each.first_line - 1 - _LINES_OF_MARK) : each.first_line])
        if each.kind in ("function", "method") and (
            _TEST_NAME.match(each.names[-1]) or _TEST_MARK.search(marks)
        ):
            node = CallChainNode(
                ".".join(each.names), each.kind, path, each.first_line, each.last_line
            )
            found.append(TestCode(node, "\n".join(lines[each.first_line - 1 : each.last_line])))
    if found:
        return found
    return [TestCode(CallChainNode(path, "file", path, 1, max(1, len(lines))), text)]
