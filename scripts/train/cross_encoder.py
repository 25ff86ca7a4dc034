"""A cross-encoder that begins as granite-embedding-30m: query and text read together, one number.

In the lowest layers (``apart``) the two do not see each other, so that they are read as granite
reads them; above, each sees the other. The number is made of their first states, and of how well
every word of the query is met by its best word of the text.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import granite_pack
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS = 384, 12, 6
FIRST, PADDING, LAST = 0, 1, 2  # tokens
QUERY_TOKENS = 32
BLANKS = re.compile(r"[ \t]+")
MAX_TEXT = 1500  # characters looked at


class Layer(nn.Module):
    """One of granite's layers, with its weights."""

    def __init__(self, pack: granite_pack.Pack, name: str) -> None:
        super().__init__()
        self.seen, self.out, self.up, self.down = (
            _linear(pack, f"{name}{part}") for part in ("qkv", "ao", "f1", "f2")
        )
        self.norm, self.end = _norm(pack, f"{name}aln"), _norm(pack, f"{name}fln")

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The states after this layer; ``mask`` says what each may see."""
        count, length, _ = states.shape
        parts = self.seen(states).view(count, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        heard = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        states = self.norm(states + self.out(heard.transpose(1, 2).flatten(2)))
        return self.end(states + self.down(functional.gelu(self.up(states))))


class CrossEncoder(nn.Module):
    """Says how well a text answers a query."""

    def __init__(self, file: Path, apart: int) -> None:
        super().__init__()
        pack = granite_pack.read(file)
        self.tokenizer = Tokenizer.from_str(pack.tokenizer.decode())
        name = next(each for each in pack.tensors if "word" in each or each == "tok_emb")
        self.words = nn.Embedding.from_pretrained(torch.tensor(pack.floats(name)), freeze=True)
        places = pack.floats("pos_emb") + pack.floats("type_emb")[0]
        self.register_buffer("places", torch.tensor(places[pack.size("position_offset") :]))
        self.norm = _norm(pack, "emb_ln")
        self.layers = nn.ModuleList(Layer(pack, f"l{number}.") for number in range(LAYERS))
        self.apart = apart
        self.mix = nn.Parameter(torch.tensor([20.0, 20.0]))
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
        nn.init.zeros_(self.head[2].weight)
        nn.init.zeros_(self.head[2].bias)

    def tokens(self, text: str, most: int) -> list[int]:
        """What the model reads of a text."""
        short = BLANKS.sub(" ", text[:MAX_TEXT])
        found = self.tokenizer.encode(short, add_special_tokens=False).ids
        return [FIRST, *found[: most - 2], LAST]

    def forward(self, pairs: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        """One number for every pair of a query's tokens and a text's."""
        asked = max(len(query) for query, _ in pairs)
        length = asked + max(len(text) for _, text in pairs)
        ids = torch.full((len(pairs), length), PADDING)
        for row, (query, text) in zip(ids, pairs, strict=True):
            row[: len(query)] = torch.tensor(query)
            row[asked : asked + len(text)] = torch.tensor(text)
        place = torch.cat([self.places[:asked], self.places[: length - asked]])
        states = self.norm(self.words(ids) + place)
        real = ids != PADDING
        together = real[:, None, None, :]
        side = torch.arange(length) < asked
        own = together & (side[:, None] == side[None, :])
        for number, layer in enumerate(self.layers):
            states = layer(states, own if number < self.apart else together)
        return self._number(states, real, asked)

    def _number(self, states: torch.Tensor, real: torch.Tensor, asked: int) -> torch.Tensor:
        query, text = states[:, :asked], states[:, asked:]
        straight = [functional.normalize(each, dim=-1) for each in (query, text)]
        near = (straight[0][:, 0] * straight[1][:, 0]).sum(-1)
        met = torch.einsum("bqh,bth->bqt", *straight)
        best = met.masked_fill(~real[:, None, asked:], -1).amax(-1)[:, 1:]
        told = real[:, 1:asked].float()
        share = (best * told).sum(1) / told.sum(1)
        read = self.head(torch.cat([query[:, 0], text[:, 0]], -1))[:, 0]
        return read + self.mix[0] * near + self.mix[1] * share


def _linear(pack: granite_pack.Pack, name: str) -> nn.Linear:
    weight = torch.tensor(pack.floats(f"{name}.w"))
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.weight.data, linear.bias.data = weight, torch.tensor(pack.floats(f"{name}.b"))
    return linear


def _norm(pack: granite_pack.Pack, name: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(WIDTH, eps=1e-12)
    norm.weight.data = torch.tensor(pack.floats(f"{name}.w"))
    norm.bias.data = torch.tensor(pack.floats(f"{name}.b"))
    return norm
