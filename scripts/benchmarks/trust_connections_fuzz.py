"""Malformed requests and messages for the campaign ``connections``."""

import json
import random

TRUNCATED_OF_30 = 10
TARGETS = (
    "", "*", "//", "///", "/%", "/%zz", "/%00", "/..%2f..%2fetc/passwd", "/\0", "/\x7f", "/é",
    "http://127.0.0.1/", "http://evil.example/", "127.0.0.1:80", "/?token=", "/?" + "a=b&" * 500,
    "/" + "a" * 9_000, "/#", "/[", "/?token=%ff%fe", "\\", "/kernel", "/mcp", "/cookie",
)  # fmt: skip
HEADERS = (
    "Host: evil.example", "Host:", "Host", ": x", "X" * 9_000 + ": y", 'Cookie: prefs={"a":1}',
    "Cookie: " + "a=b; " * 5_000, "Origin: null", "Origin: http://evil.example", "X: \x01",
    "Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked",
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 99",
    "Authorization: Bearer",
    "Authorization: Bearer \xff\xfe", "Sec-WebSocket-Protocol: codekernel, guess", " folded: x",
)  # fmt: skip
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "http/1.1", "", "HTTP/1.1 x")
JSON_PARTS = (
    "{", "}", "[", "]", '"', ":", ",", "null", "1e999", "-", "\\u0000", "\\ud800", '"id"', '"call"',
    '"type":"TOOL_CALL"', '"jsonrpc":"2.0"', '"method":"tools/call"', '"params"', '"read":1', "é",
    "99999999999999999999999", '{"id":1,"call":"getRepos"}', '"fields"', "NaN", "\x01",
)  # fmt: skip


def wounded_request(port: int, chance: random.Random) -> bytes:
    """A request head with wounds; it ends, whatever they are."""
    method = chance.choice(["GET", "GET", "POST", "OPTIONS", "PRI", "", "G\0T", "\x16\x03\x01"])
    version = chance.choice(VERSIONS)
    headers = [f"Host: 127.0.0.1:{port}"] * chance.choice([0, 1, 1, 2])
    headers += [chance.choice(HEADERS) for _ in range(chance.randrange(5))]
    lines = [f"{method} {chance.choice(TARGETS)} {version}", *headers, "", ""]
    end = chance.choice(["\r\n", "\r\n", "\r\n", "\n"])
    wounded = bytearray(end.join(lines).encode("latin-1", "replace"))
    for _ in range(chance.randrange(4)):
        wounded[chance.randrange(len(wounded))] = chance.randrange(256)
    # Whatever the wounds, the head ends: what does not end is an attack of its own.
    return bytes(wounded) + b"\r\n\r\n"


def wounded_json(chance: random.Random) -> str:
    """A message that is no good: parts in any order, a truncated one, or a deep one."""
    kind = chance.randrange(30)
    if kind == 0:
        depth = chance.choice([150, 201, 900, 985, 1_000, 100_000])
        return chance.choice(["[", '{"a":', '[{"id":']) * depth
    if kind < TRUNCATED_OF_30:
        message = {"id": chance.choice([1, "x", None]), "call": "getRepos", "jsonrpc": "2.0"}
        whole = json.dumps(message)
        return whole[: chance.randrange(len(whole) + 1)]
    return "".join(chance.choice(JSON_PARTS) for _ in range(chance.randint(1, 12)))


def deep_line(chance: random.Random) -> bytes:
    """A line for ``serve`` that nobody waits for, nested too deeply."""
    depth = chance.choice([201, 900, 985, 995, 1_005, 100_000])
    nested = chance.choice(["[", '{"a":']) * depth
    frame = '{"sessionId":-1,"toMain":true,"callbackId":-1,"isReply":false,"message":'
    return (frame + nested).encode()
