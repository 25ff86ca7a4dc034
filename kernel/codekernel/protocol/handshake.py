"""The ready line, the first line of every run.

Spelt out so that it is sent before anything is imported; and the protocol version (see
PROTOCOL.md).
"""

READY_CALLBACK_ID = 1

READY_LINE = (
    b'{"sessionId":-1,"toMain":true,"callbackId":1,"isReply":false,"message":{"type":"ready"}}'
)

PROTOCOL_VERSION = "1.0"
