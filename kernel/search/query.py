"""What a person asks, and what kind of question it is."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from kernel.domain.terms import query_terms
from kernel.search.stems import SILENT, stem

_NAME = r"[^\W\d][\w$]*[!?]?"
_SYMBOL = re.compile(rf"~?{_NAME}(?:(?:\.|::|\#|->){_NAME})*(?:\(\))?")
_QUALIFIER = re.compile(r"\.|::|\#|->")
# Inside a sentence only what cannot be an ordinary word is taken for a name.
_NAME_IN_PROSE = re.compile(
    r"\b(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z0-9]*)+"
    r"|[A-Za-z0-9]+_[A-Za-z0-9_]+|[A-Z]{2,}[a-z]\w+)\b"
)
_HAN = re.compile("[\u3400-\u9fff]")
# Words that ask for tests, which are otherwise ranked behind the code they test.
_ABOUT_TESTS = frozenset({"test", "tests", "testing", "spec", "specs"})


class Kind(Enum):
    """The kinds of question that are ranked differently."""

    SYMBOL = auto()  # one name, perhaps qualified: the definition is wanted
    PROSE = auto()  # words in English
    HAN = auto()  # Chinese: code seldom shares its words, so meaning counts more


@dataclass(frozen=True, slots=True)
class Query:
    """A question taken apart."""

    text: str
    kind: Kind
    terms: tuple[str, ...]
    stems: frozenset[str]
    # The name asked for, without its qualifiers; empty unless the whole query is one.
    symbol: str
    # Names inside a sentence.
    names: frozenset[str]

    @property
    def about_tests(self) -> bool:
        """Whether tests are what is looked for."""
        return not _ABOUT_TESTS.isdisjoint(self.terms)


def understood(text: str) -> Query:
    """Take a query apart."""
    terms = tuple(query_terms(text))
    telling = [term for term in terms if term not in SILENT] or terms
    bare = text.strip().removesuffix("()")
    is_symbol = bool(_SYMBOL.fullmatch(text.strip())) and bare.isascii()
    return Query(
        text=text,
        kind=_kind(text, is_symbol=is_symbol),
        terms=terms,
        stems=frozenset(map(stem, telling)),
        symbol=_QUALIFIER.split(bare)[-1] if is_symbol else "",
        names=frozenset() if is_symbol else frozenset(_NAME_IN_PROSE.findall(text)),
    )


def _kind(text: str, *, is_symbol: bool) -> Kind:
    if is_symbol:
        return Kind.SYMBOL
    return Kind.HAN if _HAN.search(text) else Kind.PROSE
