"""The wire protocol and the files that share its format.

Envelopes, message declarations, the JSON codec, settings.json and conversation histories.
msgspec and camelCase stay inside this package.

Modules, in the order data meets them:

    envelope.py
    codec.py
    history_file.py
    history_import.py
    settings_file.py
    tool_schema.py
    handshake.py
"""
