"""One module for each kind of chat API, behind the two small protocols of base.

Build a payload, decode a reply.

Modules, in the order data meets them:

    base.py
    openai.py
    ollama.py
    llama_cpp.py
    gguf.py
"""
