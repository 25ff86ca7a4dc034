"""What a chunk is called: the definitions around and in it, its kind and signature."""

from bisect import bisect_left, bisect_right

from kernel.chunking.outline import Definition, Outline

# A chunk is named after a definition that makes up this much of it, be it around it or in it.
MOSTLY = 2 / 3
LONGEST_SIGNATURE = 200


class Labels:
    """Looks definitions up by place; made once for a text, asked for every chunk."""

    def __init__(self, text: str, outline: Outline) -> None:
        self._text = text
        self._definitions = outline.definitions
        self._begins = [one.begin for one in outline.definitions]

    def of(self, begin: int, end: int) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        """Kind, symbols, signature and new names of ``text[begin:end]``."""
        first, last = bisect_left(self._begins, begin), bisect_left(self._begins, end)
        inside = self._definitions[first:last]
        own = self._named_after(begin, end, inside)
        defines = tuple(dict.fromkeys(name for one in inside for name in one.introduces))
        if own is None:
            return "lines", (), "", defines
        return own.kind, self._path(own), self._signature(own), defines

    def _named_after(self, begin: int, end: int, inside: list[Definition]) -> Definition | None:
        content = self._text[begin:end]
        begin += len(content) - len(content.lstrip())
        end = max(begin, end - (len(content) - len(content.rstrip())))
        enough = (end - begin) * MOSTLY
        own: Definition | None = None
        for one in inside:
            if min(one.end, end) - max(one.lead, begin) >= enough:
                own = one
                if own.end <= end:  # what is inside of it does not matter
                    break
        if own is not None:
            return own
        around = bisect_right(self._begins, begin) - 1
        while around >= 0:
            one = self._definitions[around]
            if min(one.end, end) - max(one.lead, begin) >= enough:
                return one
            around = one.parent
        return None

    def _path(self, own: Definition) -> tuple[str, ...]:
        names: tuple[str, ...] = own.names
        parent = own.parent
        while parent >= 0:
            one = self._definitions[parent]
            # A:: in front of a method inside of A would say it twice.
            names = names if names[: len(one.names)] == one.names else one.names + names
            parent = one.parent
        return names

    def _signature(self, own: Definition) -> str:
        head = self._text[own.head : max(own.body, own.head + 1)]
        if own.body >= own.end:
            head = head.split("\n", 1)[0]
        return " ".join(head[: 4 * LONGEST_SIGNATURE].split())[:LONGEST_SIGNATURE].rstrip(" {")
