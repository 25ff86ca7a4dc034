"""What the kernel adds between the endpoint and the front end, for the first token and for each.

Latency is from the moment the server hands a token to the system to the moment the client has read
it. The same is measured of a bare httpx client, in turns with the kernel, and subtracted.
"""

import json
import time
from dataclasses import dataclass, field
from statistics import median

import httpx
from chat_window import ChatKernel, answer_tokens
from verdicts import verdict

RATE = 200  # tokens a second
FIRST_TARGET_MS = 20.0
TOKEN_TARGET_MS = 1.0


@dataclass
class Latencies:
    """Milliseconds: of each first token, and of all the others."""

    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)

    def add(self, tokens: list[tuple[int, str]]) -> None:
        """The tokens of one answer, with the moments at which they were read."""
        passed = [(moment - int(token.split(":")[2])) / 1e6 for moment, token in tokens]
        self.first += passed[:1]
        self.later += passed[1:]


def measure_latency(kernel: ChatKernel, url: str, answers: int, tokens: int) -> list[bool]:
    """Ask both in turns; whether the targets are met."""
    bare, ours, before = Latencies(), Latencies(), []
    question = f"bench latency {tokens} at {RATE}"
    with httpx.Client() as client:
        _asked_bare(client, url, question)  # both are measured warm
        kernel.asked(1, question)
        for number in range(answers):
            bare.add(_asked_bare(client, url, question))
            began = time.monotonic_ns()
            found = answer_tokens(kernel.asked(number + 2, question))
            before.append((int(found[0][1].split(":")[2]) - began) / 1e6)
            ours.add(found)
    print(f"latency: {answers} answers of {tokens} tokens at {RATE} tokens/s, ms from the server")
    print("|              | first p50 | first p95 | token p50 | token p95 |")
    print("|--------------|----------:|----------:|----------:|----------:|")
    print(_row("bare httpx", bare))
    print(_row("the kernel", ours))
    print(f"(question to first token sent, with retrieval: p50 {median(before):.0f} ms)\n")
    return [
        verdict(
            "added to the first token, p50",
            median(ours.first) - median(bare.first),
            FIRST_TARGET_MS,
            " ms",
        ),
        verdict(
            "added to each token, p50",
            median(ours.later) - median(bare.later),
            TOKEN_TARGET_MS,
            " ms",
        ),
        verdict(
            "added to each token, mean of the middle 90 %",
            _mean_without_outliers(ours.later) - _mean_without_outliers(bare.later),
            TOKEN_TARGET_MS,
            " ms",
        ),
    ]


def _asked_bare(client: httpx.Client, url: str, question: str) -> list[tuple[int, str]]:
    body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": question}]}
    tokens: list[tuple[int, str]] = []
    with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        for line in response.iter_lines():
            now = time.monotonic_ns()
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                said = choices[0]["delta"].get("content", "") if choices else ""
                tokens += [(now, token) for token in said.split()]
    return tokens


def _row(name: str, found: Latencies) -> str:
    figures = (
        part for each in (found.first, found.later) for part in (_at(each, 50), _at(each, 95))
    )
    return f"| {name:12} |" + "".join(f" {figure:9.2f} |" for figure in figures)


def _at(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _mean_without_outliers(values: list[float]) -> float:
    cut = len(values) // 20
    middle = sorted(values)[cut : len(values) - cut]
    return sum(middle) / len(middle)
