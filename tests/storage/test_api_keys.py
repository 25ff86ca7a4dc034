import pytest
from codekernel.errors import ApiKeyNotFound, KernelError
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.tables import ApiKeys
from codekernel.storage.vault.vault import Vault

SECRET = "sk-very-secret-0123456789"


def test_a_key_is_kept_and_replaced(vault: Vault) -> None:
    keys = ApiKeys(vault)
    assert not keys.has("model")
    keys.set("model", "first")
    keys.set("model", SECRET)
    assert keys.has("model")
    assert keys.get("model") == SECRET


def test_an_empty_key_removes(vault: Vault) -> None:
    keys = ApiKeys(vault)
    keys.set("model", SECRET)
    keys.set("other", "kept")
    keys.set("model", "")
    keys.set("never there", "")
    assert not keys.has("model")
    assert keys.get("other") == "kept"


def test_a_missing_key_says_where_to_enter_it(vault: Vault) -> None:
    with pytest.raises(ApiKeyNotFound, match="'model': enter it in the settings"):
        ApiKeys(vault).get("model")


def test_any_string_may_be_a_name(vault: Vault) -> None:
    keys = ApiKeys(vault)
    for name in ("", "a\0b", "\ud800", "m\u00f6del"):
        keys.set(name, SECRET)
        assert keys.get(name) == SECRET


def test_neither_key_is_to_be_seen_in_files_errors_or_logs(
    user_data: UserData,
    environ: dict[str, str],
    vault: Vault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    ApiKeys(vault).set("model", SECRET)
    contents = {path.name: path.read_bytes() for path in user_data.database_folder.iterdir()}
    assert set(contents) >= {"kernel.db", "kernel.db-wal"}
    with pytest.raises(KernelError) as refusal, vault.transaction() as database:
        database.execute("INSERT INTO api_key VALUES ('model', ?)", (SECRET,))
    vault.close()
    contents["kernel.db, closed"] = user_data.database_file.read_bytes()
    vault_key = environ["CODEKERNEL_VAULT_KEY"]
    hidden = (SECRET.encode(), b"sk-very", vault_key.encode(), bytes.fromhex(vault_key))
    for content in contents.values():
        assert not any(secret in content for secret in hidden)
    chain: BaseException | None = refusal.value
    while chain is not None:
        assert SECRET not in str(chain)
        assert vault_key not in str(chain)
        chain = chain.__cause__ or chain.__context__
    assert SECRET not in caplog.text
    assert vault_key not in caplog.text
