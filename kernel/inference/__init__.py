"""Models on this machine: which accelerators really work, and later the embedders and rerankers.

onnxruntime and numpy enter only here, and only inside functions: importing them takes longer than
the kernel may take to say ``ready``.
"""
