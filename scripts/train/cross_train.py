"""Teach a cross-encoder lists.py's lists: ``cross_train.py WORK PACK OUT.pt [options]``.

The right chunk of a list is to get the largest number of all. A tenth of the packages is not
learnt from: on their lists the command prints the mean reciprocal rank of the search itself, of the
model, and of both at several weights. What it has is kept every hundred steps, from where the same
command goes on; the losses are in OUT.tsv, for curve.py.
"""

import argparse
import json
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from cross_encoder import QUERY_TOKENS, CrossEncoder
from torch.nn import functional

OTHERS = 5  # of a list, in a step
HELD_OUT = 10  # one package of so many
MAX_HELD_OUT = 120
LOOKED_AT = 16  # of a held-out list
WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5)
WARM_UP = 40
KEEP_EVERY = 100


@dataclass(frozen=True, slots=True)
class Question:
    """A list, in tokens."""

    query: list[int]
    right: int
    texts: list[list[int]]
    scores: np.ndarray


def main(options: argparse.Namespace) -> None:
    """Learn until the steps are done, looking at the held-out lists now and then."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = CrossEncoder(options.pack, options.apart)
    for parameter in (*model.norm.parameters(), *model.layers[: options.frozen].parameters()):
        parameter.requires_grad = False
    learnt, held_out = questions(options.work / "lists.jsonl", model, options.length)
    print(f"{len(learnt):,} lists to learn, {len(held_out)} held out", flush=True)
    head = list(model.head.parameters())
    body = [each for each in model.layers.parameters() if each.requires_grad]
    rates = (options.rate, 10 * options.rate, 1000 * options.rate)
    groups = [{"params": each} for each in (body, head, [model.mix])]
    learner = torch.optim.AdamW(groups, weight_decay=0.01)
    step = _resume_training(options.out, model, learner)
    began, losses = time.monotonic(), list[float]()
    while step < options.steps:
        if step % options.look_every == 0:
            print(
                step,
                evaluate_model(model, held_out),
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
        slope = min(1, (step + 1) / WARM_UP) * (1 - step / options.steps)
        for group, rate in zip(learner.param_groups, rates, strict=True):
            group["lr"] = rate * slope
        loss = _loss(model, learnt, step, options)
        learner.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, *head], 1.0)
        learner.step()
        losses.append(loss.item())
        step += 1
        if step % KEEP_EVERY == 0 or step == options.steps:
            _keep(options.out, model, learner, step, losses)
            losses.clear()
    print(step, evaluate_model(model, held_out), f"{time.monotonic() - began:.0f} s", flush=True)


def questions(
    file: Path, model: CrossEncoder, length: int
) -> tuple[list[Question], list[Question]]:
    """The lists to learn, in a fixed random order, and those of the packages held out."""
    learnt, held_out = list[Question](), list[Question]()
    for line in file.open(encoding="utf-8"):
        package, _, query, right, found = json.loads(line)
        is_held_out = zlib.crc32(package.encode()) % HELD_OUT == 0
        if is_held_out:
            found = found[:LOOKED_AT]
        question = Question(
            model.tokens(query, QUERY_TOKENS),
            right,
            [model.tokens(f"{path}\n{text}", length) for path, text, _ in found],
            np.array([score / (1 - score) for _, _, score in found]),
        )
        if not is_held_out:
            learnt.append(question)
        elif right < LOOKED_AT:
            held_out.append(question)
    dice = np.random.default_rng(1)
    return (
        [learnt[number] for number in dice.permutation(len(learnt))],
        [held_out[number] for number in dice.permutation(len(held_out))[:MAX_HELD_OUT]],
    )


def evaluate_model(model: CrossEncoder, lists: list[Question]) -> str:
    """Mean reciprocal ranks: the search, the model, and the search with some of the model."""
    model.eval()
    ranks: dict[str, list[float]] = {}
    for each in lists:
        with torch.no_grad():
            said = model([(each.query, text) for text in each.texts]).numpy()
        spread = (said - said.min()) / max(said.max() - said.min(), 1e-6)
        for name, values in (
            ("search", each.scores),
            ("model", said),
            *((f"{w}", each.scores + w * each.scores.max() * spread) for w in WEIGHTS),
        ):
            place = int((values > values[each.right]).sum())
            ranks.setdefault(name, []).append(1 / (1 + place))
    model.train()
    return " ".join(f"{name} {np.mean(every):.4f}" for name, every in ranks.items())


def _loss(
    model: CrossEncoder, learnt: list[Question], step: int, options: argparse.Namespace
) -> torch.Tensor:
    dice = np.random.default_rng((options.seed, step))
    pairs = []
    for number in range(options.lists):
        each = learnt[(step * options.lists + number) % len(learnt)]
        others = [place for place in range(len(each.texts)) if place != each.right]
        # The first ones of the search are the ones worth telling from the right one.
        likely = 1 / (3 + np.arange(len(others)))
        chosen = dice.choice(others, OTHERS, replace=False, p=likely / likely.sum())
        pairs += [(each.query, each.texts[place]) for place in (each.right, *chosen)]
    said = model(pairs).view(options.lists, 1 + OTHERS)
    return functional.cross_entropy(said, torch.zeros(options.lists, dtype=torch.long))


def _resume_training(out: Path, model: CrossEncoder, learner: torch.optim.Optimizer) -> int:
    if not out.exists():
        return 0
    kept = torch.load(out)
    model.load_state_dict(kept["model"])
    learner.load_state_dict(kept["learner"])
    step: int = kept["step"]
    return step


def _keep(
    out: Path, model: CrossEncoder, learner: torch.optim.Optimizer, step: int, losses: list[float]
) -> None:
    part = out.with_suffix(".part")
    torch.save({"model": model.state_dict(), "learner": learner.state_dict(), "step": step}, part)
    part.rename(out)
    with out.with_suffix(".tsv").open("a") as log:
        log.writelines(
            f"{step - len(losses) + number + 1}\t{loss:.4f}\n" for number, loss in enumerate(losses)
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("pack", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--lists", type=int, default=8, help="lists in a step")
    parser.add_argument("--length", type=int, default=128, help="tokens of a text")
    parser.add_argument("--apart", type=int, default=3, help="layers that read them apart")
    parser.add_argument("--frozen", type=int, default=1, help="layers that stay as they are")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--look-every", type=int, default=150)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    main(parser.parse_args())
