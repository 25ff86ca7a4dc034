"""Error messages: whether a text is one, and the part of it that stands in the code."""

import re

# One of these makes a message of a text; none is how people ask for code.
_SURE = re.compile(
    r"\b\w*(?:Error|Exception|Panic)\b\s?:"
    r"|\b(?:error|fatal|fatal error|panic|exception|uncaught|unhandled)(?:\[\w{1,12}\])?:\s"
    r"|\b(?:is not defined|is not a function|is not callable|is not iterable|is not subscriptable"
    r"|no such file or directory|undefined reference to|segmentation fault|has no attribute"
    r"|cannot read propert(?:y|ies) of|cannot find module|cannot import name|no module named"
    r"|unexpected token|unexpected keyword argument|missing \d+ required|nil pointer dereference"
    r"|index out of (?:range|bounds)|cannot borrow|cannot be null|does not exist on type"
    r"|is not assignable to|unresolved import|command not found|core dumped)\b",
    re.IGNORECASE,
)
# These are, beside a value that only a message would carry.
_PERHAPS = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|failed to|failed with|not found|invalid"
    r"|unknown|unexpected|undefined|expected|missing|must be|refused|denied|timed out"
    r"|already exists|does not exist|out of memory|unsupported|illegal)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\s*(?:how|where|what|why|which|when|who|is there|find|show|list)\b", re.IGNORECASE
)

_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{1,200})'(?!\w)|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})[`']"
    "|[\u2018\u201c]([^\u2019\u201d\n]{1,200})[\u2019\u201d]"
)
_VALUES = re.compile(
    r"\b0[xX][0-9a-fA-F]+\b"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b\w{2,10}://[^\s]{1,500}"
    r"|(?<![\w.])(?:[A-Za-z]:)?[\\/][\w.\-+@]{1,200}(?:[\\/][\w.\-+@]{1,200})*[:\d]*"  # a path
    r"|[\w./\\-]{1,300}\.\w{1,5}(?::\d{1,9}){1,2}"  # a file and a line
    r"|\b\d[\d.,:TZ+-]*\b"
)
_IDENTIFIER = re.compile(r"[^\W\d]\w{2,}")
# With fewer words left, the values were what the message is about.
_FEWEST_WORDS = 2


def is_message(text: str) -> bool:
    """Whether the text is what a program said when it failed."""
    if _QUESTION.match(text):
        return False
    if _SURE.search(text):
        return True
    return bool(_PERHAPS.search(text) and (_QUOTED.search(text) or _VALUES.search(text)))


def constant_part(text: str) -> str:
    """The message without its values: numbers, addresses, paths, whatever is quoted."""
    kept = " ".join(_VALUES.sub(" ", _QUOTED.sub(" ", text)).split())
    return kept if len(_IDENTIFIER.findall(kept)) >= _FEWEST_WORDS else text


def quoted_names(text: str) -> frozenset[str]:
    """Quoted values that may be names of the code."""
    values = ("".join(groups) for groups in _QUOTED.findall(text))
    return frozenset(value for value in values if _IDENTIFIER.fullmatch(value))
