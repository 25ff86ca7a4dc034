"""Providers and local servers that a chat model can be added from: address and key page, as data.

Local servers are listed with the port that each uses unless it is told otherwise.
"""

from dataclasses import dataclass

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class ModelPreset:
    """A provider, or a server on this machine; ``key_page`` is empty if it needs no key."""

    name: str
    title: str
    url: str
    key_page: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return not self.key_page


MODEL_PRESETS = (
    ModelPreset("openai", "OpenAI", OPENAI_URL, "https://platform.openai.com/api-keys"),
    ModelPreset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "https://console.anthropic.com/settings/keys",
    ),
    ModelPreset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "https://platform.deepseek.com/api_keys",
    ),
    ModelPreset(
        "qwen",
        "Qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "https://modelstudio.console.alibabacloud.com/?tab=playground#/api-key",
    ),
    ModelPreset(
        "qwen-china",
        "Qwen (China)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "https://bailian.console.aliyun.com/?tab=model#/api-key",
    ),
    ModelPreset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "https://platform.moonshot.ai/console/api-keys",
    ),
    ModelPreset(
        "moonshot-china",
        "Moonshot (China)",
        "https://api.moonshot.cn/v1",
        "https://platform.moonshot.cn/console/api-keys",
    ),
    ModelPreset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://aistudio.google.com/apikey",
    ),
    ModelPreset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/settings/keys",
    ),
    ModelPreset("ollama", "Ollama", "http://127.0.0.1:11434"),
    ModelPreset("lm-studio", "LM Studio", "http://127.0.0.1:1234/v1"),
    ModelPreset("llama.cpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    ModelPreset("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)
