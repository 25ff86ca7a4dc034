"""The reference: what transformers and torch say, and how far an ONNX file is from it."""

import os
from pathlib import Path
from typing import Any

import torch
from export import pool
from specs import Spec
from texts import PAIRS, TEXTS

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import onnxruntime


def expected_vectors(spec: Spec, model: Any, tokenizer: Any) -> dict[str, Any]:
    """What an embedder must return for each text, alone, as a document and as a query."""
    prompts = {"query": "", "document": "", **(spec.prompts or {})}

    def ids(text: str) -> list[int]:
        given = tokenizer(text, truncation=True, max_length=spec.max_tokens, padding=False)
        return list(given["input_ids"])

    def vector(text: str) -> list[float]:
        row = torch.tensor([ids(text)])
        with torch.no_grad():
            hidden = model(input_ids=row, attention_mask=torch.ones_like(row)).last_hidden_state
        answer = pool(hidden, torch.ones_like(row), spec)[0]
        return [round(float(number), 7) for number in answer]

    return {
        "kind": "embedding",
        "pooling": spec.pooling,
        "normalize": spec.normalize,
        "queryPrefix": prompts["query"],
        "documentPrefix": prompts["document"],
        "maxTokens": spec.max_tokens,
        "texts": TEXTS,
        "ids": [ids(prompts["document"] + text) for text in TEXTS],
        "queryIds": [ids(prompts["query"] + text) for text in TEXTS],
        "documents": [vector(prompts["document"] + text) for text in TEXTS],
        "queries": [vector(prompts["query"] + text) for text in TEXTS],
    }


def expected_scores(spec: Spec, model: Any, tokenizer: Any) -> dict[str, Any]:
    """What a reranker must return for each pair, alone."""
    rows = tokenizer(  # as a batch: transformers 5 takes a single empty second text for none
        [query for query, _ in PAIRS],
        [document for _, document in PAIRS],
        truncation="longest_first",
        max_length=spec.max_tokens,
        padding=False,
        return_token_type_ids=True,
    )
    scores = []
    for ids, types in zip(rows["input_ids"], rows["token_type_ids"], strict=True):
        given = {"input_ids": torch.tensor([ids])}
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        if spec.network == "bert":
            given["token_type_ids"] = torch.tensor([types])
        with torch.no_grad():
            scores.append(torch.sigmoid(model(**given).logits)[0, 0].item())
    return {
        "kind": "rerank",
        "maxTokens": spec.max_tokens,
        "pairs": PAIRS,
        "ids": rows["input_ids"],
        "typeIds": rows["token_type_ids"],
        "scores": [round(score, 7) for score in scores],
    }


def compare(spec: Spec, file: Path, expected: dict[str, Any]) -> float:
    """How far the ONNX file is from the reference; torch is right, the export is checked."""
    session = onnxruntime.InferenceSession(str(file))
    wanted = {value.name for value in session.get_inputs()}
    worst = 0.0
    for i, ids in enumerate(expected["ids"]):
        row = torch.tensor([ids])
        given = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        given["token_type_ids"] = torch.tensor([expected.get("typeIds", {i: [0] * len(ids)})[i]])
        made = session.run(None, {name: given[name].numpy() for name in wanted})
        answer = torch.from_numpy(made[-1])
        if spec.kind == "rerank":
            answer, target = torch.sigmoid(answer[0]), torch.tensor([expected["scores"][i]])
        else:
            if "sentence_embedding" not in spec.outputs:
                answer = pool(answer, given["attention_mask"], spec)
            answer, target = answer[0], torch.tensor(expected["documents"][i])
        worst = max(worst, (answer - target).abs().max().item())
    return worst
