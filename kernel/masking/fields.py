"""Fields of messages that are secret by their name alone."""

from typing import Any

HIDDEN = "***"
# Names under which clients send API keys, in lower case.
SECRET_FIELDS = frozenset({"api", "apikey", "api_key"})


def mask_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the values of its secret fields, whatever these are."""
    if SECRET_FIELDS.isdisjoint(key.lower() for key in message):
        return message
    return {
        key: HIDDEN if key.lower() in SECRET_FIELDS else value for key, value in message.items()
    }
