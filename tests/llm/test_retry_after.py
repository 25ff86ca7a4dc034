from datetime import UTC, datetime

import pytest
from codekernel.llm.retry import parse_retry_after

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10),
        ("Fri, 02 Jan 2026 03:00:00 GMT", 0),
    ],
)
def test_seconds_and_http_dates_are_understood(value: str, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-1", "nan", "inf", "1e9", "٣", "9" * 5000, "Fri, 99 Jan 2026 03:04:15 GMT"],
)
def test_anything_else_is_as_if_it_were_not_there(value: str) -> None:
    assert parse_retry_after(value, NOW) is None
