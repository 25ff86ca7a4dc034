"""Recognises that a model was sent more than it can read, and how much it could have read.

Providers agree on neither a status nor a code; these are the words of their own messages.
"""

import re

_TELLING_WORDS = (
    r"context_length_exceeded|exceed_context_size|context_window_exceeded",
    r"(maximum|max|available|model'?s?) context (length|size|window)",  # OpenAI, vLLM
    r"exceed\w*[^.]{0,40} context",  # llama.cpp, Ollama
    r"context (the )?overflow|context length of only",  # LM Studio
    r"prompt is too long|prompt (tokens )?too long",  # Anthropic, Baidu
    r"input token count[^.]*exceeds",  # Gemini
    r"maximum prompt length",  # xAI
    r"longer than the maximum model length",  # vLLM
    r"`?inputs`? tokens \+ `?max_new_tokens",  # TGI, Together
    r"range of input length",  # DashScope
    r"exceeded model token limit",  # Moonshot
    r"prompt exceeds max length",  # Zhipu
    r"reduce (the|your) (length|message size)",  # Groq
    r"too many (input )?tokens",  # Cohere
)
_TOO_LONG = re.compile("|".join(_TELLING_WORDS), re.IGNORECASE)

_PAYLOAD_TOO_LARGE = 413

# "context length is 8192", "maximum prompt length is 131072", "(1024 tokens)", "> 200000 maximum".
_LIMITS = (
    re.compile(r'"n_ctx":\s*(\d+)'),
    re.compile(
        r"(?:context (?:length|size|window)|prompt length|model length|token limit|tokens allowed)"
        r"\D{0,20}(\d{3,9})",
        re.IGNORECASE,
    ),
    re.compile(r"(\d{3,9})\s+maximum", re.IGNORECASE),
)

# Errors quote what was sent; the words that matter stand at the beginning.
_LOOKED_AT = 4000


def is_too_long(status: int, text: str) -> bool:
    """Whether an error means that the request was too long for the model."""
    return status == _PAYLOAD_TOO_LARGE or _TOO_LONG.search(text[:_LOOKED_AT]) is not None


def limit_in(text: str) -> int | None:
    """The number of tokens that an error says the model can read; None if it names none."""
    for pattern in _LIMITS:
        found = pattern.search(text[:_LOOKED_AT])
        if found:
            return int(found.group(1))
    return None
