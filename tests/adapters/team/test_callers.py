"""Tokens of an identity provider, made with real keys."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from codekernel.adapters.team.callers import OidcVerifier
from codekernel.adapters.team.rights import OidcProvider
from codekernel.errors import NetworkError
from cryptography.hazmat.primitives.asymmetric import ec

ISSUER, AUDIENCE = "https://login.example.com", "codekernel"

Sign = Callable[..., str]


def write_keys(path: Path, **keys: ec.EllipticCurvePrivateKey) -> None:
    listed = []
    for name, key in keys.items():
        fields = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
        listed.append({**fields, "kid": name, "alg": "ES256", "use": "sig"})
    path.write_text(json.dumps({"keys": listed}), encoding="utf-8")


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def verifier(tmp_path: Path, key: ec.EllipticCurvePrivateKey) -> OidcVerifier:
    write_keys(tmp_path / "jwks.json", one=key)
    provider = OidcProvider(ISSUER, AUDIENCE, str(tmp_path / "jwks.json"), user_claim="email")
    return OidcVerifier(provider)


def sign(key: Any, name: str = "one", algorithm: str = "ES256", **changes: Any) -> str:
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": time.time() + 600,
        "email": "ann@example.com",
        "groups": ["dev", 3],
    }
    claims = {field: value for field, value in (claims | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers={"kid": name})


def test_a_signed_token_names_a_person_and_their_groups(
    verifier: OidcVerifier, key: ec.EllipticCurvePrivateKey
) -> None:
    assert verifier.verify(sign(key)) == ("ann@example.com", ("dev",))
    assert verifier.verify(sign(key, groups=None)) == ("ann@example.com", ())


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": time.time() - 600},
        {"exp": None},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://elsewhere.example.com"},
        {"email": None},
        {"email": ["ann"]},
        {"nbf": time.time() + 86_400},  # long after the last test of a run
        {"name": "two"},
    ],
)
def test_any_other_token_proves_nothing(
    verifier: OidcVerifier, key: ec.EllipticCurvePrivateKey, changes: dict[str, Any]
) -> None:
    assert verifier.verify(sign(key, **changes)) is None


def test_forged_tokens_are_refused(verifier: OidcVerifier, key: ec.EllipticCurvePrivateKey) -> None:
    assert verifier.verify(sign(ec.generate_private_key(ec.SECP256R1()))) is None
    assert verifier.verify(sign(None, algorithm="none")) is None
    assert verifier.verify(sign("a secret of thirty-two characters", algorithm="HS256")) is None
    assert verifier.verify("a.b.c") is None
    good = sign(key)
    assert verifier.verify(good[:-8] + "AAAAAAAA") is None


def test_a_new_key_of_the_provider_is_fetched(
    tmp_path: Path, key: ec.EllipticCurvePrivateKey
) -> None:
    now = [0.0]
    place = tmp_path / "jwks.json"
    write_keys(place, one=key)
    verifier = OidcVerifier(OidcProvider(ISSUER, AUDIENCE, str(place), "email"), lambda: now[0])
    assert verifier.verify(sign(key))
    newer = ec.generate_private_key(ec.SECP256R1())
    write_keys(place, two=newer)
    assert verifier.verify(sign(newer, "two")) is None, "not fetched for each unknown key"
    now[0] = 60.0
    assert verifier.verify(sign(newer, "two"))
    assert verifier.verify(sign(key)) is None, "the old one is withdrawn"


def test_a_provider_that_is_away_lets_nobody_in(tmp_path: Path) -> None:
    verifier = OidcVerifier(OidcProvider(ISSUER, AUDIENCE, str(tmp_path / "nothing")))
    with pytest.raises(NetworkError, match="cannot be had"):
        verifier.verify(sign(ec.generate_private_key(ec.SECP256R1())))
