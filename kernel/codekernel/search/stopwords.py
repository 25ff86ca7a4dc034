"""Stop words of queries and of highlighting, in English and Chinese; and the stemmer."""

from functools import lru_cache

from codekernel.domain.lexical_tokenizer import tokenize_query

_STEM_CACHE_SIZE = 65_536

# A suffix is cut off only if a stem is left that can still be told from others.
_MIN_STEM_CHARS = 3

_SUFFIX_TEXT = (
    "ization izations izing ized izer izers ations ation ators ator ating ated ings ing ers "
    "er ors or ies ied ions ion ments ment able ible ity ness edly ed es s ly al e y "
)

# Longest first.
_SUFFIXES = tuple(sorted(_SUFFIX_TEXT.split(), key=len, reverse=True))

_SUFFIXES_BY_LAST_LETTER = {
    letter: tuple(suffix for suffix in _SUFFIXES if suffix[-1] == letter)
    for letter in {suffix[-1] for suffix in _SUFFIXES}
}

_QUERY_STOPWORD_TEXT = (
    "a an and are as at be between by can class classes code do does for from function "
    "functions handle handled handles handling how implement implementation implemented "
    "implementing in into is it its method methods not of on or that the this through to use "
    "used using via what when where which with work works "
)

# Every second question about code has these; they tell no file from another.
QUERY_STOPWORDS = frozenset(_QUERY_STOPWORD_TEXT.split())

_ENGLISH_STOPWORD_TEXT = (
    "about after again all also am any because been before being both but could did doing done"
    " each few get gets got had has have having he her here hers him his i if just let made make"
    " makes many me might more most much must my no nor now off once only other our ours out over"
    " own same shall she should so some such than their them then there these they those too under"
    " until up upon us very was we were while who whom whose why will within without would you"
    " your yours"
)

# The tokenizer splits Chinese into pairs of characters, so a word of three is two pairs here.
_CHINESE_STOPWORD_TEXT = (
    "如何 怎么 怎样 么样 什么 为什 为何 哪里 哪些 哪个 哪儿 是否 能否 可否 可以 能够 需要 我们 你们"
    " 他们 它们 这个 那个 这些 那些 这里 那里 这样 那样 以及 或者 还是 因为 所以 如果 但是 然后"
    " 而且 并且 关于 对于 由于 通过 进行 一个 一些 一下 其中 里面 时候 有没 没有 不是 就是 都是"
    " 请问 告诉 哪种 怎麼 什麼 為什 為何 哪裡 這個 那個 這些 如果 關於 對於 通過 進行"
)

# Particles: a pair with one of them joins two words and is no word itself.
CHINESE_PARTICLES = frozenset("的了吗呢吧么嗎麼之")

STOPWORDS = (
    QUERY_STOPWORDS
    | frozenset(_ENGLISH_STOPWORD_TEXT.split())
    | frozenset(_CHINESE_STOPWORD_TEXT.split())
)


def is_stopword(term: str) -> bool:
    """Return whether a term of a query says nothing about the texts that contain it."""
    return term in STOPWORDS or not CHINESE_PARTICLES.isdisjoint(term)


@lru_cache(_STEM_CACHE_SIZE)
def stem(word: str) -> str:
    """Return the word without its suffix: the same stem for most related words."""
    for suffix in _SUFFIXES_BY_LAST_LETTER.get(word[-1:], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM_CHARS:
            return word[: -len(suffix)]
    return word


@lru_cache(_STEM_CACHE_SIZE)
def stem_words(text: str) -> frozenset[str]:
    """Return the stems of a name, a folder or a short text."""
    return frozenset(map(stem, tokenize_query(text)))
