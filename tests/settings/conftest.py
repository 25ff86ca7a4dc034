"""A settings document that is valid on this machine, and the callables a check needs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.settings import Hardware


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    """Two embedding models, two rerankers and a chat model with a key."""
    names = ("bge-m3", "bge-small", "reranker", "reranker-2")
    for name in names:
        (tmp_path / name).mkdir()
        for file in ("model.onnx", "tokenizer.json"):
            (tmp_path / name / file).write_bytes(b"{}")
    return {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {
                "configs": [
                    {
                        "name": "m3-512",
                        "modelName": "bge-m3",
                        "inputLength": 512,
                        "selected": True,
                    },
                    {
                        "name": "m3-1024",
                        "modelName": "bge-m3",
                        "inputLength": 1024,
                        "selected": True,
                    },
                ]
            },
            "rerankConfig": {
                "configs": [
                    {"modelName": "reranker", "selected": True},
                    {"modelName": "reranker-2", "selected": False},
                ]
            },
        },
        "localModelManagement": {
            "models": [
                {
                    "name": name,
                    "path": str(tmp_path / name),
                    "type": "rerank" if name.startswith("reranker") else "embedding",
                    "fileSize": 2200,
                }
                for name in names
            ]
        },
        "conversationSettings": {
            "generationModel": [
                {
                    "name": "deepseek",
                    "modelName": "deepseek-chat",
                    "url": "https://api.deepseek.com/v1/chat/completions",
                    "setApiKey": True,
                },
                {"name": "local", "modelName": "qwen", "url": "", "setApiKey": False},
            ],
            "historyLength": 1000,
        },
        "performance": {
            "maxThreads": 0,
            "cuda available": True,
            "useCuda": False,
            "coreML available": True,
            "useCoreML": False,
        },
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Write a document, or raw bytes, to settings.json."""

    def _write(content: Any) -> Path:
        path = tmp_path / "settings.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return _write


@pytest.fixture
def machine() -> dict[str, Any]:
    """A machine without accelerators, where every key is stored."""
    return {
        "has_key": lambda _name: True,
        "hardware": lambda: Hardware(has_cuda=False, has_coreml=False),
    }
