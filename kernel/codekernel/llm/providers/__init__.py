"""One module for each kind of chat API: its payloads and its decoder.

Modules, in the order data meets them:

    base.py        capabilities of an endpoint; assembling a reply
    openai.py      OpenAI and its many imitators
    ollama.py      Ollama's own API
    gguf.py        the header of a .gguf file
    llama_cpp.py   a .gguf file served in this process
"""
