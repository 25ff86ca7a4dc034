"""Run ONNX embedding and reranking models on this machine.

Onnxruntime, numpy and tokenizers are imported only here, after the kernel has sent ready.

Modules, in the order data meets them:

    model_folder.py       the files and the configuration of a model
    sentencepiece.py      parser of SentencePiece files
    tokenizer_loader.py   the tokenizer of a model folder
    tokenizer.py          texts to token ids; counting tokens
    onnx_runtime.py       onnxruntime without telemetry
    providers.py          CUDA, CoreML or the CPU
    batching.py           batches of similar length on a thread pool
    model_outputs.py      which output to use; pooling
    model_session.py      a loaded model and one run of it
    embedder.py           vectors of documents and queries
    reranker.py           scores of texts for a query
    model_pool.py         loaded models shared by reference count
"""
