"""chunkhound in a child process, without embeddings."""

# ruff: noqa: PLC0415 - how long the imports take is measured

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from rival_child import Answer, Stopwatch, resident_megabytes, serve


def load() -> tuple[dict[str, float], dict[str, Answer]]:
    """Import chunkhound, put DuckDB's extension where it looks for it."""
    watch = Stopwatch()
    from chunkhound.core.config.config import Config
    from chunkhound.database_factory import DatabaseServices, create_services
    from chunkhound.services.directory_indexing_service import DirectoryIndexingService
    from duckdb_extensions import import_extension

    ready = {"import_seconds": watch.seconds(), "model_seconds": 0.0}
    import_extension("vss")
    loop = asyncio.new_event_loop()
    held: dict[str, DatabaseServices] = {}
    folders: list[tempfile.TemporaryDirectory[str]] = []
    # Where the user keeps settings must not change what is measured.
    without = {"env", "global", "local_config", "config_file", "cli"}

    def index(request: dict[str, Any]) -> dict[str, object]:
        if held:
            held.pop("services").provider.disconnect()
            folders.pop().cleanup()
        root = Path(str(request["root"]))
        folders.append(tempfile.TemporaryDirectory())
        database = {"path": Path(folders[0].name), "provider": "duckdb"}
        watch = Stopwatch()
        config = Config(skip_layers=without, target_dir=root, database=database)
        services = create_services(config.database.get_db_path(), config)
        work = DirectoryIndexingService(services.indexing_coordinator, config)
        done = loop.run_until_complete(work.process_directory(root, no_embeddings=True))
        seconds, cpu_seconds = watch.seconds(), watch.cpu_seconds()
        held["services"] = services
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "save_seconds": 0.0,
            "files": done.files_processed,
            "chunks": done.chunks_created,
            "rss_mb": resident_megabytes(),
        }

    def search(request: dict[str, Any]) -> dict[str, object]:
        service = held["services"].search_service
        watch = Stopwatch()
        asked = service.search_regex_async(request["pattern"], page_size=request["k"])
        found, _ = loop.run_until_complete(asked)
        took = watch.milliseconds()
        hits = [[row["file_path"], row["start_line"], row["end_line"]] for row in found]
        return {**took, "hits": hits}

    return ready, {"index": index, "search": search}


if __name__ == "__main__":
    serve(load)
