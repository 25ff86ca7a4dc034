"""Packs that are signed, and those that are refused because nobody trusted has signed them."""

import hashlib
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.packs.pack_archive import PackRefused
from codekernel.packs.signatures import (
    SIGNATURE_SUFFIX,
    PublicKey,
    SigningKey,
    SigningKeyInvalid,
    require_signature,
)
from codekernel.sharing.team import SIGNING_KEY_NAME
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from packs.packs_world import PackWorld, expect_notice

# The same in every process: they name tests.
KEY, STRANGER = SigningKey(b"the-team", bytes(range(32))), SigningKey(b"stranger", bytes(32))


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    path = tmp_path / "pack"
    path.write_bytes(b"an index" * 1000)
    return path


def test_keys_are_read_as_they_are_written() -> None:
    assert SigningKey.parse(KEY.encode()) == KEY
    assert SigningKey.parse(f"untrusted comment: mine\n{KEY.encode()}\n") == KEY
    assert PublicKey.parse(KEY.public.encode()) == KEY.public
    made = SigningKey.make()
    assert SigningKey.parse(made.encode()) == made != SigningKey.make()
    assert KEY.public.encode().startswith("RW"), "as minisign's do"


def test_a_signature_is_what_minisign_checks(signed: Path) -> None:
    """Its documented format, taken apart here without our reader."""
    lines = KEY.sign(signed, "of this").decode().split("\n")
    first, second = b64decode(lines[1]), b64decode(lines[3])
    assert (first[:2], first[2:10]) == (b"ED", KEY.key_id)
    owner = Ed25519PublicKey.from_public_bytes(b64decode(KEY.public.encode())[10:])
    owner.verify(first[10:], hashlib.blake2b(signed.read_bytes()).digest())
    owner.verify(second, first[10:] + b"of this")
    assert lines[0].startswith("untrusted comment: ")
    assert lines[2] == "trusted comment: of this"


def test_a_signature_of_a_trusted_key_is_accepted(signed: Path) -> None:
    signature = KEY.sign(signed, "x")
    require_signature(signed, signature, [STRANGER.public, KEY.public])
    with pytest.raises(PackRefused):
        require_signature(signed, signature, [STRANGER.public])


def test_anything_else_is_refused_with_its_reason(signed: Path) -> None:
    signature = KEY.sign(signed, "of this")
    with pytest.raises(PackRefused, match=r"a key that .* does not name"):
        require_signature(signed, signature, [STRANGER.public])
    other = PublicKey(KEY.key_id, STRANGER.public.content)
    with pytest.raises(PackRefused, match="changed, or replaced"):
        require_signature(signed, signature, [other])
    for wrong in (b"", b"\xff\xfe", b"\n\n\n\n", signature.replace(b"\n", b" "), signature[::-1]):
        with pytest.raises(PackRefused, match="cannot be read"):
            require_signature(signed, wrong, [KEY.public])
    with pytest.raises(PackRefused, match="changed, or replaced"):
        require_signature(signed, signature.replace(b"of this", b"of that"), [KEY.public])
    signed.write_bytes(signed.read_bytes() + b"x")
    with pytest.raises(PackRefused, match="changed, or replaced"):
        require_signature(signed, signature, [KEY.public])


@pytest.mark.parametrize(
    "text", ["", KEY.public.encode(), "a word"], ids=["nothing", "a public key", "a word"]
)
def test_what_is_no_signing_key_is_named(text: str) -> None:
    with pytest.raises(SigningKeyInvalid, match="codekernel pack key makes one"):
        SigningKey.parse(text)


def test_a_signing_key_with_a_password_or_with_damage_is_named() -> None:
    content = b64decode(KEY.encode())
    with pytest.raises(SigningKeyInvalid, match="has a password"):
        SigningKey.parse(b64encode(content[:2] + b"Sc" + content[4:]).decode())
    with pytest.raises(SigningKeyInvalid, match="damaged"):
        SigningKey.parse(b64encode(content[:70] + bytes([content[70] ^ 1]) + content[71:]).decode())


def sign_in_ci(world: PackWorld, key: SigningKey) -> None:
    """Build the pack as CI does, with a key."""
    for path in world.store_folder.glob("indexes/**/*.pack*"):
        path.unlink()
    world.secrets[SIGNING_KEY_NAME] = key.encode()
    world.build()


def trust(world: PackWorld, *keys: SigningKey) -> None:
    named = tuple(key.public.encode() for key in keys)
    world.settings = replace(world.settings, trusted_keys=named)


def restore(world: PackWorld, staging: Path) -> bool:
    opener = world.join("ann").opener
    return opener.restore(world.root, world.plan, staging, CancelToken(), lambda _: None)


@pytest.mark.slow
def test_a_signed_pack_is_opened_by_who_trusts_its_key(world: PackWorld) -> None:
    sign_in_ci(world, KEY)
    trust(world, STRANGER, KEY)
    with world.open("ann", world.root) as ann:
        expect_notice(ann, "0 embedded")


@pytest.mark.slow
def test_a_pack_that_is_not_signed_is_refused_and_the_index_built_here(world: PackWorld) -> None:
    trust(world, KEY)
    with world.open("ann", world.root) as ann:
        notice = ann.index.get_status().notice
        assert ann.search_paths("Session.close")[0] == "src/session.py"
    assert "is not signed, and sharing.trustedKeys asks for a signature" in notice


@pytest.mark.slow
def test_packs_of_strangers_and_changed_ones_are_refused(world: PackWorld, tmp_path: Path) -> None:
    sign_in_ci(world, STRANGER)
    trust(world, KEY)
    with pytest.raises(PackRefused, match="does not name"):
        restore(world, tmp_path / "in")
    sign_in_ci(world, KEY)
    (signature,) = world.store_folder.glob(f"indexes/**/*{SIGNATURE_SUFFIX}")
    kept = signature.read_bytes()
    sign_in_ci(world, STRANGER)  # who has the salt, and puts the signature of another pack to it
    (signature,) = world.store_folder.glob(f"indexes/**/*{SIGNATURE_SUFFIX}")
    signature.write_bytes(kept)
    with pytest.raises(PackRefused, match="changed, or replaced"):
        restore(world, tmp_path / "in")
    assert not list(world.folder.glob("ann/sharing/fetched/*.part"))


@pytest.mark.slow
def test_the_nearest_signed_pack_is_taken_before_a_nearer_one_that_is_not(world: PackWorld) -> None:
    sign_in_ci(world, KEY)
    world.secrets.pop(SIGNING_KEY_NAME)
    world.history.commit("second", {"src/second.py": "def second(): ...\n"})
    world.build()
    trust(world, KEY)
    found = world.join("ann").opener.find(world.root, world.plan)
    assert found
    assert found.nearest.distance == 1


@pytest.mark.slow
def test_a_signature_goes_with_its_pack(world: PackWorld) -> None:
    sign_in_ci(world, KEY)
    packs = world.list_packs()
    (pack,) = packs.list_packs()
    assert pack.is_signed
    packs.delete(pack)
    assert not list(world.store_folder.glob("indexes/**/*.*"))
