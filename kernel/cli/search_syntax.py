"""Light colours for source text: comments, strings and keywords, told by small tables.

A snippet begins anywhere, so a parser would not understand it either; what these patterns get
wrong is a colour.
"""

import re
from collections.abc import Iterator
from functools import cache

from kernel.cli.search_terminal import COMMENT, KEYWORD, STRING

Span = tuple[int, int, str]

_HASH = (
    "python ruby bash perl r julia elixir make cmake dockerfile yaml toml terraform nix starlark "
    "fish nushell powershell crystal nim gdscript coffeescript awk tcl raku graphql meson ini"
)
_DASHES = "sql lua haskell elm ada vhdl purescript"
_SEMICOLON = "lisp elisp scheme clojure racket assembly"
_SLASHES = (
    "javascript jsx typescript tsx java kotlin go rust c cpp csharp php swift scala zig dart d v "
    "objc groovy solidity move glsl hlsl wgsl metal protobuf thrift fsharp verilog haxe cuda "
    "vue svelte astro scss less css reason apex jsonc"
)
_BLOCKS = {"--": r"--\[\[.*?\]\]|\{-.*?-\}|/\*.*?\*/", "//": r"/\*.*?(?:\*/|\Z)"}
_COMMENT_SIGN = {
    language: sign
    for languages, sign in ((_HASH, "#"), (_DASHES, "--"), (_SEMICOLON, ";"), (_SLASHES, "//"))
    for language in languages.split()
}
# Where an apostrophe begins a lifetime, a label or a name, only a single character is a string.
_WITH_CHARACTERS = (
    "rust c cpp csharp java kotlin go swift scala zig d v objc haskell elm fsharp lisp elisp "
    "scheme clojure racket assembly verilog ada vhdl cuda metal glsl hlsl wgsl reason"
)
_APOSTROPHE_IS_A_CHARACTER = frozenset(_WITH_CHARACTERS.split())
_LONG_STRING = r'"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"
_STRING = r'"(?:\\.|[^"\\\n])*"'
_QUOTED = r"'(?:\\.|[^'\\\n])*'"
_CHARACTER = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"
_BACKTICKS = r"`(?:\\.|[^`\\])*`"

# The words that structure code in most languages; a word that is a keyword in one of them and a
# name in another is left out.
_STRUCTURING = (
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
_KEYWORDS = frozenset(_STRUCTURING.split())


def spans(text: str, language: str) -> Iterator[Span]:
    """Where a colour begins and ends, in order; nothing for prose."""
    sign = _COMMENT_SIGN.get(language)
    if sign is None:
        return
    for found in _pattern(sign, language in _APOSTROPHE_IS_A_CHARACTER).finditer(text):
        kind = found.lastgroup
        if kind == "comment":
            yield found.start(), found.end(), COMMENT
        elif kind == "string":
            yield found.start(), found.end(), STRING
        elif found.group() in _KEYWORDS:
            yield found.start(), found.end(), KEYWORD


@cache
def _pattern(sign: str, apostrophe_is_a_character: bool) -> re.Pattern[str]:  # noqa: FBT001 - of a table
    # A hash inside a word, as in ``$#`` or a colour, begins no comment.
    line = rf"(?<![\w$\\]){re.escape(sign)}[^\n]*"
    comments = "|".join(filter(None, (_BLOCKS.get(sign), line)))
    quoted = _CHARACTER if apostrophe_is_a_character else _QUOTED
    strings = f"{_LONG_STRING}|{_STRING}|{quoted}|{_BACKTICKS}"
    return re.compile(
        rf"(?P<comment>{comments})|(?P<string>{strings})|(?P<word>\b[A-Za-z_]\w*)", re.DOTALL
    )
