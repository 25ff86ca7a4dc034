"""Credentials recognised by the syntax around them.

Headers, URLs, commands, credential files, Kubernetes Secret manifests.
"""

import base64
import binascii
import re
from collections.abc import Iterator

from codekernel.masking.rules import MaskRule, SecretSpan, is_placeholder, is_random, is_wordlike

MIN_TOKEN_CHARACTERS = 16

# Shorter ones are those of examples.
MIN_LOGIN_CHARACTERS = 6

_EXAMPLE_WORD = re.compile(
    r"(?i)pass|pwd|secret|token|user|login|admin|test|foo|bar|auth|key|cred|word"
)


def is_login_secret(value: str) -> bool:
    """Return whether what stands in the place of a password is one, rather than an example."""
    if len(value) < MIN_LOGIN_CHARACTERS or value.isdigit() or is_placeholder(value):
        return False
    if value.startswith(("$", "/", "http")):
        return False
    if re.match(r"--?[a-z]", value):
        return False
    if any(map(str.isdigit, value)) or not value.replace("-", "").replace("_", "").isalnum():
        return not (_EXAMPLE_WORD.search(value) and is_wordlike(value))
    return not is_wordlike(value)


def is_any_password(value: str) -> bool:
    """Return whether a value is no stand-in, where nothing but a password can stand."""
    return not is_placeholder(value) and not value.startswith(("$", "/"))


def is_bearer_token(value: str) -> bool:
    """Return whether a value was generated."""
    return len(value) >= MIN_TOKEN_CHARACTERS and is_random(value) and not is_placeholder(value)


