"""Every kind of secret in every context, as ``bench.py trust secrets`` draws them."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts" / "benchmarks"
SEED = 18
# Of the kinds the issue names; each of them left unmasked before.
NAMED_BY_THE_ISSUE = {
    "sendgrid", "digitalocean-pat", "google-oauth-secret", "azure storage", "basic header",
    "vault-service", "telegram", "slack-app", "shopify-access", "databricks", "atlassian",
    "grafana-service", "password-word", "yaml short", "netrc line", "netrc lines", "curl -u",
    "docker config", "npmrc auth", "pgpass", "htpasswd", "kubernetes data",
}  # fmt: skip


@pytest.fixture(scope="module")
def campaign() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module("trust_secrets")
    finally:
        sys.path.remove(str(SCRIPTS))


def test_the_kinds_that_the_issue_names_are_masked_in_every_context(campaign: ModuleType) -> None:
    cases = [case for case in campaign.every_case(SEED) if case.kind in NAMED_BY_THE_ISSUE]
    assert {case.kind for case in cases} == NAMED_BY_THE_ISSUE
    assert [(case.kind, case.context) for case in cases if campaign.leaks(case)] == []


def test_there_are_many_kinds_and_a_seed_repeats_their_values(campaign: ModuleType) -> None:
    cases = list(campaign.every_case(SEED))
    assert len({case.kind for case in cases}) >= 150
    assert cases == list(campaign.every_case(SEED))
    assert all(case.secret in case.text or "%" in case.text for case in cases)


@pytest.mark.slow
def test_of_all_kinds_97_in_100_are_masked_in_every_context(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(campaign.REPOSITORIES, raising=False)
    result = campaign.run(SEED, None)
    assert result.has_passed, result
    assert any("not measured" in note for note in result.notes)


def test_chunks_of_repositories_are_counted_where_a_folder_is_given(
    campaign: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "one" / "main.py"
    source.parent.mkdir()
    source.write_text("def main():\n    return 1\n")
    monkeypatch.setenv(campaign.REPOSITORIES, str(tmp_path))
    assert campaign.run(SEED, 5).has_passed
    (tmp_path / "one" / "env").write_text("DB_PASSWORD=" + "x9Kq2" + "mZ7pL\n")
    assert "50.000% of 2 chunks are masked" in campaign.run(SEED, 5).failures
