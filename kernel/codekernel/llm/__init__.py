"""Chat models behind one interface (ChatBackend of domain).

The only package that imports httpx and xllamacpp.

Modules, in the order data meets them:

    model_pool.py        models by their names in the settings; the open ones shared
    backends.py          opening a model behind a url or from a .gguf file
    endpoint.py          urls of chat APIs; testing an endpoint
    providers/           the chat APIs: payloads and decoders
    remote_backend.py    one request after the other, with what the endpoint supports
    request_masking.py   secrets masked in what is sent
    http_client.py       clients and connections
    http_stream.py       one streaming request; decoders of its body
    retry.py             retries, backoff, timeouts
    network_errors.py    why no answer came
    response_errors.py   why an answer is an error
"""
