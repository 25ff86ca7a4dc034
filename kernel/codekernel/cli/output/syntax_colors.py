"""Color keywords, strings and comments of code in most languages."""

import re
from collections.abc import Iterator
from functools import cache

from codekernel.cli.output.terminal import COMMENT_COLOR, KEYWORD_COLOR, STRING_COLOR

ColorSpan = tuple[int, int, str]

# How the comments of each language begin.
_LANGUAGES_BY_COMMENT = {
    "#": (
        "python ruby bash perl r julia elixir make cmake dockerfile yaml toml terraform nix "
        "starlark fish nushell powershell crystal nim gdscript coffeescript awk tcl raku graphql "
        "meson ini"
    ),
    "--": "sql lua haskell elm ada vhdl purescript",
    ";": "lisp elisp scheme clojure racket assembly",
    "//": (
        "javascript jsx typescript tsx java kotlin go rust c cpp csharp php swift scala zig dart "
        "d v objc groovy solidity move glsl hlsl wgsl metal protobuf thrift fsharp verilog haxe "
        "cuda vue svelte astro scss less css reason apex jsonc"
    ),
}

_COMMENT_PREFIXES = {
    language: prefix
    for prefix, languages in _LANGUAGES_BY_COMMENT.items()
    for language in languages.split()
}

_BLOCK_COMMENTS = {"--": r"--\[\[.*?\]\]|\{-.*?-\}|/\*.*?\*/", "//": r"/\*.*?(?:\*/|\Z)"}

# Where an apostrophe also begins a lifetime, a label or a name, only one character is quoted.
_CHARACTER_LITERAL_LANGUAGES = (
    "rust c cpp csharp java kotlin go swift scala zig d v objc haskell elm fsharp lisp elisp "
    "scheme clojure racket assembly verilog ada vhdl cuda metal glsl hlsl wgsl reason"
)

_HAS_CHARACTER_LITERALS = frozenset(_CHARACTER_LITERAL_LANGUAGES.split())

_LONG_STRING = r'"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"

_STRING = r'"(?:\\.|[^"\\\n])*"'

_QUOTED = r"'(?:\\.|[^'\\\n])*'"

_CHARACTER = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"

_BACKTICKS = r"`(?:\\.|[^`\\])*`"

# The words that structure code in most languages; a word that is a keyword in one of them and a
# name in another is left out.
_KEYWORD_LIST = (
    "abstract as async await begin break case catch class const continue def default defer "
    "defmodule defp del do elif else elsif elseif end enum except export extends extern false "
    "finally fn for foreach from func function global goto if impl implements import in include "
    "instanceof interface is lambda let local loop match mod module mut namespace new nil none "
    "None not null nullptr and or operator override package pass private protected protocol pub "
    "public raise readonly require rescue return sealed self static struct super switch template "
    "then this throw throws trait true True False try type typedef typename union unless unsafe "
    "until use using val var virtual void volatile when where while with yield SELECT FROM WHERE "
    "INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL"
)

_KEYWORDS = frozenset(_KEYWORD_LIST.split())


def find_syntax_spans(text: str, language: str) -> Iterator[ColorSpan]:
    """Yield where each color begins and ends, in order; nothing for prose."""
    prefix = _COMMENT_PREFIXES.get(language)
    if prefix is None:
        return
    quoted = _CHARACTER if language in _HAS_CHARACTER_LITERALS else _QUOTED
    for found in _compile_pattern(prefix, quoted).finditer(text):
        kind = found.lastgroup
        if kind == "comment":
            yield found.start(), found.end(), COMMENT_COLOR
        elif kind == "string":
            yield found.start(), found.end(), STRING_COLOR
        elif found.group() in _KEYWORDS:
            yield found.start(), found.end(), KEYWORD_COLOR


@cache
def _compile_pattern(comment_prefix: str, quoted: str) -> re.Pattern[str]:
    # A hash inside a word, as in ``$#`` or a color, begins no comment.
    line = rf"(?<![\w$\\]){re.escape(comment_prefix)}[^\n]*"
    comments = "|".join(filter(None, (_BLOCK_COMMENTS.get(comment_prefix), line)))
    strings = f"{_LONG_STRING}|{_STRING}|{quoted}|{_BACKTICKS}"
    return re.compile(
        rf"(?P<comment>{comments})|(?P<string>{strings})|(?P<word>\b[A-Za-z_]\w*)", re.DOTALL
    )
