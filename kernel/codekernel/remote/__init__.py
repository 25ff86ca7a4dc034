"""Embedding models and rerankers behind an address (``endpoint`` of ``localModelManagement``).

What leaves is asked for first, once for each repository and endpoint, and secrets in it are masked.

Modules, in the order data meets them:

    consents.py          which repository may be sent to which endpoint
    embedding_answer.py  an answer of /v1/embeddings -> vectors in the order of the texts
    identity.py          which model is served: a digest of the endpoint and of probe vectors
    remote_embedder.py   texts in batches, several requests at once; queries with a deadline
    remote_reranker.py   scores of texts for a query
    remote_models.py     the open ones, shared by reference count
    model_trial.py       does it answer, and as what: for doctor
"""
