"""Values of options: numbers and ports."""

import argparse

# As many as the kernel returns to any client.
MAX_HITS = 10_000

MAX_PORT = 65535


def parse_count(text: str) -> int:
    """Return a whole number from 1 upwards."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 upwards")
    return int(text)


def parse_port_or_zero(text: str) -> int:
    """Return a port, or 0 for any."""
    return 0 if text == "0" else parse_port(text)


def parse_port(text: str) -> int:
    """Return a port."""
    port = parse_count(text)
    if port > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port: at most {MAX_PORT}")
    return port


def parse_hit_limit(text: str) -> int:
    """Return how many hits are wanted."""
    hits = parse_count(text)
    if hits > MAX_HITS:
        raise argparse.ArgumentTypeError(f"{text} is too many: at most {MAX_HITS}")
    return hits


def parse_context(text: str) -> int:
    """Return a number of lines."""
    return 0 if text == "0" else parse_count(text)