def is_basic_credential(value: str) -> bool:
    """Return whether base64 holds a user and a password that is not an example."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return is_bearer_token(value)
    _, colon, password = decoded.partition(":")
    return bool(colon) and is_login_secret(password)


def is_encoded_secret(value: str) -> bool:
    """Return whether base64 in a Secret of Kubernetes holds something other than a stand-in."""
    try:
        decoded = base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return True
    return not is_placeholder(decoded)


_B64 = r"[A-Za-z0-9+/_-]{8,4000}={0,2}"

_OPEN = r"\s{0,3}(?:[:=,]|=>|%3A)(?:\s|%20|\+){0,3}\\?[\"'`]?"

SYNTAX_RULES = (
    MaskRule(
        "basic credentials",
        ("basic",),
        rf"(?i:\bbasic)(?:[ \t]+|%20)(?P<secret>{_B64})",
        accepts=is_basic_credential,
    ),
    MaskRule(
        "bearer token",
        ("bearer",),
        r"(?i:\bbearer)(?:[ \t]+|%20|\\?[\"'],\s{0,3}\\?[\"'])"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,4000}=*)",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "authorization",
        (
            "authorization",
            "x-auth",
            "x-api",
            "x-vault",
            "x-access",
            "x-shopify",
            "x-goog",
            "x-functions",
            "private-token",
            "security-token",
        ),
        r"(?i:authorization|x-(?:auth|api|vault|access|shopify|goog-api|functions)[\w-]{0,30}"
        r"|x-amz-security-token|private-token)"
        rf"\\?[\"']?{_OPEN}"
        r"(?i:(?:token|apikey|api-key|key|negotiate|ntlm|ssws|bot|oauth|splunk|signature"
        r"|genie\w{0,3}"
        r"|accesskey|discogs|hmac|aws4-hmac-sha256)[ \t]+)?"
        r"(?P<secret>[A-Za-z0-9._~+/=:-]{12,4000})",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "signature",
        ("signature=", "credential="),
        r"(?:[?&](?i:signature)|(?i:x-(?:amz|goog)-signature))(?:=|%3D)(?P<secret>[A-Fa-f0-9]{64}|[A-Za-z0-9%+/]{27,120}={0,2})"
        r"(?![A-Za-z0-9])",
        3.0,
    ),
    MaskRule(
        "cookie",
        ("cookie",),
        r"(?i:[\w.-]{0,30}sess(?:ion)?[\w.-]{0,20}|connect\.sid|\bsid|[\w.-]{0,30}auth[\w.-]{0,20}"
        r"|remember[\w.-]{0,30}|jsessionid|phpsessid|\.aspxauth|laravel_token)"
        r"=(?P<secret>[A-Za-z0-9%+/_.~:|-]{20,4000}={0,2})",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "password",
        ("://",),
        r":(?:\\?/){2}[^\s/:@\"'\\?#<>()]{0,100}:(?P<secret>[^\s/@\"'{}$<>\\`|]{3,200})@"
        r"(?=[\w\[.$%{*-])",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("%3a%2f%2f",),
        r"%3[Aa]%2[Ff]%2[Ff][\w.~-]{0,100}%3[Aa](?P<secret>[^\s/@\"'{}$<>&]{3,200}?)%40",
        accepts=is_login_secret,
    ),
    MaskRule(
        "token",
        ("://",),
        r":(?:\\?/){2}(?P<secret>[A-Za-z0-9_-]{20,255})(?::x-oauth-basic|:)?@(?=[\w\[])",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "token",
        ("key=", "code=", "sig=", "token=", "sid=", "auth=", "appid=", "hapikey=", "secret="),
        r"[?&;](?:amp;)?(?i:[\w.-]{0,30}(?:key|code|sig|token|auth|secret|appid)|sid)="
        r"(?P<secret>[A-Za-z0-9%+/_.~-]{16,2000}={0,2})",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "password",
        ("password", "pwd"),
        r"(?i:[;?&]\s{0,2}(?:password|pwd)|\b(?:host|server|dbname|user|uid"
        r"|username)=[^\s\"'=,;]{1,80}"
        r"(?:[ \t;]{1,3}\w{1,30}=[^\s\"'=,;]{1,60}){0,6}[ \t;]{1,3}(?:password|pwd))\s{0,2}(?:="
        r"|%3D)\s{0,2}'?"
        r"(?P<secret>[^;\s\"'<>{}&,()][^;\s\"'<>{}&()]{3,200})",
        accepts=is_any_password,
    ),
    MaskRule(
        "key",
        ("key=", "key%3d"),
        r"(?i:account_?key|shared_?access_?key|accesskey|secret)(?:=|%3[Dd])"
        r"(?P<secret>[A-Za-z0-9+/%_-]{30,120}={0,2})",
        3.3,
    ),
    MaskRule(
        "password",
        ("curl", "wget", "httpie", "http "),
        r"\b(?:curl|wget|https?)\b[^\n]{0,600}?(?:[ \t\"']-[a-zA-Z]{0,6}[uUa][ \t=]?|--"
        r"(?:proxy-)?user[ \t=]+)"
        r"\\?[\"']?[^\s:\"'$]{1,80}:(?P<secret>[^\s\"'\\]{3,200})",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("-u", "--user", "--auth"),
        r"(?:^|[ \t\"'\\])(?:-u|--user|--auth|--proxy-user|--creds|--credentials)[ \t=]+\\?[\"']?"
        r"[^\s:\"'$/=]{1,80}:(?P<secret>[^\s\"'\\]{4,200})",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("--",),
        r"--[\w-]{0,40}(?i:password|passwd|passphrase|pass|pwd|token|secret|api-?key|access-?key"
        r"|auth-?key"
        r"|secret-?key|private-?key|client-?secret)(?:-?(?i:value|string|base))?(?:=|[ \t]+"
        r"|\\?[\"'],\s{0,4})\\?[\"']?"
        r"(?P<secret>[^\s\"'`\\<>\[\](){},;|]{5,500})",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        (
            "mysql",
            "mariadb",
            "sshpass",
            "docker",
            "podman",
            "plink",
            "redis-cli",
            "ldap",
            "helm",
            "smbclient",
            "az login",
            "htpasswd",
            "rar",
            "7z",
            "zip",
            "openssl",
            "mongo",
            "sqlcmd",
            "bcp",
        ),
        r"\b(?:(?:mysql\w{0,8}|mariadb[\w-]{0,8})\b[^\n]{0,300}?[ \t]-p"
        r"|sshpass[ \t]+-p[ \t]*|(?:docker|podman|helm"
        r"|az)\b[^\n]{0,80}?login\b[^\n]{0,200}?[ \t]-p[ \t=]*"
        r"|(?:plink|pscp)\b[^\n]{0,200}?[ \t]-pw[ \t]+|redis-cli\b[^\n]{0,200}?[ \t]-a[ \t]+"
        r"|ldap\w{1,12}\b[^\n]{0,300}?[ \t]-w[ \t]+"
        r"|smbclient\b[^\n]{0,200}?[ \t]-U[ \t]+[\"']?[\w.\\-]{1,60}%"
        r"|htpasswd[ \t]+-\w{0,6}b\w{0,6}[ \t]+\S{1,100}[ \t]+\S{1,60}[ \t]+|(?:rar|7z"
        r"|zip)\b[^\n]{0,60}?[ \t]-[pP][ \t]?"
        r"|openssl\b[^\n]{0,300}?[ \t]-pass(?:in|out)?[ \t]+pass:"
        r"|mongo\w{0,8}\b[^\n]{0,300}?[ \t]-p[ \t]+"
        r"|(?:sqlcmd|bcp)\b[^\n]{0,300}?[ \t]-P[ \t]+)"
        r"\\?[\"']?(?P<secret>[^\s\"'\\=-][^\s\"'\\]{3,200})",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("chpasswd", "sudo -s", "--password-stdin", "--passphrase-fd"),
        r"\becho[ \t]+(?:-n[ \t]+)?[\"']?(?:[\w.-]{1,40}:)?"
        r"(?P<secret>[^\s\"'|:$]{4,200})[\"']?[ \t]*\|[^\n]{0,60}?"
        r"(?:chpasswd|sudo[ \t]+-S|--password-stdin|--passphrase-fd)",
        accepts=is_any_password,
    ),
    MaskRule(
        "password",
        ("machine", "login"),
        r"\b(?:machine\s{1,8}\S{1,200}|default)\s{1,20}(?:login\s{1,8}\S{1,200}\s{1,20})?"
        r"(?:account\s{1,8}\S{1,200}\s{1,20})?pass(?:word|wd)\s{1,8}\"?"
        r"(?P<secret>[^\s\"\\\\]{3,500})",
        accepts=is_any_password,
    ),
    MaskRule(
        "password",  # of a chunk that begins within an entry of .netrc
        ("login",),
        r"^[ \t]*login[ \t]+\S{1,200}\s{1,20}password[ \t]+\"?(?P<secret>[^\s\"\\\\]{3,500})",
        accepts=is_any_password,
    ),
    MaskRule(
        "password",  # .pgpass
        (":54", ":*:", ":64", ":154", ":250", ":262"),
        r"^[ \t]*[\w.*-]{1,100}:(?:\d{2,5}|\*):(?:[A-Za-z_][\w-]{0,62}|\*):"
        r"(?:[A-Za-z_][\w.@-]{0,62}|\*)"
        r":(?P<secret>[^\s:][^\s]{3,200})[ \t]*$",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password hash",
        ("$", "{ssha", "{sha"),
        r"\$(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}(?![\w./])"
        r"|\$[56]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}(?![\w./])"
        r"|\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}(?![\w./])"
        r"|\$(?:y|gy|7)\$[./A-Za-z0-9]{1,20}\$[./A-Za-z0-9]{0,90}\$[./A-Za-z0-9]{40,90}"
        r"|\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,10}|bcrypt\w{0,8})\$[^\s:\"'<>]{20,200}"
        r"|\bpbkdf2_sha\d{1,3}\$\d{1,9}\$[^\s:\"'<>]{20,200}"
        r"|\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{20,120}={0,2}",
        3.0,
    ),
    MaskRule(
        "credentials",
        ('"auth"', '\\"auth', "_auth"),
        r"(?:\\?\"auth\\?\"\s{0,4}:\s{0,4}\\?\"|_auth\s{0,3}=\s{0,3}\"?)"
        r"(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})",
        accepts=is_basic_credential,
    ),
    MaskRule(
        "password",
        ("identified", "password"),
        r"(?i:identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by|(?:with|encrypted|set)\s{1,4}"
        r"(?:encrypted\s{1,4})?password(?:\s{1,4}for\s[^\n]{1,60}=)?"
        r"|\bpassword)\s{1,4}(?:password\()?'(?P<secret>[^'\s]{4,200})'",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("password ", "secret ", "key-string ", "community "),
        r"(?i:password|secret|key-string)[ \t]+[0-9][ \t]+(?P<secret>[^\s\"']{8,200})[ \t]*$",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("auth",),
        r"(?i:\bauth\s{0,3}=\s{0,3}\(|basic_?auth\w{0,20}\(|authenticate\(|credentials?\w{0,12}\("
        r"|login\()\s{0,8}"
        r"\\?[\"'][^\"'\n]{1,100}\\?[\"']\s{0,3},\s{0,8}\\?[\"']"
        r"(?P<secret>[^\"'\s]{6,200})\\?[\"']",
        accepts=is_login_secret,
    ),
    MaskRule(
        "password",
        ("login(", "connect(", "credential", "login_user("),
        r"(?i:login|log_?in|sign_?in|connect"
        r"|credentials?)\w{0,20}\(\s{0,8}[^\n()]{0,60}?[\"'][^\"'\n]{1,60}[\"']\s{0,3},\s{0,8}"
        r"[\"'](?P<secret>[^\"'\s]{8,100})[\"']\s{0,3}\)",
        accepts=lambda value: is_random(value) and is_login_secret(value),
    ),
    MaskRule(
        "secret",
        ("secret>", "password>", "token>", "key>", "passphrase>"),
        r"<(?i:[\w.-]{0,30}(?:secret|password|token|passphrase|key))>[^<\n]{0,60}?"
        r"(?<![A-Za-z0-9+/_=.:-])"
        r"(?P<secret>[A-Za-z0-9+/_=.:-]{16,4000})[^<\n]{0,60}</",
        accepts=is_bearer_token,
    ),
    MaskRule(
        "recovery phrase",
        ("mnemonic", "phrase", "seed"),
        r"(?i:mnemonic|(?:seed|recovery|secret|backup)[_ -]?(?:phrase|words)?)\W{1,8}"
        r"(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![a-z ])",
    ),
    MaskRule(
        "passphrase",
        ("passphrase", "password"),
        r"(?i:passphrase|password)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"'](?P<secret>[A-Za-z]{3,12}"
        r"(?:[ -][A-Za-z]{3,12}){3,9}\d{0,4})\\?[\"']",
        accepts=lambda value: (
            not re.search(r"(?i)passw|enter|must|your|please|invalid|the |for |with", value)
        ),
    ),
)

_SECRET_KIND = re.compile(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?Secret\b")

_LINE_NUMBER_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>)[ \t]*|[+-](?![+-]))?"

_DATA_BLOCK = re.compile(
    rf"^{_LINE_NUMBER_HEAD}(?P<indent>[ \t]*)(?P<which>data|stringData):[ \t]*\r?\n"
    rf"(?P<lines>(?:{_LINE_NUMBER_HEAD}(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)*)",
    re.MULTILINE,
)

_DATA_ENTRY = re.compile(
    rf"^{_LINE_NUMBER_HEAD}[ \t]*[\w.\"'-]+:[ \t]*[\"']?(?P<value>[^\s\"'|>][^\s\"']*)",
    re.MULTILINE,
)

_JSON_BLOCK = re.compile(r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{(?P<lines>[^{}]{1,20000})\}")

_JSON_ENTRY = re.compile(r"\"[\w.-]{1,200}\"\s{0,4}:\s{0,4}\"(?P<value>[^\"\n]{1,8000})\"")

MIN_KUBERNETES_VALUE_CHARACTERS = 4


def scan_kubernetes_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the values of every Secret in a manifest."""
    if "kind" not in lowered or not _SECRET_KIND.search(text):
        return
    for block_pattern, entry in ((_DATA_BLOCK, _DATA_ENTRY), (_JSON_BLOCK, _JSON_ENTRY)):
        for block in block_pattern.finditer(text):
            for match in entry.finditer(text, *block.span("lines")):
                value = match["value"]
                if len(value) < MIN_KUBERNETES_VALUE_CHARACTERS or is_placeholder(value):
                    continue
                if is_encoded_secret(value):
                    yield SecretSpan(*match.span("value"), "secret")
