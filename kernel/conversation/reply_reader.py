"""A model's reply read while it streams: what is answer is shown at once, what is a wish is not.

A model without tools searches by writing a fence, and whatever stands before it may already be
the answer:

    ```search
    # what the searches are for
    first query
    second query
    ```

An opening such as "Let me look that up." is held back for as long as it may turn out to introduce
a search: then it becomes the purpose of the round, else it is shown.
"""

import re
from dataclasses import dataclass

_FENCE = "```"
_SEARCH = "search"
# Characters; an opening that goes on for longer is an answer.
_LONGEST_OPENING = 300
_OPENINGS = (
    "let me ",
    "let's ",
    "i'll ",
    "i will ",
    "i need to ",
    "i should ",
    "i'm going to ",
    "first, ",
    "to answer ",
    "searching ",
    "looking ",
    "让我",
    "我来",
    "我需要",
    "我先",
    "首先",
)
_NEXT_PARAGRAPH = re.compile(r"\n\s*\n\s*\S")
_LIST_MARK = re.compile(r"^\s*(?:[-*+]\s+|\d{1,2}[.)]\s+)")
MOST_QUERIES = 5
LONGEST_QUERY = 400


@dataclass(frozen=True, slots=True)
class Wish:
    """Searches that the model wants, and what for."""

    queries: tuple[str, ...]
    purpose: str = ""


class ReplyReader:
    """Reads one reply; ``may_search`` is false when the answer has to come now."""

    def __init__(self, *, may_search: bool) -> None:
        self._held = ""  # may be the beginning of a fence
        self._opening: str | None = "" if may_search else None
        self._line = ""  # what the line has before what is held
        self._in_code = False
        self._search: str | None = None
        self.complete = False

    def feed(self, text: str) -> str:
        """Take the next piece; returns what of the reply can be shown now."""
        if self.complete:
            return ""
        return self._after_opening(self._without_fence(self._held + text))

    def end(self, *, called: bool) -> tuple[str, Wish | None]:
        """What is left to show, and what the model wants; ``called`` if it used a tool."""
        held, self._held = self._held, ""
        if self._search is not None:
            wish = wish_of(self._search)
            purpose = wish.purpose or self._purpose()
            return "", Wish(wish.queries, purpose) if wish.queries else None
        if called:
            return "", Wish((), self._purpose())
        rest = (self._opening or "") + held
        self._opening = None
        return rest, None

    def _purpose(self) -> str:
        return " ".join((self._opening or "").split())

    def _after_opening(self, text: str) -> str:
        if self._opening is None or not text:
            return text
        self._opening += text
        if _may_introduce(self._opening):
            return ""
        shown, self._opening = self._opening, None
        return shown

    def _without_fence(self, text: str) -> str:
        """The text up to a search fence; what may become one is held."""
        shown: list[str] = []
        self._held = ""
        while text and self._search is None:
            before, fence, after = text.partition(_FENCE)
            if not fence:
                ticks = len(text) - len(text.rstrip("`"))
                before, self._held = text[: len(text) - ticks], text[len(text) - ticks :]
                shown.append(self._on_line(before))
                if self._held and not self._may_fence():
                    shown.append(self._on_line(self._held))
                    self._held = ""
                break
            shown.append(self._on_line(before))
            if self._may_search() and _undecided(after):
                self._held = fence + after
                break
            if self._may_search() and _opens_search(after):
                self._search, text = "", after[len(_SEARCH) :]
                break
            if not self._line.strip():
                self._in_code = not self._in_code
            shown.append(self._on_line(fence))
            text = after
        if self._search is not None:
            self._collect(text)
        return "".join(shown)

    def _on_line(self, text: str) -> str:
        """Remember how the line that is being written begins."""
        self._line = (self._line + text).rpartition("\n")[2]
        return text

    def _may_search(self) -> bool:
        """Whether a search block may begin here: on a line of its own, or after a colon."""
        return not self._in_code and (not self._line.strip() or self._line[-1] in " \t:")

    def _may_fence(self) -> bool:
        return self._may_search() or not self._line.strip()

    def _collect(self, text: str) -> None:
        gathered = (self._search or "") + text
        body, fence, _ = gathered.partition(_FENCE)
        self._search = body if fence else gathered
        self.complete = bool(fence)


def _undecided(after: str) -> bool:
    """Whether the word behind a fence may still become ``search``."""
    return len(after) <= len(_SEARCH) and _SEARCH.startswith(after)


def _opens_search(after: str) -> bool:
    return after.startswith(_SEARCH) and not after[len(_SEARCH)].isalnum()


def _may_introduce(opening: str) -> bool:
    text = opening.lstrip().lower()
    if len(text) > _LONGEST_OPENING or _NEXT_PARAGRAPH.search(text):
        return False
    return any(known.startswith(text[: len(known)]) for known in _OPENINGS)


def wish_of(body: str) -> Wish:
    """The queries in a search fence, one per line, and the purpose after a ``#``."""
    purpose, queries = "", []
    for line in body.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") and not purpose:
            purpose = stripped.lstrip("# ")
        else:
            queries.append(_LIST_MARK.sub("", line))
    return Wish(cleaned(queries), purpose)


def cleaned(queries: list[str]) -> tuple[str, ...]:
    """Queries without repetition, and not more or longer ones than are worth it."""
    stripped = (" ".join(query.split())[:LONGEST_QUERY] for query in queries)
    return tuple(dict.fromkeys(query for query in stripped if query))[:MOST_QUERIES]
