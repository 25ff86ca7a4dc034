"""Document 000: a Kode backend.

Modules, in the order data meets them:

    tool_calls.py    calls of tools, line by line
    chat_request.py  the body of a request to the service, and the folder that it is about
    stream.py        an agent's events as the frames of the service
    service.py       the service over HTTP
"""
