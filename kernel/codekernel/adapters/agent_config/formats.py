"""The formats of config files by their names."""

from codekernel.adapters.agent_config.json_text import JSON_FORMAT, JSONC_FORMAT
from codekernel.adapters.agent_config.plain_text import BLOCK_FORMAT, WHOLE_FILE_FORMAT
from codekernel.adapters.agent_config.text_edits import ConfigFormat
from codekernel.adapters.agent_config.toml_text import TOML_FORMAT

BLOCK, WHOLE_FILE = "block", "file"

JSON, JSONC, TOML, YAML = "json", "jsonc", "toml", "yaml"

_FORMATS = {
    JSON: JSON_FORMAT,
    JSONC: JSONC_FORMAT,
    TOML: TOML_FORMAT,
    BLOCK: BLOCK_FORMAT,
    WHOLE_FILE: WHOLE_FILE_FORMAT,
}


def get_format(name: str) -> ConfigFormat:
    """Return the format with a name."""
    if name == YAML:
        from codekernel.adapters.agent_config.yaml_text import YAML_FORMAT  # noqa: PLC0415 - seldom

        return YAML_FORMAT
    return _FORMATS[name]
