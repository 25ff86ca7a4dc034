"""The settings and the vault decide what is shared; what one has contributed can be deleted."""

from pathlib import Path

import pytest
from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.errors import ApiKeyNotFound, StorageError
from codekernel.sharing import team as team_module
from codekernel.sharing.team import SALT_NAME, SALT_VARIABLE, Team
from codekernel.storage.user_data import UserData
from sharing.team_world import DIMENSIONS, MODEL, contribute, expect, find, make_texts, make_vectors

TEXTS = make_texts(30)


class Member:
    """A userData folder with settings and a vault."""

    def __init__(self, folder: Path, store: Path | str, mode: SharingMode) -> None:
        self.settings = SharingSettings(str(store), mode)
        self.secrets = {SALT_NAME: "a salt of this team"}
        self.environ: dict[str, str] = {}
        self.user_data = UserData(folder)
        self.team = Team(self.user_data, lambda: self.settings, self._get_secret, self.environ)

    def _get_secret(self, name: str) -> str:
        try:
            return self.secrets[name]
        except KeyError:
            raise ApiKeyNotFound(name) from None

    def contribute(self, texts: dict[int, str]) -> None:
        vectors = self.team.get_vectors(MODEL, DIMENSIONS)
        assert vectors
        contribute(vectors, texts)

    def find(self, texts: dict[int, str]) -> dict[int, bytes]:
        vectors = self.team.get_vectors(MODEL, DIMENSIONS)
        assert vectors
        return find(vectors, texts)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def ann(tmp_path: Path, store: Path) -> Member:
    return Member(tmp_path / "ann", store, SharingMode.READ_WRITE)


@pytest.fixture
def bob(tmp_path: Path, store: Path) -> Member:
    return Member(tmp_path / "bob", store, SharingMode.READ)


def test_nothing_is_shared_by_default(ann: Member) -> None:
    ann.settings = SharingSettings()
    assert ann.team.get_vectors(MODEL, DIMENSIONS) is None
    assert not ann.user_data.root.exists()


def test_members_share_through_the_store_of_the_settings(ann: Member, bob: Member) -> None:
    ann.contribute(TEXTS)
    assert bob.find(TEXTS) == expect(TEXTS)


def test_a_member_who_only_reads_contributes_nothing(bob: Member, store: Path) -> None:
    bob.contribute(TEXTS)
    assert list(store.rglob("*.pack")) == []


@pytest.mark.parametrize(("salt", "words"), [("", "is missing"), ("short", "fewer than 16")])
def test_without_a_good_salt_nothing_is_shared(
    ann: Member, salt: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    ann.secrets = {SALT_NAME: salt}
    assert ann.team.get_vectors(MODEL, DIMENSIONS) is None
    assert words in caplog.text
    assert words in ann.team.try_store()


def test_a_salt_that_is_set_later_is_noticed(ann: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_module, "RETRY_SECONDS", 0.0)
    ann.secrets.clear()
    assert ann.team.get_vectors(MODEL, DIMENSIONS) is None
    ann.secrets[SALT_NAME] = "a salt of this team"
    ann.contribute(TEXTS)


def test_ci_has_the_salt_in_its_environment(ann: Member, bob: Member) -> None:
    ann.secrets.clear()
    ann.environ[SALT_VARIABLE] = "a salt of this team"
    ann.contribute(TEXTS)
    assert bob.find(TEXTS) == expect(TEXTS)


def test_other_settings_are_used_at_once(ann: Member, bob: Member, tmp_path: Path) -> None:
    ann.contribute(TEXTS)
    (tmp_path / "other").mkdir()
    bob.settings = SharingSettings(str(tmp_path / "other"))
    assert bob.find(TEXTS) == {}
    bob.settings = ann.settings
    assert bob.find(TEXTS) == expect(TEXTS)


def test_the_store_is_described_by_model_and_contributor(ann: Member, bob: Member) -> None:
    ann.contribute(TEXTS)
    (found,) = bob.team.list_contributions()
    assert (found.packs, found.vectors, found.own_vectors) == (1, len(TEXTS), 0)
    assert MODEL.startswith(found.model)
    (found,) = ann.team.list_contributions()
    assert (found.own_packs, found.own_vectors, found.is_own_salt) == (1, len(TEXTS), True)
    bob.secrets[SALT_NAME] = "the salt of others"
    (found,) = bob.team.list_contributions()
    assert not found.is_own_salt


def test_forgetting_deletes_ones_own_contributions_and_no_others(
    ann: Member, bob: Member, store: Path
) -> None:
    bob.settings = ann.settings
    ann.contribute(TEXTS)
    bob.contribute(make_texts(5, begin=500))
    assert ann.team.forget_contributions() == len(TEXTS)
    (left,) = store.rglob("*.pack")
    assert left.name.startswith(bob.team.read_owner())


def test_the_contributor_keeps_its_name(ann: Member) -> None:
    owner = ann.team.read_owner()
    assert ann.team.read_owner() == owner
    (ann.user_data.sharing_folder / "contributor").write_bytes(b"\xff../..")
    assert ann.team.read_owner() not in {owner, ""}


def test_a_trial_finds_what_is_wrong_and_leaves_nothing_behind(ann: Member, store: Path) -> None:
    assert ann.team.try_store() == ""
    assert [path for path in store.rglob("*") if path.is_file()] == []
    ann.settings = SharingSettings(str(store / "gone"), SharingMode.READ_WRITE)
    assert "is it mounted?" in ann.team.try_store()


def test_commands_say_that_nothing_is_shared(ann: Member) -> None:
    ann.settings = SharingSettings()
    with pytest.raises(StorageError, match="names no folder or bucket"):
        ann.team.list_contributions()


def test_what_waits_is_counted_and_sent(ann: Member, bob: Member) -> None:
    vectors = ann.team.get_vectors(MODEL, DIMENSIONS)
    assert vectors
    assert vectors.contributions
    vectors.contribute(TEXTS, make_vectors(TEXTS))
    vectors.contributions.save()
    assert ann.team.count_waiting() == len(TEXTS)
    assert ann.team.send_waiting() == len(TEXTS)
    assert ann.team.count_waiting() == 0
    assert bob.find(TEXTS) == expect(TEXTS)
