"""Which names are those of secrets, judged by the words they are made of."""

import re
from enum import Enum


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# In lower case; where one of them stands, a name is looked at.
KEYWORDS = (
    "pass", "pwd", "contrase", "senha", "密码", "口令", "密碼", "пароль",
    "secret", "token", "key", "auth", "cred", "cookie", "session", "salt", "seed",
    "otp", "webhook", "bearer", "license", "dsn", "jwt", "sid", "_pat", "pin",
)  # fmt: skip


class NameKind(Enum):
    """How much a name says of its value."""

    PASSWORD = "password"  # noqa: S105 - a kind, and what the mark says; short values count
    SECRET = "secret"  # noqa: S105 - likewise; values that were generated count
    QUALIFIED = "key"  # long values that were generated count
    WEAK = "token"  # longer ones


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\da-zA-Z_]+")
_PASSWORDS = _words(
    "password passwords passwd passwort passphrase pwd pass passwrd contraseña contrasena senha "
    "пароль pgpassword mysqlpwd dbpass userpass"
)
_PASSWORD_ENDINGS = ("password", "passwd", "pwd", "passphrase")
_SECRETS = _words(
    "secret secrets token tokens credential credentials cred creds apikey secretkey accesskey "
    "privatekey authkey authtoken accesstoken refreshtoken clientsecret appsecret appkey jwt "
    "bearer psk pat dsn masterkey encryptionkey signingkey"
)
_SECRET_ENDINGS = ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey")
_KEY_QUALIFIERS = _words(
    "api app application access account auth private priv secret encryption encrypt encrypted "
    "signing sign signature master shared service server client admin license licence deploy "
    "write ingest ingestion integration function storage subscription consumer project hmac aes "
    "rsa ssh jwt crypt crypto cipher vapid session security webhook rest global team org "
    "organization merchant developer live host preshared pre wrapping db database ca gpg pgp "
    "rails django flask base x instrumentation user registration activation recovery backup "
    "wallet seed dek kek"
)
_WEAK = _words(
    "auth authorization key keys cookie session sessionid salt seed otp totp webhook license "
    "licence sid pin"
)
# The last word of a name: what it is a thing of.
_DENIED_LAST = _words(
    "id ids name names type types file files filename path paths dir url urls uri endpoint host "
    "port len length size count limit max min age ttl exp expires expiry expiration expired "
    "duration timeout at time date header headers field fields param params prefix suffix regex "
    "pattern format schema label title hint help desc description message msg error err errors "
    "placeholder required enabled disabled policy rule rules strength index idx position pos "
    "offset kind class cls func fn handler provider factory manager service store cache map set "
    "list array scheme algorithm alg method mode version ver ref reference alias arn ring board "
    "code codes word words press down up frame chain pair space bits usage usages column table "
    "query scope scopes owner issuer audience aud realm domain vault tree stream izer form "
    "input reset strategy guard middleware module config spec test tests mock model view "
    "component props state action event listener callback hook hooks badge icon img image css "
    "color colour style example docs doc link page flow grant server client user username email "
    "login sha sum checksum fingerprint digest thumbprint request response reader writer parser "
    "lexer iter iterator comparer comparator serializer converter resolver"
)
_WORKING_DIRECTORY = frozenset({"PWD", "OLDPWD", "$PWD", "pwd"})
# Anywhere in a name.
_DENIED = _words(
    "public pub publishable primary foreign partition sort websocket csrf xsrf cancellation "
    "cancel socket ws oldpwd syntax keyword keyboard identifier translation i18n locale "
    "integrity checksum etag registry hostkey pubkey hash hashes site sitekey recaptcha "
    "analytics measurement tracking gtm cache pagination cursor continuation next prev previous "
    "page sync lookup"
)


def classify_name(name: str) -> NameKind | None:
    """Return how much a name says of its value; None if it is not that of a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or _is_denied(name, words):
        return None
    if any(word in _PASSWORDS or word.endswith(_PASSWORD_ENDINGS) for word in words):
        return NameKind.PASSWORD
    if _is_secret(words):
        return NameKind.SECRET
    if not name.isascii():  # words of other scripts
        return NameKind.PASSWORD
    if _WEAK.isdisjoint(words):
        return None
    # ``linkedin_key``: of something that is not known to have keys of another kind.
    return NameKind.QUALIFIED if len(words) > 1 and words[-1] == "key" else NameKind.WEAK


def _is_denied(name: str, words: list[str]) -> bool:
    is_other = words[-1] in _DENIED_LAST or not _DENIED.isdisjoint(words)
    return is_other or name in _WORKING_DIRECTORY


def _is_secret(words: list[str]) -> bool:
    if any(word in _SECRETS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    return not {"key", "keys"}.isdisjoint(words) and not _KEY_QUALIFIERS.isdisjoint(words)
