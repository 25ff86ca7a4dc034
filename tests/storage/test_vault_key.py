import os
import secrets
import stat
import subprocess
import sys
import threading
from pathlib import Path

import keyring
import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.safe_files import make_private_folder
from codekernel.storage.user_data import UserData
from codekernel.storage.vault import vault_key
from codekernel.storage.vault.vault import Vault
from codekernel.storage.vault.vault_key import (
    KeyringUnavailable,
    VaultKey,
    create_key_file,
    find_or_create_key,
    parse_hex_key,
    read_key_file,
    read_secret,
)
from keyring.backend import KeyringBackend
from keyring.backends import null


class MemoryKeyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


class FailingKeyring(MemoryKeyring):
    def get_password(self, _service: str, username: str) -> str | None:
        raise OSError(f"cannot give {username}")

    def set_password(self, _service: str, _username: str, password: str) -> None:
        raise OSError(f"cannot keep {password}")


class ForgetfulKeyring(MemoryKeyring):
    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password[:10]


class HangingKeyring(MemoryKeyring):
    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def get_password(self, _service: str, _username: str) -> str | None:
        self.let_go.wait(60)
        return None

    def set_password(self, _service: str, _username: str, _password: str) -> None:
        self.let_go.wait(60)


def use(backend: KeyringBackend) -> None:
    keyring.set_keyring(backend)


@pytest.fixture
def made(user_data: UserData) -> UserData:
    make_private_folder(user_data.database_folder)
    return user_data


def test_the_environment_comes_first(made: UserData) -> None:
    made.key_file.write_text("ff" * 32, encoding="ascii")
    key = find_or_create_key(made, {"CODEKERNEL_VAULT_KEY": "AB" * 32})
    assert key.raw == b"\xab" * 32
    assert key.origin == "CODEKERNEL_VAULT_KEY"
    assert not made.vault_id_file.exists()


@pytest.mark.parametrize("value", ["", "secret-value", "ab" * 31, "ab" * 33, " " + "ab" * 32])
def test_a_bad_variable_is_refused_without_being_shown(made: UserData, value: str) -> None:
    with pytest.raises(VaultUnavailable) as refusal:
        find_or_create_key(made, {"CODEKERNEL_VAULT_KEY": value})
    message = str(refusal.value)
    assert "secrets.token_hex(32)" in message
    assert not value or value not in message
    assert list(made.database_folder.iterdir()) == []


def test_a_key_is_never_shown_by_its_value(made: UserData) -> None:
    key = VaultKey(b"k" * 32, "somewhere")
    assert repr(key) == "VaultKey(origin='somewhere')"


def test_a_new_key_goes_into_the_keyring_when_one_answers(made: UserData) -> None:
    backend = MemoryKeyring()
    use(backend)
    key = find_or_create_key(made, {})
    vault_id = made.vault_id_file.read_text(encoding="ascii").strip()
    assert backend.entries == {("codekernel", f"vault:{vault_id}"): key.raw.hex()}
    assert key.origin == "the OS keyring"
    assert not made.key_file.exists()
    assert find_or_create_key(made, {}) == key


def test_a_moved_folder_still_finds_its_key_in_the_keyring(made: UserData) -> None:
    use(MemoryKeyring())
    key = find_or_create_key(made, {})
    moved = UserData(made.root.rename(made.root.with_name("moved")))
    moved.database_file.touch()
    assert find_or_create_key(moved, {}) == key


@pytest.mark.parametrize("backend", [FailingKeyring(), ForgetfulKeyring(), null.Keyring()])
def test_a_keyring_that_does_not_answer_means_a_key_file(
    made: UserData, backend: KeyringBackend
) -> None:
    use(backend)
    key = find_or_create_key(made, {})
    assert key.origin == f"the key file {made.key_file}"
    assert made.key_file.read_text(encoding="ascii") == f"{key.raw.hex()}\n"
    assert not made.vault_id_file.exists()


def test_no_keyring_at_all_means_a_key_file(made: UserData) -> None:
    assert find_or_create_key(made, {}).origin == f"the key file {made.key_file}"


def test_a_keyring_that_hangs_is_given_up() -> None:
    backend = HangingKeyring()
    use(backend)
    with pytest.raises(KeyringUnavailable):
        read_secret("vault", timeout_seconds=0.05)
    backend.let_go.set()


def test_the_key_file_comes_before_a_keyring_that_answers_later(made: UserData) -> None:
    key = find_or_create_key(made, {})
    backend = MemoryKeyring()
    use(backend)
    assert find_or_create_key(made, {}) == key
    assert backend.entries == {}


def test_a_vault_whose_key_is_gone_is_not_given_a_new_one(made: UserData) -> None:
    made.database_file.write_bytes(b"vault")
    with pytest.raises(VaultUnavailable) as refusal:
        find_or_create_key(made, {})
    message = str(refusal.value)
    for place in ("CODEKERNEL_VAULT_KEY", str(made.key_file), "the OS keyring"):
        assert place in message
    assert list(made.database_folder.iterdir()) == [made.database_file]


