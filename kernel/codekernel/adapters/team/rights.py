"""Who may read which repositories and paths: ``userData/team/rights.json``, read when it changes.

Nobody may read what no rule names. A rule is a glob from the root of a repository, and with ``!``
in front it forbids: what any rule of a person or of their groups forbids, stays forbidden.
"""

import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import InvalidSettings

DEFAULT_REQUESTS_PER_MINUTE = 120


@dataclass(frozen=True, slots=True)
class PathRules:
    """What may be read of one repository."""

    allowed: tuple[re.Pattern[str], ...] = ()
    forbidden: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def parse(cls, rules: Collection[str]) -> "PathRules":
        """Parse globs; what forbids ignores case, for a disk may do so, too."""
        allowed = tuple(_compile(rule) for rule in rules if not rule.startswith("!"))
        forbidden = (_compile(rule[1:], re.IGNORECASE) for rule in rules if rule.startswith("!"))
        return cls(allowed, tuple(forbidden))

    def is_readable(self, path: str) -> bool:
        """Return whether a file may be read, by its path in the repository."""
        if any(rule.fullmatch(path) for rule in self.forbidden):
            return False
        return any(rule.fullmatch(path) for rule in self.allowed)


def _compile(rule: str, flags: int = 0) -> re.Pattern[str]:
    """``**`` is any number of folders, ``*`` any part of a name; ``folder/`` is all below it."""
    rule = rule.removeprefix("/")
    if rule.endswith("/"):
        rule += "**"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", rule)
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(words.get(part, re.escape(part)) for part in parts), flags | re.DOTALL
    )


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """Whose tokens are accepted; ``jwks`` is an address, or a file."""

    issuer: str
    audience: str
    jwks: str
    user_claim: str = "sub"
    groups_claim: str = "groups"


Grants = Mapping[str, tuple[str, ...]]  # repository -> rules


@dataclass(frozen=True, slots=True)
class TeamRights:
    """The whole file."""

    repositories: Mapping[str, Path] = field(default_factory=dict)
    users: Mapping[str, Grants] = field(default_factory=dict)
    groups: Mapping[str, Grants] = field(default_factory=dict)
    oidc: OidcProvider | None = None
    requests_per_minute: int = DEFAULT_REQUESTS_PER_MINUTE

    def list_repositories(self, user: str, groups: Collection[str]) -> list[str]:
        """Return the names of the repositories of which a person may read something."""
        return [name for name in self.repositories if self.find_rules(user, groups, name)]

    def find_rules(self, user: str, groups: Collection[str], repository: str) -> PathRules | None:
        """Return what a person may read of a repository; None if nothing."""
        if repository not in self.repositories:
            return None
        grants = [self.users.get(user, {}), *(self.groups.get(group, {}) for group in groups)]
        rules = [rule for grant in grants for rule in grant.get(repository, ())]
        parsed = PathRules.parse(rules)
        return parsed if parsed.allowed else None


class RightsFile:
    """The file as it is now; a broken one allows nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._rights = TeamRights()
        self._error: InvalidSettings | None = None

    def read(self) -> TeamRights:
        """Return the rights. Raises InvalidSettings."""
        with self._lock:
            stamp = self._read_stamp()
            if stamp != self._stamp:
                self._stamp, self._error = stamp, None
                try:
                    self._rights = parse_rights(self.path.read_bytes())
                except OSError as error:
                    reason = error.strerror or error
                    self._error = InvalidSettings(f"{self.path} cannot be read: {reason}")
                except InvalidSettings as error:
                    self._error = InvalidSettings(f"{self.path}: {error}")
            if self._error:
                raise self._error
            return self._rights

    def _read_stamp(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


def parse_rights(content: bytes) -> TeamRights:
    """Parse the file. Raises InvalidSettings, which names what is wrong."""
    try:
        file = parse_json(content)
    except ValueError as error:
        raise InvalidSettings(f"it is no JSON: {error}") from None
    known = {"repositories", "users", "groups", "oidc", "requestsPerMinute"}
    if not isinstance(file, dict) or not file.keys() <= known:
        raise InvalidSettings(f"it must be an object with {', '.join(sorted(known))}")
    repositories = {name: Path(path) for name, path in _texts(file, "repositories").items()}
    for name, path in repositories.items():
        if not path.is_absolute() or "/" in name:
            raise InvalidSettings(f"repositories.{name} must have a plain name and absolute path")
    limit = file.get("requestsPerMinute", DEFAULT_REQUESTS_PER_MINUTE)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidSettings("requestsPerMinute must be a whole number, at least 1")
    return TeamRights(
        repositories,
        _parse_grants(file, "users", repositories),
        _parse_grants(file, "groups", repositories),
        _parse_oidc(file.get("oidc")),
        limit,
    )


def _texts(file: dict[str, Any], key: str) -> dict[str, str]:
    found = file.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise InvalidSettings(f"{key} must be an object of texts")
    return found


def _parse_grants(
    file: dict[str, Any], key: str, repositories: Mapping[str, Path]
) -> dict[str, Grants]:
    found = file.get(key, {})
    if not isinstance(found, dict):
        raise InvalidSettings(f"{key} must be an object")
    parsed: dict[str, Grants] = {}
    for name, grants in found.items():
        if not isinstance(grants, dict):
            raise InvalidSettings(f"{key}.{name} must be an object: repository -> list of globs")
        for repository, rules in grants.items():
            if repository not in repositories:
                raise InvalidSettings(f"{key}.{name}: there is no repository {repository!r}")
            if not isinstance(rules, list) or not all(isinstance(it, str) and it for it in rules):
                raise InvalidSettings(f"{key}.{name}.{repository} must be a list of globs")
        parsed[name] = {repository: tuple(rules) for repository, rules in grants.items()}
    return parsed


def _parse_oidc(found: Any) -> OidcProvider | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise InvalidSettings("oidc must be an object")
    names = {"userClaim": "user_claim", "groupsClaim": "groups_claim"}
    fields = {
        names.get(name, name): value for name, value in _texts({"oidc": found}, "oidc").items()
    }
    try:
        provider = OidcProvider(**fields)
    except TypeError:
        raise InvalidSettings(
            "oidc must have issuer, audience and jwks, and may have userClaim and groupsClaim"
        ) from None
    if not provider.issuer or not provider.audience or not provider.jwks:
        raise InvalidSettings("oidc.issuer, oidc.audience and oidc.jwks must not be empty")
    return provider
