"""Document 000: a Kode backend.

Modules, in the order data meets them:

    chat_request.py  the body of a request and its folder; calls of tools, line by line
    stream.py        an agent's events as the frames of the service
    service.py       the service over HTTP
"""
