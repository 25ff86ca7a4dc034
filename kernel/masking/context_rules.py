"""Keys of a common shape: known by the service named beside them, or by their address."""

from kernel.masking.placeholders import is_placeholder
from kernel.masking.randomness import count_classes, is_encoded_text, is_wordlike
from kernel.masking.rules import Rule
from kernel.masking.token_rules import EDGE, END

MIN_NAMELESS_CHARACTERS = 32
_MIN_NAMELESS_DIGITS = 3


def is_nameless_key(value: str) -> bool:
    """Return whether a string that nothing is known of can hardly be anything but a key."""
    if count_classes(value) < 3 or sum(map(str.isdigit, value)) < _MIN_NAMELESS_DIGITS:  # noqa: PLR2004
        return False  # small letters, capitals and digits: no checksum, no identifier
    return not (is_wordlike(value) or is_placeholder(value) or is_encoded_text(value))


# 20 of the 270,000 chunks of the benchmark's repositories have such a string.
NAMELESS_RULE = Rule(
    "key",
    ("",),
    r"(?:[=:(]|=>)[ \t]{0,3}\\?[\"'](?P<secret>[A-Za-z0-9]{32,72})\\?[\"']",
    4.2,
    is_nameless_key,
)

CONTEXT_RULES = (
    Rule("Dropbox token", ("dropbox",), rf"{EDGE}[A-Za-z0-9]{{11}}A{{10}}[A-Za-z0-9_=-]{{43}}"),
    Rule(
        "AWS secret",
        ("aws", "amazon", "secretaccesskey", "secret_access_key", "secretkey"),
        r"(?i:aws|amazon|secret_?access_?key|secret_?key)[\w. \"'\\\]-]{0,40}"
        r"(?:=>|:=|[:=,>(]|%3D)\s{0,4}[\\\"']{0,2}"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        3.5,
    ),
    Rule(
        "Azure key",
        ("key", "sharedaccess", "azure", "secret"),
        r"(?i:key|sharedaccess|azure|secret)[^\n]{0,60}?(?<![A-Za-z0-9+/])"
        r"(?P<secret>[A-Za-z0-9+/]{86}(?:==|%3[Dd]%3[Dd]))",
        4.5,
    ),
    Rule(
        "shared access signature",
        ("sig=", "sig%3d"),
        r"(?<![A-Za-z0-9])[Ss]ig(?:=|%3[Dd])(?P<secret>[A-Za-z0-9%+/_-]{36,200}(?:=|%3[Dd]){0,2})",
        3.5,
    ),
    Rule(
        "Vault token",
        ("vault",),
        r"(?i:vault)[\w \"':=./-]{0,60}?(?<![\w.])(?P<secret>[sbr]\.[A-Za-z0-9]{24,120})"
        r"(?![\w.])",
        3.3,
    ),
    Rule(
        "webhook",
        ("hooks.", "webhook", "powerautomate", "logic.azure"),
        r"https?(?::|%3A)(?:\\?/|%2F){2}(?:hooks\.slack\.com(?:\\?/|%2F)(?:services|workflows"
        r"|triggers)(?:\\?/|%2F)"
        r"|(?:[a-z]{1,10}\.)?discord(?:app)?\.com(?:\\?/|%2F)api(?:\\?/|%2F)(?:v\d+(?:\\?/"
        r"|%2F))?webhooks(?:\\?/|%2F)"
        r"|hooks\.zapier\.com(?:\\?/|%2F)hooks(?:\\?/|%2F)catch(?:\\?/|%2F)"
        r"|[\w-]{1,60}\.webhook\.office\.com(?:\\?/|%2F)webhookb2(?:\\?/|%2F)"
        r"|outlook\.office\.com(?:\\?/|%2F)webhook(?:\\?/|%2F)"
        r"|chat\.googleapis\.com(?:\\?/|%2F)v1(?:\\?/|%2F)spaces(?:\\?/|%2F)"
        r"|[\w-]{1,60}\.tines\.com(?:\\?/|%2F)webhook(?:\\?/|%2F)"
        r"|open\.(?:feishu\.cn|larksuite\.com)(?:\\?/|%2F)open-apis(?:\\?/|%2F)bot(?:\\?/|%2F)v2"
        r"(?:\\?/|%2F)hook(?:\\?/|%2F)"
        r"|[\w.-]{1,80}\.logic\.azure\.com(?::443)?(?:\\?/|%2F)workflows(?:\\?/|%2F))"
        r"(?P<secret>[^\s\"'<>`)\\]{16,400})",
        2.8,
    ),
    Rule(
        "DingTalk token",
        ("access_token=",),
        r"oapi\.dingtalk\.com/robot/send\?access_token=(?P<secret>[a-f0-9]{64})",
    ),
    Rule(
        "Vonage or Plivo key",
        ("plivo",),
        r"(?i:plivo)[^\n]{0,40}?(?<![A-Z0-9])(?P<secret>MA[A-Z0-9]{18})(?![A-Z0-9])",
    ),
    Rule(
        "Twitter token",
        ("twitter", "access"),
        r"(?<![\w-])\d{15,25}-[A-Za-z0-9]{30,45}(?![\w-])",
        4.0,
    ),
    Rule("Twitch token", ("oauth:",), rf"{EDGE}oauth:(?P<secret>[a-z0-9]{{30}}){END}"),
    Rule("Okta token", ("okta", "ssws"), r"(?<![\w-])00[A-Za-z0-9_-]{40}(?![\w-])", 4.0),
    Rule(
        "Sidekiq credentials",
        ("contribsys",),
        r"(?i:contribsys__com)[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[a-f0-9]{8}:[a-f0-9]{8})",
    ),
)
