"""The first line of every run, spelt out so that it can be sent before anything is imported."""

READY_CALLBACK_ID = 1

READY_LINE = (
    b'{"sessionId":-1,"toMain":true,"callbackId":1,"isReply":false,"message":{"type":"ready"}}'
)
