"""The version of the protocol, which moves on its own: see PROTOCOL.md."""

PROTOCOL_VERSION = "1.0"
