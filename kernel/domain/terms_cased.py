"""What identifiers of every script have in common: where their parts begin."""

# Longer runs are data (keys, base64) and are cut: nobody types them, what is remembered stays
# small, and no step below can take a time that grows with the square of a line.
LONGEST_WORD = 128

CASED_PART = (
    "[{capital}]+(?:s(?![{small}])|(?![{small}]))"  # HTTP of HTTPServer, URLs of parseURLs
    "|[{capital}]?[{small}]+"  # Server, name
    r"|\d+"
)


def joined(parts: list[str]) -> str:
    """The parts of one identifier, and the whole of it if there are several."""
    if len(parts) > 1:
        parts.append("".join(parts))
    return " ".join(parts).casefold()
