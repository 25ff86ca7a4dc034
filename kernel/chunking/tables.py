"""Every language that has a grammar, by the name `domain/languages.py` gives it."""

from kernel.chunking import compiled_tables, data_tables, object_tables, script_tables
from kernel.chunking.grammar import Grammar

GRAMMARS: dict[str, Grammar] = {
    "python": script_tables.PYTHON,
    "javascript": script_tables.JAVASCRIPT,
    "jsx": script_tables.JAVASCRIPT,
    "typescript": script_tables.TYPESCRIPT,
    "tsx": script_tables.TSX,
    "ruby": script_tables.RUBY,
    "php": script_tables.PHP,
    "lua": script_tables.LUA,
    "bash": script_tables.BASH,
    "elixir": script_tables.ELIXIR,
    "go": compiled_tables.GO,
    "rust": compiled_tables.RUST,
    "c": compiled_tables.C,
    "cpp": compiled_tables.CPP,
    "zig": compiled_tables.ZIG,
    "swift": compiled_tables.SWIFT,
    "haskell": compiled_tables.HASKELL,
    "java": object_tables.JAVA,
    "kotlin": object_tables.KOTLIN,
    "csharp": object_tables.C_SHARP,
    "scala": object_tables.SCALA,
    "json": data_tables.JSON,
    "yaml": data_tables.YAML,
    "toml": data_tables.TOML,
    "sql": data_tables.SQL,
    "html": data_tables.HTML,
    "vue": data_tables.HTML,
    "svelte": data_tables.HTML,
    "css": data_tables.CSS,
}
