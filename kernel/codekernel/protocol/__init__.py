"""The wire protocol and the files that share its format.

msgspec and camelCase stay inside this package. The ready line, the first line of every run, stands
here, spelt out, so that it is sent before anything is imported; clients need no more than the
constants beside it.

Modules, in the order data meets them:

    envelope.py         the envelope, base classes of messages, builders of replies, the codec
    messages/           one declaration per message
    turn_parts.py       the events of a turn as parts of its reply
    agent_session_entries.py  agent sessions as the wire has them
    tool_schema.py      JSON schemas of tool arguments
    settings_file.py    settings.json
    settings_text.py    its comments, and where it stops being JSON
    history_file.py     journals and conversation files
"""

# The session of the main process, which has no repository.
MAIN_SESSION_ID = -1

# Of a request whose reply is not wanted.
NO_CALLBACK_ID = -1

READY_CALLBACK_ID = 1

READY_LINE = (
    b'{"sessionId":-1,"toMain":true,"callbackId":1,"isReply":false,"message":{"type":"ready"}}'
)

# See PROTOCOL.md.
PROTOCOL_VERSION = "1.0"
