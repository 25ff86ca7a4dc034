"""What a search prints: hits for people, paths for other programs, JSON for their authors."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.cli import search_syntax
from kernel.cli.search_snippet import Line, Snippet, Wanted, snippet
from kernel.cli.search_terminal import FAINT, LINE_NUMBER, MATCH, PATH, Screen, columns, shown_path
from kernel.domain.chunk import symbol_path
from kernel.domain.hit import FRESH, Hit
from kernel.domain.indexed import metadata_of
from kernel.domain.path_text import encode_path, terminal_path
from kernel.domain.terminal_text import escape_line
from kernel.search.highlight import highlighted, marked_words

# Columns of a line where no terminal says how many there are: minified code must not flood a pipe.
COLUMNS_WITHOUT_TERMINAL = 200
TAB_COLUMNS = 4
SHOWN_DIGITS = 4  # as in the protocol
# Signals below this share of a score explain nothing.
WORTH_TELLING = 0.005

# What the names of the signals in search/ mean, in a sentence that begins with "because".
IN_WORDS = {
    "words": "it has words of the query",
    "meaning": "its meaning is near",
    "definition": "it defines what the query names",
    "name": "a name it defines is made of the query's words",
    "file name": "the file's name has words of the query",
    "folder": "the folder's name has words of the query",
    "exact": "it holds what must stand there",
    "mentioned": "the query names this place",
    "file as a whole": "other parts of the file fit too",
    "kind of file": "of the kind of file (test, example, generated...)",
    "further chunk of its file": "a better hit is in the same file",
    "nearness": "of the best ones it is near in meaning",
    "meaning of its path": "what its path says is near in meaning",
    "reranker": "the reranker agrees",
}


def paths(hits: Sequence[Hit], root: Path, screen: Screen) -> Iterator[str]:
    """Each file once, as a way from the current folder; a program gets it as it is."""
    for path in dict.fromkeys(hit.chunk.path for hit in hits):
        shown = shown_path(root / path)
        yield screen.linked(terminal_path(shown), root / path) if screen.width else shown


def document(hits: Sequence[Hit], text: str, *, explain: bool) -> str:
    """The results of the protocol's search as one array; lines count from 0 there."""
    words = marked_words(text)
    return json.dumps([_result(hit, words, explain=explain) for hit in hits], indent=1)


@dataclass(frozen=True, slots=True)
class Page:
    """Hits for a person."""

    root: Path
    sought: Wanted
    screen: Screen
    explain: bool

    def lines(self, hits: Sequence[Hit]) -> Iterator[str]:
        """Everything to print, with a blank line between two hits."""
        for place, hit in enumerate(hits):
            if place:
                yield ""
            chunk = hit.chunk.chunk
            shown = snippet(hit.content, chunk.begin_line, self.sought)
            yield self._header(hit, shown.best)
            if self.explain:
                yield from (self.screen.painted(f"  {why}", FAINT) for why in reasons(hit.signals))
            yield from self._snippet(hit, shown)

    def _header(self, hit: Hit, line: int) -> str:
        file = self.root / hit.chunk.path
        place = self.screen.painted(terminal_path(shown_path(file)), PATH)
        number = self.screen.painted(str(line), LINE_NUMBER)
        rest = [escape_line(symbol_path(hit.chunk.chunk.symbols)), f"{hit.score:.2f}"]
        if hit.freshness != FRESH:
            rest.append(f"({hit.freshness})")
        return "  ".join([self.screen.linked(f"{place}:{number}", file), *filter(None, rest)])

    def _snippet(self, hit: Hit, shown: Snippet) -> Iterator[str]:
        codes = _codes(hit, shown) if self.screen.colours else {}
        wide = len(str(shown.lines[-1].number)) if shown.lines else 0
        room = (self.screen.width or COLUMNS_WITHOUT_TERMINAL) - wide - 3
        for line in shown.lines:
            number = self.screen.painted(f"{line.number:>{wide}}", LINE_NUMBER)
            first = next((m.begin - line.begin for m in shown.marks if m.begin >= line.begin), 0)
            yield f"  {number} {self._painted(line, codes, first, room)}".rstrip()

    def _painted(self, line: Line, codes: dict[int, str], first_mark: int, room: int) -> str:
        """The line in its colours, cut to the room there is, with its first mark in sight."""
        text, begin = line.text, 0
        pieces = [_piece(character) for character in text]
        if first_mark < len(text) and sum(map(columns, pieces[: first_mark + 1])) > room - 2:
            begin = first_mark - room // 3
        parts: list[str] = ["…"] if begin else []
        left = room - len(parts)
        run, code = "", ""
        for place in range(begin, len(text)):
            left -= columns(pieces[place])
            if left < (place < len(text) - 1):
                run += "…"
                break
            new = codes.get(line.begin + place, "")
            if new != code:
                parts.append(self.screen.painted(run, code))
                run, code = "", new
            run += pieces[place]
        return "".join((*parts, self.screen.painted(run, code)))


def reasons(signals: dict[str, float]) -> list[str]:
    """Why a hit is where it is, the weightiest first, each with its share of what speaks for it."""
    total = sum(value for value in signals.values() if value > 0)
    if total <= 0:
        return []
    telling = [
        (value / total, name)
        for name, value in signals.items()
        if abs(value) / total >= WORTH_TELLING
    ]
    telling.sort(key=lambda each: -abs(each[0]))
    return [
        f"{share:+4.0%} {'because' if share > 0 else 'less because'} {IN_WORDS.get(name, name)}"
        for share, name in telling
    ]


def _codes(hit: Hit, shown: Snippet) -> dict[int, str]:
    """The colour of each character of a hit that has one."""
    codes: dict[int, str] = {}
    for begin, end, code in search_syntax.spans(hit.content, hit.chunk.language):
        codes.update(dict.fromkeys(range(begin, end), code))
    for mark in shown.marks:
        codes.update(dict.fromkeys(range(mark.begin, mark.end), MATCH))
    return codes


def _piece(character: str) -> str:
    return " " * TAB_COLUMNS if character == "\t" else escape_line(character)


def _result(hit: Hit, words: Sequence[str], *, explain: bool) -> dict[str, Any]:
    chunk, path = hit.chunk, encode_path(hit.chunk.path)
    metadata = metadata_of(path, chunk.chunk)
    result: dict[str, Any] = {
        "content": hit.content,
        "highlightedContent": highlighted(hit.content, words),
        "metadata": metadata,
        "highlightedMetadata": highlighted(metadata, words),
        "beginLine": chunk.chunk.begin_line,
        "endLine": chunk.chunk.end_line,
        "filePath": path,
        "score": round(hit.score, SHOWN_DIGITS),
        "chunkId": chunk.id,
        "symbol": symbol_path(chunk.chunk.symbols),
        "language": chunk.language,
        "freshness": hit.freshness,
    }
    if explain:
        result["why"] = {name: round(value, SHOWN_DIGITS) for name, value in hit.signals.items()}
    return result
