"""Who may read what: the rules, and files that are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.team.callers import CallerRateLimit
from codekernel.adapters.team.rights import PathRules, RightsFile, parse_rights
from codekernel.adapters.team.tokens import TOKEN_PREFIX, TokenFile
from codekernel.errors import InvalidSettings

FILE: dict[str, Any] = {
    "repositories": {"app": "/srv/app", "lib": "/srv/lib"},
    "users": {"ann": {"app": ["**"]}, "bob": {"app": ["docs/", "src/*.py"]}},
    "groups": {"all": {"lib": ["**"]}, "outside": {"app": ["!src/"], "lib": ["!**/keys.*"]}},
}


@pytest.mark.parametrize(
    ("rules", "path", "is_readable"),
    [
        (["**"], "a/b/c.py", True),
        ([], "a.py", False),
        (["src/"], "src/deep/er.py", True),
        (["src/"], "lib/src/a.py", False),
        (["src"], "src/a.py", False),
        (["src/*.py"], "src/a.py", True),
        (["src/*.py"], "src/deep/a.py", False),
        (["**/a.py"], "a.py", True),
        (["**/a.py"], "x/y/a.py", True),
        (["**/a.py"], "x/ba.py", False),
        (["/docs/**"], "docs/index.md", True),
        (["**", "!secret/"], "secret/key.pem", False),
        (["**", "!secret/"], "SECRET/key.pem", False),
        (["!secret/", "**"], "secret/key.pem", False),
        (["**", "!secret/"], "secrets/plain.txt", True),
        (["a[1].py"], "a[1].py", True),
        (["a[1].py"], "a1.py", False),
        (["a.py"], "a.py\n", False),
    ],
)
def test_rules_are_globs_from_the_root(rules: list[str], path: str, *, is_readable: bool) -> None:
    assert PathRules.parse(rules).is_readable(path) is is_readable


def test_rights_of_a_person_and_their_groups_add_up_and_prohibitions_win() -> None:
    rights = parse_rights(json.dumps(FILE).encode())
    assert rights.list_repositories("ann", ()) == ["app"]
    assert rights.list_repositories("bob", ("all",)) == ["app", "lib"]
    assert rights.list_repositories("eve", ("nobody",)) == []
    mine = rights.find_rules("bob", ("all", "outside"), "app")
    assert mine
    assert (mine.is_readable("docs/a.md"), mine.is_readable("src/a.py")) == (True, False)
    assert rights.find_rules("eve", ("outside",), "app") is None, "a prohibition gives nothing"
    assert rights.find_rules("ann", (), "nowhere") is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"users": {"ann": {"nowhere": ["**"]}}}, "no repository 'nowhere'"),
        ({"users": {"ann": {"app": "**"}}}, "list of globs"),
        ({"users": []}, "users must be an object"),
        ({"repositories": {"app": "relative"}}, "absolute path"),
        ({"oidc": {"issuer": "x"}}, "oidc must have"),
        ({"user": {}}, "must be an object with"),
        ({"requestsPerMinute": 0}, "requestsPerMinute"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSettings, match=reason):
        parse_rights(json.dumps(FILE | change).encode())


def test_a_file_that_becomes_wrong_allows_nothing_until_it_is_right(tmp_path: Path) -> None:
    path = tmp_path / "rights.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    rights = RightsFile(path)
    assert rights.read().users
    path.write_text("{", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(InvalidSettings, match=r"rights\.json"):
            rights.read()
    path.unlink()
    with pytest.raises(InvalidSettings, match="cannot be read"):
        rights.read()
    path.write_text(json.dumps(FILE), encoding="utf-8")
    assert rights.read().users


def test_a_token_is_kept_as_a_hash_and_refused_once_it_is_revoked(tmp_path: Path) -> None:
    path = tmp_path / "team" / "tokens.json"
    tokens, elsewhere = TokenFile(path), TokenFile(path)
    text, second = tokens.add("ann"), tokens.add("ann")
    assert text.startswith(TOKEN_PREFIX)
    assert text not in path.read_text(encoding="utf-8")
    assert elsewhere.find_user(text) == "ann"
    assert elsewhere.find_user(text[:-1]) is None
    assert elsewhere.find_user("") is None
    assert tokens.revoke(text.split("_")[1]) == 1
    assert elsewhere.find_user(text) is None
    assert elsewhere.find_user(second) == "ann"
    assert [each.user for each in elsewhere.list_all()] == ["ann"]
    assert tokens.revoke("ann") == 1
    assert tokens.revoke("ann") == 0


def test_requests_beyond_the_rate_wait_and_only_for_their_own_person() -> None:
    now = [0.0]
    limit = CallerRateLimit(lambda: now[0])
    assert [limit.take("ann", 3) for _ in range(3)] == [0.0] * 3
    assert limit.take("ann", 3) == pytest.approx(20)
    assert limit.take("bob", 3) == 0.0
    now[0] = 20.1
    assert limit.take("ann", 3) == 0.0
