"""The ``Retry-After`` header: how long a server asks to be left alone."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def retry_after_seconds(value: str, now: datetime) -> float | None:
    """Seconds from ``now``, given as a number or as an HTTP date; None if it is neither."""
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
