"""A masking rule as data, the scan of a text with a table of rules.

The checks a rule applies to a value: entropy, randomness, placeholder. A pattern is compiled
when one of its keywords first occurs.
"""

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from codekernel.domain.word_sets import word_set

MIN_RANDOM_CHARACTERS = 8

# Bits per character, and the share of what as many different characters would have: 20 random
# hexadecimal digits have 3.4 bits on average, and one in a thousand less than 2.7.
MIN_RANDOM_ENTROPY_BITS = 2.7

MIN_ENTROPY_RATIO = 0.7

# How usual each pair of letters is in the words and identifiers of sixteen of the benchmark's
# repositories, a row for each first letter: 0 for never, 5 for as often as any other, 9 for 10
# times as often.
_LETTER_PAIR_FREQUENCY = (
    "57773362615878161879553352", "63326100521721510452600030", "72537307607632831647621030",
    "73358321711423630553521130", "75896653413779464998355752", "51246610700511610534500030",
    "42217235500434520552401000", "70127001601322620535400020", "66766660213779861678260406",
    "40003000100000300030300000", "30027211500202310142201020", "73359321802732740265531060",
    "74238100701341670253510020", "73778582724435741378552130", "45763453424779660876756421",
    "71437224602622760856511140", "10000000000100000001600000", "83659351804665840677542050",
    "62638337704543662479623141", "82549417900543750876623261", "55545540501667250767000201",
    "61207000600110410121000000", "50125103500204410441000000", "21414200300110040015000430",
    "31223100300334350144101011", "30006000300000200010000001",
)  # fmt: skip

# Identifiers of twelve letters and more have 7.1 on average and nine in ten above 5.7; random
# letters have 3.0, and one in a hundred of 20 letters above 4.8.
MIN_WORD_SCORE = 5.0

# With capitals and digits and nothing to join words: most such values are random.
MIN_MIXED_WORD_SCORE = 5.8

# Random letters of both cases change their case every second letter, camelCase every fifth or so.
MIN_CAMEL_PART_CHARACTERS = 3.0

_ORD_A = ord("a")

_CAMEL_CASE_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]+")

_DIGITS = re.compile(r"\d+")

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F-]+")


