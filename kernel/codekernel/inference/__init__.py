"""Run ONNX embedding and reranking models on this machine.

Onnxruntime, numpy and tokenizers are imported only here, after the kernel has said ready.

Modules, in the order data meets them:

    model_folder.py
    sentencepiece.py
    tokenizer_loader.py
    tokenizer.py
    onnx_runtime.py
    providers.py
    model_session.py
    model_outputs.py
    batching.py
    embedder.py
    reranker.py
    model_pool.py
"""
