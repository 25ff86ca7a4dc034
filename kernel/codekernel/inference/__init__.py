"""Run ONNX embedding and reranking models on this machine.

Onnxruntime, numpy and tokenizers are imported only here, after the kernel has sent ready.

Modules, in the order data meets them:

    model_folder.py       the bundled models; the files and the configuration of a model
    sentencepiece.py      parser of SentencePiece files
    tokenizer_loader.py   the tokenizer of a model folder; counting tokens
    providers.py          onnxruntime without telemetry; CUDA, CoreML or the CPU
    onnx_session.py       one run of an ONNX model
    static_table.py       a static model in numpy: its words to pieces, its table to vectors
    model_session.py      texts to token ids, batches of similar length
    model_pool.py         embedders and rerankers, shared by reference count
"""
