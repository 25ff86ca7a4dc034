"""Chat models behind one interface (ChatBackend of domain).

Open and pool them, send requests, stream replies, retry, and explain every failure. The only
package that imports httpx and xllamacpp.

Modules, in the order data meets them:

    model_pool.py
    backends.py
    endpoint.py
    http_client.py
    http_stream.py
    retry.py
    network_errors.py
    response_errors.py
    remote_backend.py
"""
