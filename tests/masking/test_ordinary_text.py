"""What is no secret stays as it is; most of these lines stand in public repositories."""

import pytest
from codekernel.masking.masker import MaskedText, mask_secrets

HASH = "9f86d081884c7d65" + "9a2feaa0c55ad015"
LINES = [
    "password: str",
    "password: Option<&str>,",
    "password = user.password",
    "let password = credential.password",
    "password = getpass.getpass()",
    "password: os.environ['DB_PASSWORD']",
    "DB_PASSWORD=${DB_PASSWORD}",
    "DB_PASSWORD=$DB_PASSWORD",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=<your password>",
    "DB_PASSWORD=",
    "PASSWORD=xxxxxxxx",
    'password = "password123"',
    'password: "********"',
    "password: None",
    "password: {{ vault_password }}",
    "password: !Ref DbPassword",
    "const pass = !stderr",
    "dup_passwd.tchar_ptr = curlx_tcsdup(passwd);",
    "conn->bits.proxy_user_passwd = !!data->state.passwd;",
    "private_key: GNUTLS_PKCS_USE_PKCS12_3DES",
    "pass: checks?.length",
    "PWD=$TEST_DIR/a/b/c",
    "pass `-fsanitize=address`",
    "--passWithNoTests=false",
    "token = node.next_token",
    "def token: Parser[String] = Rfc2616.token",
    '<a class="token" href="#/s:9Alamofire6ResultO8mapErroryACyxGqd__s0D0_pXEsAFRd__lF">',
    "result = a.SelectTokens(\"$.[?(@.value!='2000-12-05T05:07:59-10:00')]\")",
    f"commit {HASH}",
    f'"sha256": "{HASH}{HASH}"',
    f'cache_key = "{HASH}"',
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "public_key = 'AAAAB3NzaC1yc2EAAAADAQABAAABAQ'",
    "Authorization: AWS4-HMAC-SHA256",
    "Authorization: Basic dXNlcjpwYXNz",
    "Authorization: Bearer <token>",
    "http://user:pass@example.com/",
    "postgres://user:${PASSWORD}@db/app",
    "curl -u user:password https://example.com",
    "docker run -u 1000:1000 image",
    "at Example$1$deferred$1.invokeSuspend(ExampleChannelsTest.kt)",
    "AKIAIOSFODNN7 is how such keys begin",
    "async def test_connection_lost_paused_without_waiter():",
    'const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";',
    "the password of the user is stored as a hash, the token in a cookie",
    "密码不能为空",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_without_a_secret_stays_as_it_is(line: str) -> None:
    for text in (line, f"{line}\n", f"a = 1\n    {line}\nb = 2\n"):
        assert mask_secrets(text) == MaskedText(text, 0)


def test_a_certificate_and_an_image_are_no_keys() -> None:
    row = "MIIDADCCAegCCQCgevpPMuTTLzANBgkqhkiG9w0BAQsFADBCMQswCQYDVQQGEwJV"[:64]
    rows = "\n".join(row[index:] + row[:index] for index in range(12))
    certificate = f"-----BEGIN CERTIFICATE-----\n{rows}\n-----END CERTIFICATE-----\n"
    assert mask_secrets(certificate).count == 0
    image = "\n".join((row + row[:12])[index:] + row[:index] for index in range(12)) + "\n"
    assert mask_secrets(image).count == 0
