"""The wire protocol and the files that share its format.

msgspec and camelCase stay inside this package.

Modules, in the order data meets them:

    handshake.py        the ready line
    codec.py            lines <-> envelopes, JSON
    envelope.py         the envelope, base classes of messages, builders of replies
    messages/           one declaration per message
    tool_schema.py      JSON schemas of tool arguments
    settings_file.py    settings.json
    history_file.py     journals and conversation files
    history_import.py   damaged files and those of PocketRAG's kernel
"""
