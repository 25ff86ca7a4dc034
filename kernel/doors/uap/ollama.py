"""An agent whose model runs in Ollama on this machine."""

from kernel.agent.registry import Registry
from kernel.domain.chat import ChatBackend
from kernel.domain.settings import GenerationModel
from kernel.doors.uap.loop_backend import LoopBackend, OpenContext

USUAL_URL = "http://127.0.0.1:11434"
_PATH = "/api/chat"
# Bytes of a token, for a model whose tokenizer nobody has here; rather too few than too many.
_BYTES_OF_TOKEN = 3


class OllamaBackend(LoopBackend):
    """Models that call tools do; the others write their calls as text, which is read as such."""

    def __init__(
        self, model: str, registry: Registry, open_context: OpenContext, *, url: str = USUAL_URL
    ) -> None:
        super().__init__(lambda: _opened(model, url), registry, open_context)


def _opened(model: str, url: str) -> ChatBackend:
    from kernel.llm.backends import open_backend  # noqa: PLC0415 - heavy, seldom needed

    chat = url if url.rstrip("/").endswith(_PATH) else f"{url.rstrip('/')}{_PATH}"
    return open_backend(GenerationModel("ollama", model, chat, needs_key=False), "", _tokens)


def _tokens(text: str) -> int:
    return len(text.encode(errors="replace")) // _BYTES_OF_TOKEN + 1
