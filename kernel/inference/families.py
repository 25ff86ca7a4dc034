"""What model families expect that their folders do not say."""

import re

# From the model cards of the families; their folders often lack the prompts.
_PREFIXES: tuple[tuple[str, str, str], ...] = (
    (r"\be5\b|[-_/]e5[-_]", "query: ", "passage: "),
    (r"nomic-embed", "search_query: ", "search_document: "),
    (r"arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
)


def usual_prefixes(name: str) -> tuple[str, str]:
    """What to put before queries and documents of a model with this name."""
    for pattern, query, document in _PREFIXES:
        if re.search(pattern, name, re.IGNORECASE):
            return query, document
    return "", ""
