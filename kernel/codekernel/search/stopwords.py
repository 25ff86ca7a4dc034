"""The stop words of queries and highlighting, in English and Chinese.

The stemmer that maps related words to one stem.
"""

from functools import lru_cache

_SUFFIX_TEXT = (
    "ization izations izing ized izer izers ations ation ators ator ating ated ings ing ers "
    "er ors or ies ied ions ion ments ment able ible ity ness edly ed es s ly al e y "
)

# Longest first: an ending is cut off only if a stem is left that can still be told from others.
_SUFFIXES = tuple(sorted(_SUFFIX_TEXT.split(), key=len, reverse=True))

_SUFFIXES_BY_LAST_LETTER = {
    letter: tuple(ending for ending in _SUFFIXES if ending[-1] == letter)
    for letter in {ending[-1] for ending in _SUFFIXES}
}

_MIN_STEM_CHARS = 3

_STEM_CACHE_SIZE = 65_536

_QUERY_STOPWORD_TEXT = (
    "a an and are as at be between by can class classes code do does for from function "
    "functions handle handled handles handling how implement implementation implemented "
    "implementing in into is it its method methods not of on or that the this through to use "
    "used using via what when where which with work works "
)

# In a question about code these are in every second one and tell no file from another.
QUERY_STOPWORDS = frozenset(_QUERY_STOPWORD_TEXT.split())


@lru_cache(_STEM_CACHE_SIZE)
def stem(word: str) -> str:
    """The word without its ending; the same for related words more often than not."""
    for ending in _SUFFIXES_BY_LAST_LETTER.get(word[-1:], ()):
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_CHARS:
            return word[: -len(ending)]
    return word


_ENGLISH_STOPWORD_TEXT = (
    "about after again all also am any because been before being both but could did doing done"
    " each few get gets got had has have having he her here hers him his i if just let made make"
    " makes many me might more most much must my no nor now off once only other our ours out over"
    " own same shall she should so some such than their them then there these they those too under"
    " until up upon us very was we were while who whom whose why will within without would you"
    " your yours"
)

# Chinese is looked for by pairs of characters, so a word of three stands here as two pairs.
_CHINESE_STOPWORD_TEXT = (
    "如何 怎么 怎样 么样 什么 为什 为何 哪里 哪些 哪个 哪儿 是否 能否 可否 可以 能够 需要 我们 你们"
    " 他们 它们 这个 那个 这些 那些 这里 那里 这样 那样 以及 或者 还是 因为 所以 如果 但是 然后"
    " 而且 并且 关于 对于 由于 通过 进行 一个 一些 一下 其中 里面 时候 有没 没有 不是 就是 都是"
    " 请问 告诉 哪种 怎麼 什麼 為什 為何 哪裡 這個 那個 這些 如果 關於 對於 通過 進行"
)

# Particles: a pair that has one of them joins two words and is none itself.
CHINESE_PARTICLES = frozenset("的了吗呢吧么嗎麼之")

STOPWORDS = (
    QUERY_STOPWORDS
    | frozenset(_ENGLISH_STOPWORD_TEXT.split())
    | frozenset(_CHINESE_STOPWORD_TEXT.split())
)


def is_stopword(term: str) -> bool:
    """Whether a term of a query tells nothing of the texts it stands in."""
    return term in STOPWORDS or not CHINESE_PARTICLES.isdisjoint(term)
