"""What each tool answers, over an index of words in this process."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp.methods import compact_schema, make_methods
from codekernel.adapters.mcp.tools import TOOL_TITLES, McpTools
from codekernel.adapters.mcp.toolset.calls import format_line_ranges
from codekernel.adapters.mcp.toolset.files import draw_tree
from codekernel.adapters.mcp.toolset.search import CHARS_PER_TOKEN, cut_lines, take_within
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ignore_progress
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from support.git_history import GitHistory
from tokenizers import Tokenizer

ROOT = Path(__file__).parents[3]
# Of all tools together; the issue allows 1,200.
MAX_SCHEMA_TOKENS = 900
BASKET = '''"""A basket of goods."""


class Basket:
    def add(self, item):
        self.check(item)
        self.items.append(item)

    def check(self, item):
        if item.price < 0:
            raise ValueError("a price is negative")
'''
SHOP = (
    "from shop.basket import Basket\n\n\n"
    "def sell(item):\n    basket = Basket()\n    basket.add(item)\n"
)
TEST = "from shop.sale import sell\n\n\ndef test_a_sale():\n    sell(None)\n"
MANY = "".join(f"def price_{n}(item):\n    return item.price * {n}\n\n\n" for n in range(60))

CallTool = Callable[..., str]


def _refuse_turn(*_: object) -> NoReturn:
    raise AssertionError("no turn is expected")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> GitHistory:
    history = GitHistory(tmp_path_factory.mktemp("world") / "project")
    first = BASKET.replace("price < 0", "price <= 0")
    history.commit(
        "shop: add a basket", {"shop/basket.py": first, "docs/deep/er/guide.md": "# Guide\n"}
    )
    history.commit(
        "shop: allow gifts\n\nA price of nothing is a gift.",
        {"shop/basket.py": BASKET, "shop/sale.py": SHOP, "tests/test_sale.py": TEST},
    )
    history.commit("shop: many prices", {"shop/prices.py": MANY})
    return history


@pytest.fixture(scope="module")
def toolbox(history: GitHistory) -> Iterator[McpTools]:
    place = history.folder.parent
    index = RepositoryIndex(history.folder, place / "index", ModelPool)
    index.start(IndexPlan())  # words alone
    repository = IndexedRepository(
        history.folder, lambda: OpenedIndex(index), first_index_timeout_seconds=90
    )
    context = ToolContext(repository.root, ChangeJournal(place / "journal", repository.root))
    yield McpTools(repository, _refuse_turn, context)
    repository.close()


@pytest.fixture
def call(toolbox: McpTools) -> CallTool:
    def call_tool(name: str, *, fails: bool = False, **arguments: object) -> str:
        outcome = toolbox.call(name, arguments, CancelToken(), ignore_progress)
        assert outcome.success != fails, outcome.text
        return outcome.text

    return call_tool


def test_eight_tools_and_their_schemas_cost_few_tokens(toolbox: McpTools) -> None:
    listed = make_methods(toolbox)["tools/list"]({}, CancelToken(), ignore_progress)["tools"]
    assert [tool["name"] for tool in listed] == list(TOOL_TITLES)
    assert len(listed) <= 8
    file = ROOT / "models" / "granite-embedding-30m-english" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    sent = [
        json.dumps(
            {key: tool[key] for key in ("name", "description", "inputSchema")},
            separators=(",", ":"),
        )
        for tool in listed
    ]
    assert sum(len(tokenizer.encode(text).ids) for text in sent) <= MAX_SCHEMA_TOKENS
    first = next(tool for tool in listed if "_meta" in tool)
    assert (first["name"], first["_meta"]) == ("search", {"anthropic/alwaysLoad": True})


def test_a_schema_keeps_what_a_model_needs() -> None:
    schema = {
        "type": "object",
        "description": "x",
        "properties": {
            "a": {"type": "string", "default": ""},
            "n": {"type": "integer", "default": 5},
        },
        "required": ["a"],
    }
    assert compact_schema(schema) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "n": {"type": "integer", "default": 5}},
        "required": ["a"],
    }


def test_a_search_fits_its_budget_and_says_how_to_go_on(call: CallTool) -> None:
    page = call("search", query="price", budget=300)
    assert len(page) < 300 * CHARS_PER_TOKEN + 400
    last = page.splitlines()[-1]
    assert last.startswith("[1-")
    assert "offset=" in last
    assert "shop/" in last.partition("offset=")[2]
    step = int(last.partition("offset=")[2].partition(":")[0])
    following = call("search", query="price", budget=300, offset=step)
    assert f"\n[{step + 1}-" in following
    assert not set(page.splitlines()[:1]) & set(following.splitlines()[:1])


def test_a_search_is_narrowed_by_path_and_language(call: CallTool) -> None:
    assert "shop/basket.py" in call("search", query="basket")
    narrowed = call("search", query="basket", path="tests", budget=2000)
    assert "shop/basket.py:" not in narrowed
    assert "guide.md" in call("search", query="guide", language="markdown")
    assert 'no language is called "klingon"' in call(
        "search", query="x", language="klingon", fails=True
    )


def test_code_like_a_place_leaves_the_place_out(call: CallTool) -> None:
    found = call("search", like="shop/prices.py:1")
    assert "price_" in found
    assert not found.startswith("shop/prices.py:1-")
    assert "is not in the index" in call("search", like="docs/none.py:3", fails=True)


def test_a_file_is_read_by_every_form_of_its_name(call: CallTool, history: GitHistory) -> None:
    expected = "4\tclass Basket:\n5\t    def add(self, item):\n[lines 4-5 of 11]"
    file = history.folder / "shop/basket.py"
    for path in (
        "shop/basket.py:4-5",
        f"{file}:4-5",
        f"{file.as_uri()}:4-5",
        "shop/basket.py:L4-L5",
    ):
        assert call("read", path=path) == expected
    assert call("read", path="shop/basket.py", start_line=4, end_line=5) == expected
    assert call("read", file_path="shop/sale.py").splitlines()[-1] == "6\t    basket.add(item)"
    assert "has only 11 lines" in call("read", path="shop/basket.py:90", fails=True)


@pytest.mark.skipif(sys.platform == "win32", reason="no such name there")
def test_a_colon_in_a_name_is_part_of_it_if_there_is_such_a_file(
    call: CallTool, history: GitHistory
) -> None:
    file = history.folder / "odd:3"
    file.write_text("one\n")
    try:
        assert call("read", path="odd:3") == "1\tone"
    finally:
        file.unlink()


def test_files_are_a_tree_or_a_list(call: CallTool) -> None:
    assert call("files").splitlines() == [
        "docs/deep/er/",
        " guide.md",
        "shop/",
        " basket.py",
        " prices.py",
        " sale.py",
        "tests/",
        " test_sale.py",
        "[5 files]",
    ]
    assert call("files", glob="*.md") == "docs/deep/er/guide.md\n[1 files]"
    assert call("files", path="shop", glob="s*.py") == "shop/sale.py\n[1 files]"
    assert "No indexed file" in call("files", path="shop/none", fails=True)


def test_a_large_tree_is_shown_as_deep_as_it_fits() -> None:
    paths = [f"src/{folder}/{name}.py" for folder in "abc" for name in range(9)]
    assert draw_tree(paths, 10) == ["src/", " a/ 9 files", " b/ 9 files", " c/ 9 files"]
    assert len(draw_tree(paths, 100)) == 1 + 3 + 27


def test_lines_are_found_by_text_and_by_expression(call: CallTool) -> None:
    assert call("grep", pattern="basket.add(") == "shop/sale.py\n6: basket.add(item)"
    assert call("grep", pattern=r"BASKET\.a\w+", regex=True, ignore_case=True) == (
        "shop/sale.py\n6: basket.add(item)"
    )
    assert call("grep", pattern="price_5(", path="shop/prices.py").startswith("shop/prices.py\n")
    assert "No line matches" in call("grep", pattern="basket", path="**/*.md")
    first = call("grep", pattern="item")
    assert first.splitlines()[-1] == "[lines 1-100 of more: offset=100]"
    assert call("grep", pattern="item", offset=100) != first
    assert "There is no none" in call("grep", pattern="x", path="none", fails=True)


def test_calls_are_followed_both_ways(call: CallTool) -> None:
    answer = call("calls", symbol="Basket.add")
    assert answer.startswith("Basket.add shop/basket.py:5-7\ncallers:\n- sell shop/sale.py:4-6")
    assert "callees:\n- Basket.check shop/basket.py:9-11" in answer


def test_the_impact_of_a_change_names_callers_by_distance_and_tests(call: CallTool) -> None:
    for symbol in ("Basket.check", "shop/basket.py:10", "shop/basket.py:Basket.check"):
        answer = call("calls", symbol=symbol, direction="impact")
        assert "1 call away:\n- Basket.add shop/basket.py:5-7\n2 calls away:\n- sell" in answer
        assert "tests, 1 of 1 with any evidence, strongest first:" in answer
        assert "- test_a_sale tests/test_sale.py:4-5 (3 calls away" in answer
        assert answer.splitlines()[-1].startswith("[not seen: dynamic dispatch")
    whole = call("calls", symbol="shop/sale.py", direction="impact")
    assert "reaches 0 definitions in 0 files, within 3 calls" in whole
    assert "- test_a_sale tests/test_sale.py:4-5 (1 call away" in whole
    outside = call("calls", symbol="shop/sale.py:1", direction="impact", fails=True)
    assert outside == "shop/sale.py:1 is in no definition. The nearest is sell shop/sale.py:4-6."
    unnamed = call("calls", symbol="shop/sale.py:sel", direction="impact", fails=True)
    assert unnamed == "shop/sale.py defines no sel. Did you mean sell?"


def test_history_says_which_commits_made_lines_and_why(call: CallTool) -> None:
    answer = call("history", place="shop/basket.py:10").splitlines()
    assert answer[0] == "shop/basket.py:10: 2 commits"
    assert answer[1].endswith("Ada: shop: allow gifts (lines 10)")
    assert answer[2] == "  A price of nothing is a gift."
    assert answer[3].endswith("Ada: shop: add a basket")
    for place in ("Basket.check", "shop/basket.py:Basket.check"):
        assert call("history", place=place).startswith("shop/basket.py:9-11: 2 commits")
    assert call("history", place="shop/prices.py").startswith("shop/prices.py: 1 commits")


def test_lines_are_written_as_ranges() -> None:
    assert format_line_ranges([6, 4, 5, 9]) == "4-6,9"


def test_an_answer_takes_what_fits_and_at_least_one() -> None:
    assert take_within(["aaaa", "bbbb", "c"], 9) == ["aaaa"]
    assert take_within(["aaaa", "bbbb", "c"], 10) == ["aaaa", "bbbb"]
    assert take_within(["aaaa"], 1) == ["aaaa"]
    assert cut_lines([], 5) == 0
