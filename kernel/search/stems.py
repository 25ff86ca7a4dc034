"""English words without their endings, so that ``parsing`` meets ``parser``."""

from functools import lru_cache

_ENDINGS_IN_USE = (
    "ization izations izing ized izer izers ations ation ators ator ating ated ings ing ers "
    "er ors or ies ied ions ion ments ment able ible ity ness edly ed es s ly al e y "
)
# Longest first: an ending is cut off only if a stem is left that can still be told from others.
_ENDINGS = tuple(sorted(_ENDINGS_IN_USE.split(), key=len, reverse=True))
_ENDINGS_BY_LETTER = {
    letter: tuple(ending for ending in _ENDINGS if ending[-1] == letter)
    for letter in {ending[-1] for ending in _ENDINGS}
}
_SHORTEST_STEM = 3
_WORDS_REMEMBERED = 65_536

_SILENT = (
    "a an and are as at be between by can class classes code do does for from function "
    "functions handle handled handles handling how implement implementation implemented "
    "implementing in into is it its method methods not of on or that the this through to use "
    "used using via what when where which with work works "
)
# In a question about code these are in every second one and tell no file from another.
SILENT = frozenset(_SILENT.split())


@lru_cache(_WORDS_REMEMBERED)
def stem(word: str) -> str:
    """The word without its ending; the same for related words more often than not."""
    for ending in _ENDINGS_BY_LETTER.get(word[-1:], ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word
