from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from callgraph.world import World
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import index_search
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.callgraph.graph import LiveCallGraph
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled

TOOLS = ToolRegistry([index_search.call_chain])


@pytest.fixture
def context(world: World, tmp_path: Path) -> Iterator[ToolContext]:
    root = WorkspaceRoot.from_path(world.root)
    calls = LiveCallGraph(lambda: world.store)
    yield ToolContext(root, ChangeJournal(tmp_path / "journal", root), call_chain=calls.ask)
    calls.close()


@pytest.fixture
def shop(world: World) -> None:
    world.write(
        shop__py="class Shop:\n    def sell(self):\n        return self.price()\n\n"
        "    def price(self):\n        return 1\n\n\ndef main():\n    Shop().sell()\n"
    )


def called(context: ToolContext, **arguments: Any) -> ToolOutcome:
    return TOOLS.call("call_chain", arguments, context)


def test_it_answers_in_markdown_with_places_and_how_sure_they_are(
    shop: None, context: ToolContext
) -> None:
    outcome = called(context, method="Shop.sell")
    assert outcome.success
    assert outcome.text == (
        "## Call chain: Shop.sell\n\n**Direction**: both\n**Depth**: 1\n**Definitions**: 1\n\n"
        "### Shop.sell (method, shop.py:2-3)\n\n"
        "**Callers** (1):\n- main (function, shop.py:9-10) [certain] call at line 10\n\n"
        "**Callees** (1):\n- Shop.price (method, shop.py:5-6) [certain] call at line 3"
    )


def test_the_fields_of_the_document_are_understood_with_both_spellings(
    shop: None, context: ToolContext
) -> None:
    for spelling in ("includeSource", "include_source"):
        outcome = called(
            context,
            projectKey="autoloop",
            webSocketSessionId="x",
            method="Shop.price",
            direction="callers",
            depth=2,
            **{spelling: True},
        )
        assert outcome.success
        assert "return self.price()" in outcome.text
        assert "main (function" in outcome.text
        assert "**Callees**" not in outcome.text


def test_the_data_has_the_whole_chain(shop: None, context: ToolContext) -> None:
    data = called(context, method="Shop.price", direction="callers", depth=2).data
    (chain,) = data["chains"]
    (sell,) = chain["callers"]["steps"]
    assert sell["place"]["name"] == "Shop.sell"
    assert [step["place"]["name"] for step in sell["next"]["steps"]] == ["main"]


def test_an_unknown_method_fails_with_what_to_do(shop: None, context: ToolContext) -> None:
    outcome = called(context, method="Shop.rent")
    assert not outcome.success
    assert "Shop.rent" in outcome.text
    assert "spelling" in outcome.text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"method": "  "},
        {"method": "f", "depth": 0},
        {"method": "f", "depth": 99},
        {"method": "f", "direction": "sideways"},
        {"method": 3.5},
    ],
)
def test_wrong_arguments_fail_with_a_sentence(
    shop: None, context: ToolContext, arguments: dict[str, Any]
) -> None:
    outcome = TOOLS.call("call_chain", arguments, context)
    assert not outcome.success
    assert outcome.text


@pytest.mark.parametrize("method", ["...", "::", "' OR 1=1 --", "a" * 10_000, "\x00", "%"])
def test_strange_names_are_only_not_found(shop: None, context: ToolContext, method: str) -> None:
    outcome = called(context, method=method)
    assert not outcome.success
    assert "No definition" in outcome.text


def test_without_an_index_it_says_what_to_use_instead(tmp_path: Path) -> None:
    root = WorkspaceRoot.from_path(tmp_path)
    outcome = called(ToolContext(root, ChangeJournal(tmp_path / "journal", root)), method="f")
    assert not outcome.success
    assert "search_context" in outcome.text


def test_a_cancelled_question_ends(shop: None, context: ToolContext) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        called(context.with_cancel(cancel), method="Shop.sell")
