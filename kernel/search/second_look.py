"""For accuracy: meaning is heard once more, when words, names and files have had their say.

In the first place meaning finds candidates, beside words; here it orders the best of them: by how
near each chunk is to what was asked, and by how near the words of its path are, so that "saving
models" prefers ``persistence/`` although no word is shared. docs/search.md has what it is worth.
"""

from collections.abc import Callable, Sequence

from kernel.search.query import Kind, Query
from kernel.search.ranking import Ranked

LOOKED_AT = 50
# Of the best score, what the nearest chunk and the nearest path gain.
MEANING = 0.1
PATH = 0.1
# The folders around a file that say what it is for; its name says it twice as clearly.
_FOLDERS = 2
_KINDS = {Kind.PROSE, Kind.HAN}

# The cosines of a query and short texts; nothing if no model is quick enough to be asked.
Likeness = Callable[[str, Sequence[str]], Sequence[float]]


def second_look(query: Query, ranked: list[Ranked], likeness: Likeness) -> list[Ranked]:
    """The order after a closer look at the first ones."""
    heard, rest = ranked[:LOOKED_AT], ranked[LOOKED_AT:]
    if query.kind not in _KINDS or len(heard) < 2:  # noqa: PLR2004 - nothing to put in order
        return ranked
    unit = heard[0].score
    for each, near in zip(heard, _stretched([it.signals["meaning"] for it in heard]), strict=True):
        _gain(each, "nearness", MEANING * unit * near)
    for each, near in zip(heard, _of_paths(query, heard, likeness), strict=False):
        _gain(each, "meaning of its path", PATH * unit * near)
    heard.sort(key=lambda each: -each.score)
    return [*heard, *rest]


def _of_paths(query: Query, heard: Sequence[Ranked], likeness: Likeness) -> list[float]:
    """For each chunk how near its path is, 0..1; nothing if nobody knows."""
    texts = {path: path_words(path) for path in dict.fromkeys(it.chunk.path for it in heard)}
    cosines = likeness(query.meant, list(texts.values()))
    near = dict(zip(texts, cosines, strict=False))
    return _stretched([near[it.chunk.path] for it in heard]) if near else []


def path_words(path: str) -> str:
    """What a path says of its file."""
    *folders, file = path.split("/")
    name = file.rpartition(".")[0] or file
    return " ".join([*folders[-_FOLDERS:], name, name])


def _stretched(values: Sequence[float]) -> list[float]:
    least, most = min(values), max(values)
    return [(value - least) / (most - least) if most > least else 0.0 for value in values]


def _gain(each: Ranked, signal: str, gain: float) -> None:
    if gain:
        each.signals[signal] = gain
        each.score += gain
