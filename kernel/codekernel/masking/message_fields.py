"""Mask message fields that are secret by name (API keys).

Imported at start-up, so it imports nothing.
"""

from typing import Any

FIELD_MASK = "***"

# Names under which clients send API keys, in lower case.
SECRET_FIELD_NAMES = frozenset({"api", "apikey", "api_key"})


def mask_secret_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the values of its secret fields, whatever these are."""
    if SECRET_FIELD_NAMES.isdisjoint(key.lower() for key in message):
        return message
    return {
        key: FIELD_MASK if key.lower() in SECRET_FIELD_NAMES else value
        for key, value in message.items()
    }
