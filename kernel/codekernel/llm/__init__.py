"""Chat models behind one interface (ChatBackend of domain).

The only package that imports httpx and xllamacpp.

Modules, in the order data meets them:

    model_pool.py        models by their names in the settings; the open ones shared
    presets.py           providers and local servers to add a model from
    model_list.py        the models of an endpoint; a test of one; the servers on this machine
    providers/           the chat APIs: payloads and decoders; .gguf files
    remote_backend.py    a model behind a url: secrets masked, tokens counted, options adapted
    model_endpoint.py    a server of embedding models or rerankers: JSON with a deadline
    http_client.py       urls of chat APIs, clients and connections
    http_request.py      one request: retries, backoff, timeouts, the streamed response
    network_errors.py    why no answer came
    response_errors.py   why an answer is an error
"""