def compute_entropy_bits(value: str) -> float:
    """Return the entropy of one character."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())


def count_character_classes(value: str) -> int:
    """Return how many kinds of characters there are: small, capital, digit, other."""
    return (
        any(map(str.islower, value))
        + any(map(str.isupper, value))
        + any(map(str.isdigit, value))
        + (not value.isalnum())
    )


def is_wordlike(value: str) -> bool:
    """Return whether the letters of a value are words, joined in any way; digits do not count."""
    if not value.isascii():
        return True
    pairs = score = letters = 0
    humps = _CAMEL_CASE_PARTS.findall(value)
    for hump in humps:
        letters += len(hump)
        small = hump.lower()
        for first, second in pairwise(small):
            pairs += 1
            score += int(_LETTER_PAIR_FREQUENCY[ord(first) - _ORD_A][ord(second) - _ORD_A])
    if not pairs:
        return False
    is_mixed = value.isalnum() and (
        count_character_classes(value) == 3 or len(_DIGITS.findall(value)) > 1  # noqa: PLR2004
    )
    min_score = MIN_MIXED_WORD_SCORE if is_mixed else MIN_WORD_SCORE
    return score >= min_score * pairs and letters >= MIN_CAMEL_PART_CHARACTERS * len(humps)


def is_random(value: str) -> bool:
    """Return whether a value was generated rather than being a name or a sentence."""
    length = len(value)
    if length < MIN_RANDOM_CHARACTERS or " " in value or value.isdigit():
        return False
    if compute_entropy_bits(value) < min(
        MIN_RANDOM_ENTROPY_BITS, math.log2(length) * MIN_ENTROPY_RATIO
    ):
        return False
    digits = sum(map(str.isdigit, value))
    # Digits throughout are no word; a few of them end or join one: ``sha256``, ``utf8``.
    if digits * 4 >= length and (digits * 2 <= length or _HEX.fullmatch(value)):
        return True
    return not is_wordlike(value) and any(map(str.isalpha, value))


def is_encoded_text(value: str) -> bool:
    """Return whether base64 holds text that a person can read."""
    try:
        decoded = base64.b64decode(value[: len(value) // 4 * 4])
    except binascii.Error:
        return False
    printable = sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in decoded)  # noqa: PLR2004 - ASCII
    return printable * 10 >= len(decoded) * 9


_TEMPLATE = re.compile(
    r"<[^<>]*>?$|\$?\{\{?.*|\$\(.*|\$[A-Za-z_]\w*(?:[/.:@-].*)?$|\$[.\[]|\$\w+\[|#[/{(!]|%[A-Z_]{3,}(?:[/:?#%@].*)?$"
    r"|%[({]\w*[)}][sdiv]?$|%[-+ 0-9.]*[sdivfxq]?$|%\w+%$|\{\w*\}|\[.*|[@&:][a-z_]+$"
    r"|!(?:Ref|Sub|GetAtt|Join|If|Select|ImportValue|FindInMap|Base64|secret|vault|env|include|file)\b"
    r"|!![a-z]|![A-Za-z_]{2,}(?:(?:\.|\?\.|\().*)?$|\*+$|\*{2,}\w*$|\.{2,}|__\w+__$|[_-]+$|\\.*"
)

# Calls and look-ups: what runs, not what is.
_REFERENCE = re.compile(
    r"[A-Za-z_$][\w$.:>-]*\(|[\w$]+\[|[\w$]+\?\.|(?:os|process|sys|env|config|settings|self|this"
    r"|req|request|ctx|params|props"
    r"|args|options|opts|data|var|local|module|secrets|vars|inputs|github|steps|app|user|file|ref"
    r"|vault|aws|arn|ssm|import|import\.meta|std|std::\w+|System|Environment|ENV)[.:\[]"
)

_REPEATED = re.compile(r"(.{1,3})\1{2,}.{0,2}$|(.{4,12}?)\2{2,}.{0,12}$")

_REPEATED_WORD = re.compile(r"(.{4,12}?)\1.{0,12}$")

_SEQUENCES = (
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789",
    "abcdefghijklmnopqrstuvwxyz0123456789abcdef",
    "1234567890abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "9876543210fedcba",
)

# Inside a value, in lower case.
_EXAMPLE = re.compile(
    r"example|change_?-?me|placeholder|your[_-]?(?:own|api|secret|pass|token|key)|^your|dummy"
    r"|sample|fake|redacted|masked|not_?-?(?:real|used|set|secure)|insert_|replace_"
    r"|\*{3,}|\.{3}|…|123456|abcdef|abc123|foo_?bar|lorem|fixme|undefined|(?<!n)null$|^none$"
    r"|hmac-sha|4_request$|deadbeef|00000000|11111111|aaaaaaaa"
)

_X_PLACEHOLDER = re.compile(r"x{4,}|X{4,}")

# The same, but short enough to stand in a random value by chance.
_EXAMPLE_WORDS = re.compile(
    r"todo|test_?-?(?:key|token|secret|pass|pw|user|value)"
    r"|(?:my|the|some|a|any|invalid|wrong|bad|valid|expired|old|new|no|this|super|very|top)"
    r"[_-]?(?:api|secret|pass|token|key|pwd|pw|auth)"
)

# A whole value, digits and signs at its end left out.
_DEFAULTS = word_set(
    "pass password passwd passw0rd p4ssw0rd p@ssw0rd p@ssword pwd pw secret token key apikey "
    "api_key auth root admin administrator user username guest test tests testing tester demo "
    "default postgres postgresql mysql mariadb mongo mongodb redis rabbitmq minio elastic sa "
    "oracle docker vagrant ubuntu foo bar baz qux foobar spam eggs ham hello world abc xyz none "
    "null nil true false yes no on off str string int integer bool boolean object any bytes "
    "text char varchar required optional hidden prompt empty blank unset basic bearer digest "
    "plain md5 sha sha1 sha256 sha512 bcrypt argon2 scrypt pbkdf2 hash hashed encrypted utf "
    "utf8 utf-8 base base64 v1 v2 rot13 x-api-key x_api_key authorization cookie session header "
    "headers query body localhost login letmein qwerty asdf welcome monkey dragon hunter "
    "changeit temp tmp local dev development prod production staging john jane alice bob me you "
    "my mypass mypassword mysecret mytoken mykey testpass testpassword testtoken testsecret "
    "testkey userpass userpassword adminpass adminpassword rootpass supersecret topsecret "
    "verysecret notsecret somepassword some-password newpass newpassword oldpassword oldpass "
    "wrongpass wrongpassword badpass dbpass s3cret s3cr3t secr3t sekrit sesame opensesame open- "
    "sesame swordfish tiger scott trustno"
)

_TRAILING_SIGNS = re.compile(r"[\d!@#$%^&*_.?:;,~+=-]*$")

MIN_VALUE_CHARACTERS = 4


def is_placeholder(value: str) -> bool:
    """Return whether a value is a template, a reference, an example or a usual default."""
    if len(value) < MIN_VALUE_CHARACTERS:
        return True
    if _TEMPLATE.match(value) or _REPEATED.match(value) or _X_PLACEHOLDER.search(value):
        return True
    small = value.lower()
    if _EXAMPLE.search(small):
        return True
    if (_EXAMPLE_WORDS.search(small) or _REPEATED_WORD.match(value)) and is_wordlike(value):
        return True
    bare = _TRAILING_SIGNS.sub("", small)
    if bare in _DEFAULTS or not bare:
        return True
    return any(small in sequence for sequence in _SEQUENCES)


def is_reference(value: str) -> bool:
    """Return whether an unquoted value is a call, a look-up or a path of names."""
    return _REFERENCE.match(value) is not None


class SecretSpan(NamedTuple):
    """A part of a text to be masked, and what it is."""

    begin: int
    end: int
    kind: str


@dataclass(frozen=True, eq=False)
class MaskRule:
    """Text that ``pattern`` matches is a secret; its group ``secret`` if it has one.

    ``keywords`` are lower-case; one of them is in every text that can match. A pattern is linear in
    the length of the text: every repetition is bounded, or cannot be entered in two ways.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    # Bits per character; keeps names such as ``sk-something-in-words`` out.
    min_entropy: float = 0.0
    accepts: Callable[[str], bool] | None = None
    # The longest run of characters in the text is at least so long; for keywords that are common.
    min_run: int = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when first needed."""
        return re.compile(self.pattern, re.MULTILINE)

    def find_spans(self, text: str) -> Iterator[SecretSpan]:
        """Yield what is to be masked."""
        group = "secret" if "secret" in self.compiled.groupindex else 0
        for match in self.compiled.finditer(text):
            begin, end = match.span(group)
            if begin < 0:
                continue
            value = text[begin:end]
            if self.min_entropy and compute_entropy_bits(value) < self.min_entropy:
                continue
            if self.accepts is None or self.accepts(value):
                yield SecretSpan(begin, end, self.kind)


class MaskRuleTable:
    """Rules with their keywords side by side, so that a text is searched for each in one loop."""

    def __init__(self, rules: Iterable[MaskRule]) -> None:
        self._keywords = [(keyword, rule) for rule in rules for keyword in rule.keywords]

    def scan(self, text: str, lowered: str, longest_run: int = 0) -> Iterator[SecretSpan]:
        """Yield what the rules find whose keyword is in ``where``, lower-case text of ``text``."""
        for rule in dict.fromkeys([rule for keyword, rule in self._keywords if keyword in lowered]):
            if rule.min_run <= longest_run:
                yield from rule.find_spans(text)
