"""Merge the models of another settings.json into this one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from codekernel.protocol.settings_text import decode_text, strip_comments

_CHAT_MODELS = ("conversationSettings", "generationModel")

_LOCAL_MODELS = ("localModelManagement", "models")

# Without a config the bundled ones are used; one that is added must not end that.
_CONFIGS = (
    (("searchSettings", "embeddingConfig", "configs"), "name"),
    (("searchSettings", "rerankConfig", "configs"), "modelName"),
)


def merge_settings(content: bytes, other: bytes, key_names: Mapping[str, str]) -> bytes | None:
    """Return ``content`` with the sections and models that only ``other`` has; None if none.

    Everything that both have stays as it is, and what is added is not selected. ``key_names`` has
    the name here of each API key there: the chat model of a renamed key is added under that name.
    None also if one of the two cannot be read.
    """
    try:
        ours, theirs = _parse(content), _parse(other)
    except (ValueError, RecursionError):
        return None
    before = json.dumps(ours)
    for model in _iterate_entries(theirs, _CHAT_MODELS):
        name = str(model.get("name"))
        _add_entry(ours, _CHAT_MODELS, "name", {**model, "name": key_names.get(name, name)})
    for model in _iterate_entries(theirs, _LOCAL_MODELS):
        _add_entry(ours, _LOCAL_MODELS, "name", model)
    for path, naming in _CONFIGS:
        for config in _iterate_entries(theirs, path) if any(_iterate_entries(ours, path)) else ():
            _add_entry(ours, path, naming, {**config, "selected": False})
    merged = theirs | ours
    if json.dumps(merged) == before:
        return None
    return json.dumps(merged, indent=2, ensure_ascii=False).encode() + b"\n"


def _parse(content: bytes) -> dict[str, Any]:
    document = json.loads(strip_comments(decode_text(content)))
    if not isinstance(document, dict):
        raise ValueError("settings are an object")  # noqa: TRY004 - as of every other mistake
    return document


def _add_entry(
    document: dict[str, Any], path: tuple[str, ...], naming: str, entry: dict[str, Any]
) -> None:
    """Append an entry, unless there is one of its name, or no list to append it to."""
    known = _find_list(document, path)
    names = [each.get(naming) for each in _iterate_entries(document, path)]
    if known is not None and entry.get(naming) not in names:
        known.append(entry)


def _iterate_entries(document: dict[str, Any], path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    return (entry for entry in _find_list(document, path) or () if isinstance(entry, dict))


def _find_list(document: dict[str, Any], path: tuple[str, ...]) -> list[Any] | None:
    place: Any = document
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return place if isinstance(place, list) else None
