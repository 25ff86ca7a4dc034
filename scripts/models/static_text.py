"""How the recipe sees text: languages by file ending, words of identifiers, chunks, functions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LANGUAGES = {
    "py": "python", "js": "javascript", "mjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "tsx": "typescript", "go": "go", "rs": "rust", "rb": "ruby",
    "php": "php", "java": "java", "kt": "kotlin", "swift": "swift", "scala": "scala",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "hs": "haskell",
    "ex": "elixir", "exs": "elixir", "lua": "lua", "sh": "bash", "bash": "bash", "zig": "zig",
    "md": "prose", "rst": "prose", "adoc": "prose",
}  # fmt: skip

# One word of an identifier: URLs, HTTP (of HTTPServer), Server, server, 256. The same alternatives,
# in the same order, are the tokenizer's pre-tokenizer (static_vocabulary.SPLIT).
WORD = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def split_words(text: str) -> list[str]:
    """The lower-cased words of ``text``, identifiers taken apart."""
    return [word.lower() for word in WORD.findall(text)]


CHUNK_LINES = 14  # about 66 tokens of the student, about 130 of the teacher


def chunks(text: str) -> Iterator[str]:
    """Consecutive pieces of a file with something in them."""
    lines = text.splitlines()
    for start in range(0, len(lines), CHUNK_LINES):
        piece = "\n".join(lines[start : start + CHUNK_LINES]).strip()
        if len(WORD.findall(piece)) >= CHUNK_LINES:
            yield piece


@dataclass(frozen=True, slots=True)
class Function:
    """A function without its documentation, and the first sentence of that documentation."""

    language: str
    query: str
    code: str


BRACED = re.compile(
    r"(?P<doc>(?:^[ \t]*//[^\n]*\n)+|^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n)"
    r"(?P<marks>(?:^[ \t]*[@#][^\n]*\n)*)"
    r"(?P<head>^[ \t]*(?:[\w<>\[\],.?&*:'\"()=$ \t]+)\([^;{}]*\)[^;{}]*)\{",
    re.MULTILINE | re.DOTALL,
)
NOT_A_FUNCTION = re.compile(r"\b(if|for|while|switch|catch|class|interface|enum|return|new)\b")
RUBY = re.compile(
    r"(?P<doc>(?:^[ \t]*#[^\n]*\n)+)^(?P<indent>[ \t]*)def (?P<body>.*?)^(?P=indent)end\b",
    re.MULTILINE | re.DOTALL,
)
MAX_FUNCTION = 4000


def functions(language: str, text: str) -> Iterator[Function]:
    """The documented functions of a file in a braced language or Ruby, found by shape."""
    if language == "ruby":
        for match in RUBY.finditer(text):
            code = f"def {match['body']}end"
            yield from _find_documented(language, match["doc"], code)
        return
    for match in BRACED.finditer(text):
        if NOT_A_FUNCTION.search(match["head"]):
            continue
        code = match["head"].strip() + _braces(text, match.end() - 1)
        yield from _find_documented(language, match["doc"], code)


def _braces(text: str, start: int) -> str:
    depth = 0
    for position in range(start, min(len(text), start + MAX_FUNCTION)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start : position + 1]
    return text[start : start + MAX_FUNCTION]


MIN_QUERY_WORDS = 5
MIN_CODE_WORDS = 15


def _find_documented(language: str, documentation: str, code: str) -> Iterator[Function]:
    query = first_sentence(documentation)
    if len(query.split()) >= MIN_QUERY_WORDS and len(WORD.findall(code)) >= MIN_CODE_WORDS:
        yield Function(language, query, code[:MAX_FUNCTION])


DECORATION = re.compile(
    r"^[ \t]*(?:/\*\*?|\*/|\*|///?!?|#+|--+)?[ \t]*|[ \t]*\*/[ \t]*$", re.MULTILINE
)
MARKUP = re.compile(r"\{@\w+ |[{}`]|</?\w+>|:\w+:")
MAX_QUERY = 200


def first_sentence(documentation: str) -> str:
    """The summary a person wrote, without comment signs and markup."""
    plain = MARKUP.sub("", DECORATION.sub("", documentation)).strip()
    paragraph = re.split(r"\n\s*\n|\n\s*@|\n\s*:param", plain)[0]
    sentence = re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()))[0]
    return "" if sentence.startswith(("@", "Copyright", "eslint")) else sentence[:MAX_QUERY]