def test_a_vault_whose_keyring_fails_waits_for_it(made: UserData) -> None:
    backend = MemoryKeyring()
    use(backend)
    key = find_or_create_key(made, {})
    made.database_file.touch()
    use(FailingKeyring())
    with pytest.raises(VaultUnavailable, match="the OS keyring does not answer"):
        find_or_create_key(made, {})
    use(MemoryKeyring())
    with pytest.raises(VaultUnavailable, match="has no entry"):
        find_or_create_key(made, {})
    assert not made.key_file.exists()
    use(backend)
    assert find_or_create_key(made, {}) == key


def test_a_damaged_keyring_entry_is_refused_and_left(made: UserData) -> None:
    backend = MemoryKeyring()
    use(backend)
    find_or_create_key(made, {})
    (name,) = backend.entries
    backend.entries[name] = "half-a-key"
    with pytest.raises(VaultUnavailable, match="is damaged") as refusal:
        find_or_create_key(made, {})
    assert "half-a-key" not in str(refusal.value)
    assert backend.entries == {name: "half-a-key"}


def test_a_damaged_vault_id_is_refused_and_left(made: UserData) -> None:
    made.vault_id_file.write_bytes(b"\xff")
    with pytest.raises(VaultUnavailable, match="vault-id is damaged"):
        find_or_create_key(made, {})
    assert made.vault_id_file.read_bytes() == b"\xff"


def test_a_key_never_reaches_the_log(made: UserData, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    use(FailingKeyring())
    key = find_or_create_key(made, {})
    assert "does not answer (OSError)" in caplog.text
    assert key.raw.hex() not in caplog.text
    assert "cannot keep" not in caplog.text


@pytest.mark.parametrize("backend", [MemoryKeyring(), FailingKeyring()])
def test_vaults_made_at_the_same_moment_end_with_one_key(
    user_data: UserData, backend: KeyringBackend
) -> None:
    use(backend)
    vaults = [Vault(user_data, {}, may_quarantine=lambda: False) for _ in range(4)]
    start = threading.Barrier(len(vaults))

    def write(vault: Vault) -> None:
        start.wait(60)
        with vault.transaction() as database:
            database.execute("INSERT INTO api_key VALUES (?, 'x')", (secrets.token_hex(),))

    threads = [threading.Thread(target=write, args=(vault,)) for vault in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with vaults[0].read_connection() as database:
        count = database.execute("SELECT COUNT(*) FROM api_key").fetchone()
    for vault in vaults:
        vault.close()
    assert count == (len(vaults),)


KEY = bytes(range(32))

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes")


def test_only_64_hexadecimal_characters_are_a_key() -> None:
    assert parse_hex_key(KEY.hex()) == KEY
    assert parse_hex_key(KEY.hex().upper()) == KEY
    for wrong in ("", KEY.hex()[:-1], KEY.hex() + "0", KEY.hex() + "\n", "g" * 64, "0 " * 32):
        assert parse_hex_key(wrong) is None


def test_a_key_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert read_key_file(path) is None
    assert create_key_file(path, KEY)
    assert read_key_file(path) == KEY


def test_a_second_key_never_replaces_the_first(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert create_key_file(path, KEY)
    assert not create_key_file(path, bytes(32))
    assert read_key_file(path) == KEY


@posix_only
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    before = os.umask(0)
    try:
        create_key_file(path, KEY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_file_open_to_others_is_closed_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kernel.key"
    create_key_file(path, KEY)
    path.chmod(0o644)
    assert read_key_file(path) == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "was open to other accounts" in caplog.text


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", KEY.hex()[:40].encode(), b"z" * 64])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kernel.key"
    path.write_bytes(content)
    with pytest.raises(VaultUnavailable, match="is damaged") as refusal:
        read_key_file(path)
    assert path.read_bytes() == content
    assert KEY.hex()[:40] not in str(refusal.value)


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"folder where a file is needed|must be able to read"):
        read_key_file(tmp_path)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the session bus is Linux's")


@linux_only
def test_the_session_bus_is_named_when_the_environment_does_not(
    tmp_path: Path,
) -> None:
    environ = {"DBUS_SESSION_BUS_ADDRESS": ""}
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    vault_key.set_session_bus_address(tmp_path, environ)
    assert environ["DBUS_SESSION_BUS_ADDRESS"] == ""
    bus.touch()
    vault_key.set_session_bus_address(tmp_path, environ)
    assert environ["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={bus}"


@linux_only
def test_a_session_bus_that_is_named_stays(tmp_path: Path) -> None:
    environ = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/elsewhere"}
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    bus.touch()
    vault_key.set_session_bus_address(tmp_path, environ)
    assert environ["DBUS_SESSION_BUS_ADDRESS"] == "unix:path=/elsewhere"


ASK = """
import ctypes.util
looked_for = []
ctypes.util.find_library = looked_for.append
from codekernel.storage.vault import vault_key
try:
    vault_key.read_secret("nobody")
except vault_key.KeyringUnavailable:
    pass
import keyring
assert keyring.get_keyring()
print(looked_for)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="there they are looked for with reason")
def test_no_library_of_macos_is_looked_for_elsewhere() -> None:
    """Looking for one runs a compiler, which writes into the folder for temporary files."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr
