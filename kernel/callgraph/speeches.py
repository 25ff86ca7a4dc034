"""Every language whose calls are followed, by the name `domain/languages.py` gives it."""

from kernel.callgraph import compiled_queries, object_queries, script_queries
from kernel.callgraph.speech import Speech

SPEECHES: dict[str, Speech] = {
    "python": script_queries.PYTHON,
    "javascript": script_queries.JAVASCRIPT,
    "jsx": script_queries.JAVASCRIPT,
    "typescript": script_queries.TYPESCRIPT,
    "tsx": script_queries.TSX,
    "ruby": script_queries.RUBY,
    "php": script_queries.PHP,
    "go": compiled_queries.GO,
    "rust": compiled_queries.RUST,
    "c": compiled_queries.C,
    "cpp": compiled_queries.CPP,
    "swift": compiled_queries.SWIFT,
    "java": object_queries.JAVA,
    "kotlin": object_queries.KOTLIN,
    "csharp": object_queries.C_SHARP,
    "scala": object_queries.SCALA,
}
