"""The client of the HTTP API: token, refusals and what they mean for a person."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from codekernel.adapters.lark.api import (
    LarkApi,
    LarkRefused,
    ReconnectPolicy,
    parse_policy,
    resolve_domain,
)
from codekernel.adapters.lark.cards import build_card, make_markdown
from codekernel.errors import NetworkError
from support.lark_platform import APP_ID, APP_SECRET, RATE_REFUSAL, LarkPlatform

CARD = build_card("t", "", "blue", [make_markdown("語")])


@pytest.fixture
def platform() -> Iterator[LarkPlatform]:
    with LarkPlatform() as opened:
        yield opened


@pytest.fixture
def api(platform: LarkPlatform) -> Iterator[LarkApi]:
    client = LarkApi(APP_ID, APP_SECRET, platform.url)
    yield client
    client.close()


def test_a_card_is_sent_once_and_updated(platform: LarkPlatform, api: LarkApi) -> None:
    message_id = api.send_card("oc_1", CARD, "u1")
    assert api.send_card("oc_1", CARD, "u1") == message_id
    api.update_card(message_id, build_card("t", "", "green", []))
    assert [each["header"]["template"] for each in platform.messages[message_id].versions] == [
        "blue",
        "green",
    ]
    tokens = [path for _, path, _ in platform.requests if "tenant_access_token" in path]
    assert len(tokens) == 1


def test_an_ended_token_is_renewed_once(platform: LarkPlatform, api: LarkApi) -> None:
    api.get_token()
    platform.tokens.clear()
    assert api.get_bot_name() == "Loop"


@pytest.mark.parametrize(
    ("app_id", "secret", "code"), [("cli_x", APP_SECRET, 10003), (APP_ID, "not-the-secret", 10014)]
)
def test_wrong_credentials_are_explained_and_the_secret_is_not_quoted(
    platform: LarkPlatform, app_id: str, secret: str, code: int
) -> None:
    with (
        closing(LarkApi(app_id, secret, platform.url)) as api,
        pytest.raises(LarkRefused, match="secret is wrong") as refused,
    ):
        api.get_token()
    assert refused.value.lark_code == code
    assert refused.value.retry_seconds is None
    assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ((429, {"code": 99991400}, {"x-ogw-ratelimit-reset": "7"}), 7.0),
        (RATE_REFUSAL, 1.0),
        ((400, {"code": 230020}, {}), 1.0),
        ((503, {"code": 2200}, {}), 1.0),
        ((400, {"code": 230002}, {}), None),
        ((400, {"code": 230099}, {}), None),
    ],
)
def test_a_refusal_says_when_a_later_try_may_succeed(
    platform: LarkPlatform,
    api: LarkApi,
    answer: tuple[int, dict[str, Any], dict[str, str]],
    seconds: float | None,
) -> None:
    platform.faults.refusals.append(answer)
    with pytest.raises(LarkRefused) as refused:
        api.send_card("oc_1", CARD, "u1")
    assert refused.value.retry_seconds == seconds


def test_a_platform_that_is_away_is_explained(platform: LarkPlatform, api: LarkApi) -> None:
    api.get_token()
    platform.stop()
    with pytest.raises(NetworkError, match=r"refused the connection|without an answer"):
        api.send_card("oc_1", CARD, "u1")


def test_rights_are_those_that_were_granted(platform: LarkPlatform, api: LarkApi) -> None:
    platform.scopes = {"im:message"}
    assert api.list_scopes() == {"im:message"}


def test_a_domain_is_a_name_or_an_address() -> None:
    assert resolve_domain("feishu") == "https://open.feishu.cn"
    assert resolve_domain("Lark") == "https://open.larksuite.com"
    assert resolve_domain("https://lark.example.com/") == "https://lark.example.com"


def test_a_policy_that_makes_no_sense_is_the_usual_one() -> None:
    usual = ReconnectPolicy(jitter_seconds=0.0)
    assert parse_policy({"ReconnectInterval": "x", "PingInterval": 0}) == usual
    assert parse_policy({"PingInterval": 30}).ping_seconds == 30.0
