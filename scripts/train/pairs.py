"""What people wrote about code, beside that code: ``pairs.py WORK``; files.jsonl to pairs.jsonl.

Chunks are cut as the kernel cuts them. Each line is [package, language, kind, query, code]:
*comment* - a sentence of documentation or a comment, and its chunk without it;
*class* - the first sentence about a class, and another chunk of that class;
*file* - the first sentence about a file, and another chunk of that file;
*path* - the words of a file's folder and name, and a chunk of that file;
*names* - the words of the names around a chunk, and the chunk without those names;
*heading* - the headings above a piece of prose, and the piece.
"""

import hashlib
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import beside  # noqa: F401 - makes the next ones importable
import comments
from codekernel.chunking.chunker import chunk_text
from codekernel.domain.index import Chunk, build_embedding_text, detect_language
from static_text import split_words

INPUT_LENGTH = 950  # as the static model's chunks are cut
MIN_QUERY_WORDS = 4
MIN_NAMES = 2
MIN_CODE_WORDS = 12
MAX_COMMENTS = 3  # of one chunk
HEAD = 4000  # characters in which a file says what it is
FILE_PAIRS = 7  # of one file, about
PATH_PAIRS = 2
NAMES_SHARE = 0.35  # of the chunks
CLASS_SHARE = 0.4
SEED = 20261117

Pair = tuple[str, str, str]


def main(work: Path) -> None:
    """Write the pairs unless they are there."""
    target = work / "pairs.jsonl"
    if target.exists():
        return
    dice = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    part, seen = target.with_suffix(".part"), set()
    with (work / "files.jsonl").open() as files, part.open("w", encoding="utf-8") as out:
        for line in files:
            package, path, language, text = json.loads(line)
            for kind, query, code in _pairs(path, text, dice):
                key = hashlib.blake2b(f"{query}\0{code}".encode(), digest_size=12).digest()
                if key not in seen:
                    seen.add(key)
                    row = [package, language, kind, query, code]
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.rename(target)


def _pairs(path: str, text: str, dice: random.Random) -> Iterator[Pair]:
    (chunks,) = chunk_text(text, detect_language(path), [INPUT_LENGTH])
    if path.endswith((".md", ".rst", ".adoc")):
        for chunk in chunks:
            yield from _enough("heading", " ".join(chunk.symbols), text[chunk.begin : chunk.end])
        return
    about, classes = comments.first(text[:HEAD]), dict[str, str]()
    folder = " ".join(split_words(" ".join(PurePosixPath(path).with_suffix("").parts[-2:])))
    for number, chunk in enumerate(chunks):
        content = text[chunk.begin : chunk.end]
        whole = build_embedding_text(chunk.symbols, content)
        yield from _pair_comments(chunk, content)
        yield from _of_class(chunk, content, classes, dice)
        if dice.random() < NAMES_SHARE:
            yield from _pair_names(path, chunk, content)
        if number and dice.random() < FILE_PAIRS / len(chunks):
            yield from _enough("file", about, whole)
        if dice.random() < PATH_PAIRS / len(chunks):
            yield from _enough("path", folder, whole, MIN_NAMES)


def _pair_comments(chunk: Chunk, content: str) -> Iterator[Pair]:
    for number, (begin, end, sentence) in enumerate(comments.sentences(content)):
        if number == MAX_COMMENTS:
            return
        rest = content[:begin] + content[end:]
        yield from _enough("comment", sentence, build_embedding_text(chunk.symbols, rest))


def _of_class(
    chunk: Chunk, content: str, classes: dict[str, str], dice: random.Random
) -> Iterator[Pair]:
    if len(chunk.symbols) == 1:
        if sentence := comments.first(content):
            classes.setdefault(chunk.symbols[0], sentence)
    elif chunk.symbols and chunk.symbols[0] in classes and dice.random() < CLASS_SHARE:
        whole = build_embedding_text(chunk.symbols, content)
        yield from _enough("class", classes[chunk.symbols[0]], whole)


def _pair_names(path: str, chunk: Chunk, content: str) -> Iterator[Pair]:
    """Lexical search finds names; here they teach what surrounds such names."""
    names = sorted({name for name in chunk.symbols if name}, key=len, reverse=True)
    if names:
        own = split_words(" ".join(chunk.symbols))
        stem = [word for word in split_words(PurePosixPath(path).stem) if word not in own]
        hidden = re.sub("|".join(map(re.escape, names)), " ", content)
        yield from _enough("names", " ".join([*stem, *own]), hidden, MIN_NAMES)


def _enough(kind: str, query: str, code: str, fewest: int = MIN_QUERY_WORDS) -> Iterator[Pair]:
    if len(split_words(query)) >= fewest and len(split_words(code)) >= MIN_CODE_WORDS:
        yield kind, query, code


if __name__ == "__main__":
    main(Path(sys.argv[1]))
