"""Says in one sentence why no secure connection came about, and which rule a certificate broke."""

import ssl

COMPANY_PROXY = (
    "if a company proxy re-signs traffic, set SSL_CERT_FILE to a file with its certificate"
)

# OpenSSL's numbers (X509_V_ERR_*); the ssl module gives them no names.
_SELF_SIGNED = frozenset({18, 19})
_UNKNOWN_ISSUER = frozenset({2, 20, 21})
_EXPIRED = frozenset({10})
_NOT_YET_VALID = frozenset({9})
_OTHER_HOST = frozenset({62, 64})

_PROBLEMS: tuple[tuple[frozenset[int], str, str], ...] = (
    (_SELF_SIGNED, "is self-signed, so it is not trusted", COMPANY_PROXY),
    (_UNKNOWN_ISSUER, "was issued by nobody this machine trusts", COMPANY_PROXY),
    (_EXPIRED, "has expired", "ask whoever runs it to renew it, and check this machine's clock"),
    (_NOT_YET_VALID, "is not valid yet", "check this machine's clock"),
    (_OTHER_HOST, "belongs to another host name", "check the host in the url"),
)

# What OpenSSL calls bytes that are no TLS record; the word differs between its versions.
_PLAIN_TEXT_REASONS = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "HTTP_REQUEST",
        "HTTPS_PROXY_REQUEST",
        "RECORD_LAYER_FAILURE",
        "PACKET_LENGTH_TOO_LONG",
        "UNKNOWN_PROTOCOL",
    }
)


def tls_problem(error: ssl.SSLError, peer: str) -> str:
    """Explain a handshake with ``peer`` that failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_problem(error.verify_code, peer)
    if error.reason in _PLAIN_TEXT_REASONS:
        return (
            f"{peer} does not speak TLS on this port: "
            "if the server is a plain one, write http:// instead of https://."
        )
    return (
        f"{peer} and codekernel could not agree on a secure connection "
        f"({error.reason or 'no reason given'}): "
        "check the url, and any proxy or firewall in between."
    )


def _certificate_problem(code: int, peer: str) -> str:
    for codes, problem, advice in _PROBLEMS:
        if code in codes:
            return f"The certificate of {peer} {problem}: {advice}."
    return f"The certificate of {peer} is not trusted (OpenSSL's code {code}): {COMPANY_PROXY}."
