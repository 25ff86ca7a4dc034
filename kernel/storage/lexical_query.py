"""Words into a query of tantivy: any of them may match, BM25 says how well; or all must."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel.storage.lexical_schema import BODY, FREQUENCIES, PATH, SYMBOLS

if TYPE_CHECKING:
    import tantivy


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """What a match in each field counts for; a field of weight 0 is not searched."""

    body: float = 1.0
    symbols: float = 0.5
    path: float = 1.0

    def of_fields(self) -> dict[str, float]:
        """The fields to search and their weights."""
        weights = {BODY: self.body, SYMBOLS: self.symbols, PATH: self.path}
        return {field: weight for field, weight in weights.items() if weight > 0}


def any_of(
    schema: "tantivy.Schema", stems: Sequence[str], weights: Mapping[str, float]
) -> "tantivy.Query":
    """Documents with any of the words in any of the fields."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    terms: list[tuple[Occur, Query]] = []
    for field, weight in weights.items():
        for stem in stems:
            term = Query.term_query(schema, field, stem, index_option=FREQUENCIES)
            terms.append((Occur.Should, term if weight == 1 else Query.boost_query(term, weight)))
    return Query.boolean_query(terms)


def all_of(schema: "tantivy.Schema", stems: Sequence[str], field: str) -> "tantivy.Query":
    """Documents with every one of the words in one field; how well they match does not matter."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    return Query.const_score_query(
        Query.boolean_query(
            [
                (Occur.Must, Query.term_query(schema, field, stem, index_option=FREQUENCIES))
                for stem in stems
            ]
        ),
        1.0,
    )
