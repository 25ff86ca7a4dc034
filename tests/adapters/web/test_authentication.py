"""Who may come in, and what is to be had there: token, cookie, Host, Origin, files."""

import re
import socket
from pathlib import Path

import pytest
from adapters.web.browsing import Browser, WebProcess, secret_in
from codekernel.adapters.static_pages import StaticPages, find_pages_folder
from codekernel.adapters.web.authentication import BROWSER_TOKEN_TTL_SECONDS, BrowserAuth
from codekernel.adapters.web.page_api import CONTENT_SECURITY_POLICY
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[3]
BRIDGE = ROOT / "electron-bridge"


def test_the_address_lets_a_browser_in_once_and_leads_to_the_repository(
    user_data: Path, repo: Path
) -> None:
    with WebProcess(user_data, repo, "--no-browser") as web:
        path = web.address.partition(str(web.port))[2]
        status, headers, body = Browser(web.port).get(path)
        assert status == 200
        assert "url=/repository.html?repo=demo" in body
        cookie = headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert headers["Cache-Control"] == "no-store"
        assert secret_in(body)
        assert secret_in(body) not in cookie
        assert "Set-Cookie" not in Browser(web.port).get(path)[1]
        assert Browser(web.port).get(path)[0] == 403
        assert Browser(web.port, cookie.partition(";")[0]).get(path)[0] == 200


@pytest.mark.parametrize("path", ["/", "/repos.html", "/web_kernel.js", "/?token=", "/kernel"])
def test_a_browser_without_the_cookie_sees_nothing(known: Browser, path: str) -> None:
    for cookie in ("", f"codekernel-{known.port}=guess", "nonsense; =;"):
        status, headers, body = Browser(known.port, cookie).get(path)
        assert status == 403
        assert "codekernel web" in body
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1"])
def test_another_name_for_this_machine_is_refused(known: Browser, host: str) -> None:
    assert known.get("/repos.html", Host=host)[0] == 403
    with pytest.raises(InvalidStatus) as refused:
        known.tab(host=host)
    assert refused.value.response.status_code in {400, 403}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_is_refused(known: Browser, origin: str) -> None:
    assert known.get("/repos.html", Origin=origin)[0] == 403
    with pytest.raises(InvalidStatus) as refused:
        known.tab(origin=origin)
    assert refused.value.response.status_code == 403


def test_a_connection_that_names_no_origin_is_refused(known: Browser) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    assert known.get("/kernel", **upgrade)[0] == 403


def test_the_cookie_alone_opens_no_connection(known: Browser) -> None:
    """Every other server on 127.0.0.1 that the person visits is sent it."""
    for secret in ("", "guess", known.cookie.partition("=")[2]):
        with pytest.raises(InvalidStatus) as refused:
            Browser(known.port, known.cookie, secret).tab()
        assert refused.value.response.status_code == 403


def test_the_cookie_buys_no_page_secret(known: Browser) -> None:
    for path in ("/", "/?token=spent", "/repos.html", "/cookie"):
        headers, body = known.get(path)[1:]
        assert known.secret not in body + str(headers)


def test_a_page_opens_a_connection_though_its_cookie_was_overwritten(known: Browser) -> None:
    with Browser(known.port, f"codekernel-{known.port}=overwritten", known.secret).tab() as tab:
        assert tab.call("getRepos")


def test_a_lost_cookie_is_given_again_for_the_page_secret(known: Browser) -> None:
    stranger = Browser(known.port)
    assert stranger.get("/cookie")[0] == 403
    assert stranger.get("/cookie", Authorization="Bearer guess")[0] == 403
    status, headers, _ = stranger.get("/cookie", Authorization=f"Bearer {known.secret}")
    assert (status, headers["Cache-Control"]) == (204, "no-store")
    assert headers["Set-Cookie"].partition(";")[0] == known.cookie


def test_the_scripts_that_let_a_browser_in_again_need_no_cookie(known: Browser) -> None:
    sorry = Browser(known.port).get("/repos.html")[2]
    (script,) = re.findall(r'src="([^"]+)"', sorry)
    for path in (script, "/web/page_secret.js"):
        assert Browser(known.port).get(path)[0] == 200


