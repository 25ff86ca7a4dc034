"""Values that stand for a secret without being one: templates, references, examples, defaults."""

import re

from kernel.masking.randomness import is_wordlike


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
_CROSSED_OUT = re.compile(r"x{4,}|X{4,}")
# The same, but short enough to stand in a random value by chance.
_EXAMPLE_WORDS = re.compile(
    r"todo|test_?-?(?:key|token|secret|pass|pw|user|value)"
    r"|(?:my|the|some|a|any|invalid|wrong|bad|valid|expired|old|new|no|this|super|very|top)"
    r"[_-]?(?:api|secret|pass|token|key|pwd|pw|auth)"
)
# A whole value, digits and signs at its end left out.
_DEFAULTS = _words(
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
_ENDING = re.compile(r"[\d!@#$%^&*_.?:;,~+=-]*$")
MIN_VALUE_CHARACTERS = 4


def is_placeholder(value: str) -> bool:
    """Return whether a value is a template, a reference, an example or a usual default."""
    if len(value) < MIN_VALUE_CHARACTERS:
        return True
    if _TEMPLATE.match(value) or _REPEATED.match(value) or _CROSSED_OUT.search(value):
        return True
    small = value.lower()
    if _EXAMPLE.search(small):
        return True
    if (_EXAMPLE_WORDS.search(small) or _REPEATED_WORD.match(value)) and is_wordlike(value):
        return True
    bare = _ENDING.sub("", small)
    if bare in _DEFAULTS or not bare:
        return True
    return any(small in sequence for sequence in _SEQUENCES)


def is_reference(value: str) -> bool:
    """Return whether an unquoted value is a call, a look-up or a path of names."""
    return _REFERENCE.match(value) is not None
