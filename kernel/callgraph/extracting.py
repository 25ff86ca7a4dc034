"""From the text of a file to its facts: definitions, calls and imports. Pure."""

import re

from kernel.callgraph.arities import arguments_in
from kernel.callgraph.expressions import callee_of, held_by, path_in
from kernel.callgraph.import_texts import required
from kernel.callgraph.matching import Match, Texts, matches_of
from kernel.callgraph.naming import DEFINING, Nesting, definitions_of
from kernel.callgraph.speech import Speech
from kernel.callgraph.speeches import SPEECHES
from kernel.callgraph.variables import Variables
from kernel.domain.call_facts import CallFacts, Definition, Import, Reference, Through

# More than any file that a person wrote; beyond it calls are not followed.
MOST_REFERENCES = 50_000


# What no header of C has.
_CPP = re.compile(
    r"^\s*(?:namespace\b|template\s*<|class\s+\w|using\s+\w|public:|private:|constexpr\b)|\w::\w",
    re.MULTILINE,
)


def spoken(text: str, language: str) -> str:
    """The language that a text is really in: headers of C++ are called as those of C."""
    return "cpp" if language == "c" and _CPP.search(text) else language


def facts_of(text: str, language: str) -> CallFacts:
    """All that a file says about calls; nothing for a language without a table."""
    speech = SPEECHES.get(language)
    if speech is None:
        return CallFacts()
    source = text.encode(errors="surrogatepass")
    matches = matches_of(source, language, speech)
    texts = Texts(source)
    definitions, nesting = definitions_of(matches, texts, speech)
    imports = _imports(matches, texts, speech)
    reader = _Reader(texts, speech, definitions, nesting)
    reader.aliases = {each.alias for each in imports if each.module}
    defined = {(match.begin, match.end) for match in matches if match.kind in DEFINING}
    for match in matches:
        if match.kind in {"variable", "field"} and (match.begin, match.end) not in defined:
            reader.variables.note(match, texts)
    calls = [match for match in matches if match.kind in {"call", "new"}][:MOST_REFERENCES]
    references = filter(None, map(reader.reference, calls))
    return CallFacts(tuple(definitions), tuple(references), tuple(imports))


class _Reader:
    """Tells what stands before the name in each call of one file."""

    def __init__(
        self, texts: Texts, speech: Speech, definitions: list[Definition], nesting: Nesting
    ) -> None:
        self._texts = texts
        self._speech = speech
        self._nesting = nesting
        self.variables = Variables(definitions, nesting, speech)
        self._names = {one.name for one in definitions}
        self.aliases: set[str] = set()

    def reference(self, match: Match) -> Reference | None:
        """One call; none if what is called has no name."""
        parts = match.parts
        if "name" in parts:
            receiver, name = (
                self._texts.end_of(parts.get("receiver")),
                self._texts.of(parts["name"]),
            )
            name, line = name.split("<", 1)[0], parts["name"][0].start_point[0]
        else:
            callee = callee_of(self._texts.end_of(parts.get("callee")))
            if callee is None:
                return None
            receiver, name, line = callee.receiver, callee.name, parts["callee"][0].end_point[0]
        within = self._nesting.around(match.begin)
        through, text = self._through(match.kind, receiver, name, within)
        arguments = arguments_in(parts.get("arguments"))
        return Reference(name, line, within, through, text, arguments)

    def _through(self, kind: str, receiver: str, name: str, place: int) -> tuple[Through, str]:
        speech, variables = self._speech, self.variables
        if kind == "new" or (name == "new" and speech.family == "ruby"):
            return Through.NEW, path_in(receiver)
        if not receiver:
            return self._bare(name, place)
        path = path_in(receiver)
        if receiver.strip() in speech.own or path in speech.own:
            return Through.OWN, variables.class_around(place)
        if receiver.strip() in speech.supers or receiver.startswith("super("):
            return Through.SUPER, variables.class_around(place)
        return self._of_path(path, place) if path else held_by(receiver) or (Through.VALUE, "")

    def _of_path(self, path: str, place: int) -> tuple[Through, str]:
        speech, variables = self._speech, self.variables
        head, _, rest = path.partition(".")
        if head in speech.own and rest and "." not in rest:
            return variables.field(rest.lstrip("$"), place) or (Through.VALUE, path)
        held = variables.held(path.lstrip("@"), place)
        if held:
            return held
        if rest and (owner := variables.held(head, place)):
            return variables.field_of(owner, rest) or (Through.VALUE, path)
        return Through.NAME, path

    def _bare(self, name: str, place: int) -> tuple[Through, str]:
        speech = self._speech
        if name in speech.supers or name in speech.own:  # super(x), base(x), this(x)
            return Through.SUPER, self.variables.class_around(place)
        if name in self._names or name in self.aliases:
            return Through.NOTHING, ""
        if self.variables.is_local(name, place):
            return Through.UNKNOWABLE, ""
        return Through.NOTHING, ""


def _imports(matches: list[Match], texts: Texts, speech: Speech) -> list[Import]:
    found = [
        each
        for match in matches
        if match.kind == "import"
        for each in speech.imports(texts.begin_of(match))
    ]
    for match in matches:
        if match.kind == "variable" and speech.family == "javascript":
            value, name = texts.of(match.parts.get("value")), texts.of(match.parts.get("name"))
            if value.startswith("require("):
                found += required(value, name)
    return found
