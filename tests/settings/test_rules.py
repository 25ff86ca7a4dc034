from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.errors import InvalidSettings
from codekernel.settings.loading import check_settings_file

EMBEDDING = "searchSettings.embeddingConfig.configs"
RERANK = "searchSettings.rerankConfig.configs"
LOCAL = "localModelManagement.models"
CHAT = "conversationSettings.generationModel"
NUMBER = 2**53

CASES: list[tuple[str, Any, str]] = [
    ("searchSettings.searchLimit", 0, "must be at least 1, got 0"),
    ("searchSettings.searchLimit", -5, "must be at least 1, got -5"),
    ("searchSettings.searchLimit", 10_001, "must be at most 10000, got 10001"),
    ("searchSettings.searchLimit", 10**40, f"must be at most 10000, got {10**40}"),
    (f"{EMBEDDING}[1].name", "m3-512", f'must be unique, but {EMBEDDING}[0].name is "m3-512" too'),
    (f"{EMBEDDING}[0].name", "", "must not be empty"),
    (f"{EMBEDDING}[0].name", " ", "must not be empty"),
    (
        f"{EMBEDDING}[0].modelName",
        "nowhere",
        'must be the name of a local model of type embedding, got "nowhere"',
    ),
    (
        f"{EMBEDDING}[0].modelName",
        "reranker",
        'must be the name of a local model of type embedding, but "reranker" is of type rerank',
    ),
    (f"{EMBEDDING}[0].inputLength", 0, "must be at least 1, got 0"),
    (f"{EMBEDDING}[0].inputLength", 1_000_001, "must be at most 1000000, got 1000001"),
    (
        f"{RERANK}[0].modelName",
        "bge-m3",
        'must be the name of a local model of type rerank, but "bge-m3" is of type embedding',
    ),
    (
        f"{RERANK}[1].modelName",
        "reranker",
        f'must be unique, but {RERANK}[0].modelName is "reranker" too',
    ),
    (f"{RERANK}[0].modelName", "", "must not be empty"),
    (f"{LOCAL}[1].name", "bge-m3", f'must be unique, but {LOCAL}[0].name is "bge-m3" too'),
    (f"{LOCAL}[1].name", "", "must not be empty"),
    (f"{LOCAL}[1].path", "bge-small", 'must be an absolute path, got "bge-small"'),
    (f"{LOCAL}[1].path", "", 'must be an absolute path, got ""'),
    (f"{LOCAL}[1].path", "~/models", 'must be an absolute path, got "~/models"'),
    (f"{LOCAL}[1].fileSize", -0.5, "must be at least 0, got -0.5"),
    (f"{CHAT}[1].name", "deepseek", f'must be unique, but {CHAT}[0].name is "deepseek" too'),
    (f"{CHAT}[1].name", "", "must not be empty"),
    (f"{CHAT}[0].modelName", "", "must not be empty"),
    (f"{CHAT}[0].url", "", "must not be empty when setApiKey is true"),
    *(
        (f"{CHAT}[1].url", url, "must start with http:// or https:// and name a host")
        for url in (
            "api.deepseek.com",
            "ftp://api.deepseek.com",
            "file:///etc/passwd",
            "https://",
            "https:///v1",
            "https://[::1",
            "http://host:port",
            "http://host:99999",
            " https://host",
            "https://ho st",
            "https://host/\n",
            "sk-a-key-in-the-wrong-field",
        )
    ),
    ("conversationSettings.historyLength", -1, "must be at least 0, got -1"),
    (
        "conversationSettings.historyLength",
        NUMBER,
        f"must be at most {NUMBER - 1}, got {NUMBER}",
    ),
    ("conversationSettings.maxRounds", -1, "must be at least 0, got -1"),
    ("conversationSettings.maxRounds", 21, "must be at most 20, got 21"),
    (f"{CHAT}[0].inputPrice", -0.5, "must be at least 0, got -0.5"),
    (f"{CHAT}[0].outputPrice", -1, "must be at least 0, got -1"),
    (f"{CHAT}[0].contextTokens", 10, "must be at least 1024, got 10"),
    ("performance.maxThreads", -1, "must be at least 0, got -1"),
    ("performance.maxThreads", NUMBER, f"must be at most {NUMBER - 1}, got {NUMBER}"),
]


def put(document: Any, key: str, value: Any) -> None:
    *parents, last = key.replace("[", ".").replace("]", "").split(".")
    for parent in parents:
        document = document[int(parent) if parent.isdigit() else parent]
    document[last] = value


def problems_of(path: Path, machine: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(path, **machine)
    said = str(caught.value)
    assert said.startswith("Failed in checking settings: ")
    return said.removeprefix("Failed in checking settings: ").split("; ")


@pytest.mark.parametrize(("key", "value", "reason"), CASES)
def test_a_broken_rule_is_reported_with_its_key_and_reason(  # noqa: PLR0913, PLR0917
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    key: str,
    value: Any,
    reason: str,
) -> None:
    put(document, key, value)
    assert f"{key} {reason}" in problems_of(write(document), machine)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("searchSettings.searchLimit", 1),
        ("searchSettings.searchLimit", 10_000),
        (f"{EMBEDDING}[0].inputLength", 1),
        (f"{EMBEDDING}[0].inputLength", 1_000_000),
        (f"{EMBEDDING}[0].modelName", "bge-small"),
        (f"{RERANK}[0].selected", False),
        (f"{RERANK}[1].modelName", "reranker-2"),
        (f"{LOCAL}[1].fileSize", 0),
        (f"{LOCAL}[1].type", "generation"),
        (f"{CHAT}[0].url", "http://localhost:11434"),
        (f"{CHAT}[0].url", "https://[::1]:8080/v1"),
        (f"{CHAT}[0].url", "HTTPS://例え.jp/v1?a=b"),
        ("conversationSettings.historyLength", 0),
        ("conversationSettings.historyLength", NUMBER - 1),
        ("conversationSettings.maxRounds", 0),
        ("conversationSettings.summarizeHistory", True),
        (f"{CHAT}[0].inputPrice", 0.28),
        (f"{CHAT}[0].outputPrice", None),
        (f"{CHAT}[0].contextTokens", 65_536),
        ("performance.maxThreads", NUMBER - 1),
        (EMBEDDING, []),
        (RERANK, []),
        (CHAT, []),
    ],
)
def test_the_limits_themselves_are_allowed(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], key: str, value: Any
) -> None:
    put(document, key, value)
    check_settings_file(write(document), **machine)


def test_only_one_reranker_may_be_selected(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    put(document, f"{RERANK}[1].selected", value=True)
    assert problems_of(write(document), machine) == [
        f"{RERANK} must have at most one selected, got 2"
    ]


def test_all_problems_are_reported_at_once(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    put(document, "searchSettings.searchLimit", 0)
    put(document, f"{LOCAL}[2].path", str(gone))
    put(document, "performance.maxThreads", -1)
    put(document, "performance.useCuda", value=True)
    assert problems_of(write(document), machine) == [
        "searchSettings.searchLimit must be at least 1, got 0",
        "performance.maxThreads must be at least 0, got -1",
        f"{LOCAL}[2].path: there is no folder {gone}",
        "performance.useCuda: CUDA is not available on this machine",
    ]


def test_a_key_pasted_into_the_url_is_not_repeated(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    put(document, f"{CHAT}[0].url", "sk-very-secret")
    assert "sk-very-secret" not in "".join(problems_of(write(document), machine))
