"""Words that are in every text and therefore not worth a mark, in English and in Chinese."""

from kernel.search.stems import SILENT

_ENGLISH = (
    "about after again all also am any because been before being both but could did doing done"
    " each few get gets got had has have having he her here hers him his i if just let made make"
    " makes many me might more most much must my no nor now off once only other our ours out over"
    " own same shall she should so some such than their them then there these they those too under"
    " until up upon us very was we were while who whom whose why will within without would you"
    " your yours"
)

# Chinese is looked for by pairs of characters, so a word of three stands here as two pairs.
_CHINESE = (
    "如何 怎么 怎样 么样 什么 为什 为何 哪里 哪些 哪个 哪儿 是否 能否 可否 可以 能够 需要 我们 你们"
    " 他们 它们 这个 那个 这些 那些 这里 那里 这样 那样 以及 或者 还是 因为 所以 如果 但是 然后"
    " 而且 并且 关于 对于 由于 通过 进行 一个 一些 一下 其中 里面 时候 有没 没有 不是 就是 都是"
    " 请问 告诉 哪种 怎麼 什麼 為什 為何 哪裡 這個 那個 這些 如果 關於 對於 通過 進行"
)
# Particles: a pair that has one of them joins two words and is none itself.
CHINESE_PARTICLES = frozenset("的了吗呢吧么嗎麼之")

STOPWORDS = SILENT | frozenset(_ENGLISH.split()) | frozenset(_CHINESE.split())


def is_stopword(term: str) -> bool:
    """Whether a term of a query tells nothing of the texts it stands in."""
    return term in STOPWORDS or not CHINESE_PARTICLES.isdisjoint(term)