@pytest.mark.parametrize(
    "others",
    [
        'prefs={"theme":"dark"}',
        'a=b; prefs={"theme": [1, 2; 3]}; =; ;;',
        "\x80\xff=\xfe; a b=c d; @:/=x",
        "codekernel-{port}=old; codekernel-{port}",
        "big=" + "x" * 200_000,
        "; ".join(f"cookie{number}={'y' * 3000}" for number in range(180)),
    ],
)
def test_cookies_of_other_sites_shut_nobody_out(known: Browser, others: str) -> None:
    rest = others.replace("{port}", str(known.port))
    for cookies in (
        f"{rest}; {known.cookie}",
        f"{known.cookie}; {rest}",
        f"{known.cookie};{rest};",
    ):
        browser = Browser(known.port, cookies.encode("latin-1").decode("latin-1"), known.secret)
        assert browser.get("/repos.html")[0] == 200
    assert Browser(known.port, rest).get("/repos.html")[0] == 403


@pytest.mark.parametrize("page", ["/repos.html", "/web_kernel.js", "/web/connection.js"])
def test_pages_come_with_the_rules_that_keep_them_safe(known: Browser, page: str) -> None:
    status, headers, body = known.get(page)
    assert status == 200
    text = (find_pages_folder() / page[1:]).read_text(encoding="utf-8")
    assert re.sub("/v/[0-9a-f]+/|<link rel=.modulepreload.*\n *", "", body) == text
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-cache"
    kind = "text/html" if page.endswith("html") else "text/javascript"
    assert headers["Content-Type"] == f"{kind}; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "/../package.json",
        "/%2e%2e/package.json",
        "/..%2fpackage.json",
        "/web/../../package.json",
        "/..%5cpackage.json",
        "/web",
        "/web/",
        "/nothing.html",
        "/vendor",
    ],
)
def test_nothing_outside_the_pages_is_served(known: Browser, path: str) -> None:
    assert known.get(path)[0] == 404


@pytest.mark.parametrize("path", ["//etc/hosts", "/repos.html%00.js", "/%zz", "/%", "/#x"])
def test_a_malformed_target_is_refused_as_such(known: Browser, path: str) -> None:
    assert known.get(path)[0] == 400


def test_a_link_out_of_the_pages_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "own.json").write_text("{}", encoding="utf-8")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    pages = StaticPages(folder)
    assert pages.read("/own.json")
    assert pages.read("/link.json") is None


def test_a_browser_that_wants_an_icon_is_not_told_of_an_error(known: Browser) -> None:
    assert known.get("/favicon.ico")[0] == 204


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get_is_answered(known: Browser, method: str) -> None:
    assert known.get("/repos.html", method)[0] == 405


def test_nobody_else_of_the_network_can_connect(known: Browser) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {"127.0.0.1", "::1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|assign"):
            socket.create_connection((str(address), known.port), timeout=5)


def test_a_token_is_good_once_and_only_whole() -> None:
    access = BrowserAuth(4711)
    token = access.entry_url.partition("=")[2]
    for wrong in (token[:-1], "ü", ""):
        assert not access.is_valid_token(wrong)
        assert not access.redeem_token(wrong, lambda: True)
    assert access.redeem_token(token, lambda: False)
    assert not access.redeem_token(token, lambda: True)


def test_an_address_that_other_accounts_may_know_is_for_our_own_account() -> None:
    access = BrowserAuth(4711)
    token = access.make_browser_url(own_account_only=True).partition("=")[2]
    assert not access.redeem_token(token, lambda: False)
    assert access.redeem_token(token, lambda: True)


def test_an_address_for_a_browser_is_good_for_a_minute() -> None:
    now = 1000.0
    access = BrowserAuth(4711, clock=lambda: now)
    token = access.make_browser_url(own_account_only=False).partition("=")[2]
    printed = access.entry_url.partition("=")[2]
    now += BROWSER_TOKEN_TTL_SECONDS + 1
    assert not access.redeem_token(token, lambda: True)
    assert access.redeem_token(printed, lambda: True)
