"""The rules of card JSON 2.0, as the platform's documents have them: unknown attributes are errors.

Of the components only those are known that codekernel uses, each with all of its attributes.
"""

import json
import re
from typing import Any

MAX_PLATFORM_BYTES = 30 * 1024
MAX_PLATFORM_ELEMENTS = 200
MAX_PLATFORM_TABLES = 5
MAX_BUTTON_CHARS = 100

COLORS = {
    "blue", "wathet", "turquoise", "green", "yellow", "orange", "red", "carmine", "violet",
    "purple", "indigo", "grey", "default",
}  # fmt: skip

TEXT = {"tag", "content", "i18n_content", "text_size", "text_color", "text_align", "lines", "icon"}
ICON = {"tag", "token", "color", "img_key", "size"}
PLACE = {"element_id", "margin"}
LAYOUT = {
    "direction", "padding", "horizontal_spacing", "horizontal_align", "vertical_spacing",
    "vertical_align",
}  # fmt: skip

CARD = {"schema", "config", "card_link", "header", "body"}
CONFIG = {
    "streaming_mode", "streaming_config", "summary", "locales", "enable_forward", "update_multi",
    "width_mode", "use_custom_translation", "enable_forward_interaction", "style",
}  # fmt: skip
HEADER = {"title", "subtitle", "text_tag_list", "i18n_text_tag_list", "template", "icon", "padding"}
PANEL = {"tag", "expanded", "background_color", "header", "border", "elements"} | PLACE | LAYOUT
PANEL_HEADER = {
    "title", "background_color", "vertical_align", "padding", "position", "width", "icon",
    "icon_position", "icon_expanded_angle",
}  # fmt: skip
COMPONENTS = {
    "markdown": {"tag", "content", "text_size", "text_align", "icon"} | PLACE,
    "div": {"tag", "text", "icon", "width"} | PLACE,
    "hr": {"tag"} | PLACE,
    "collapsible_panel": PANEL,
    "button": {
        "tag", "type", "size", "width", "text", "icon", "hover_tips", "disabled", "disabled_tips",
        "confirm", "behaviors", "name", "form_action_type",
    } | PLACE,
    "column_set": {
        "tag", "horizontal_spacing", "horizontal_align", "flex_mode", "background_style", "action",
        "columns",
    } | PLACE,
    "column": {"tag", "background_style", "width", "weight", "action", "elements"} | PLACE | LAYOUT,
}  # fmt: skip

TABLE_RULE = re.compile(r"(?m)^[^\n]*\|[^\n]*\n\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")
PICTURE = re.compile(r"!\[[^\]\n]*\]\((?!img_)")
CODE = re.compile(
    r"(?ms)^ {0,3}(`{3,}|~{3,})[^`\n]*$.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
    r"|(?<![`\\])(`+)(?!`)[^\n]+?(?<!`)\2(?!`)"
)
TAG = re.compile(r"</?[A-Za-z][^>\n]*>")


class CardRefused(ValueError):
    """What the platform answers with 230099."""


def check_card(card: Any) -> None:
    """Raise CardRefused for the first attribute, component or limit that is broken."""
    _check_keys("card", card, CARD)
    if card.get("schema") != "2.0":
        raise CardRefused("schema is not 2.0")
    _check_keys("config", card.get("config", {}), CONFIG)
    if card.get("config", {}).get("update_multi") is not True:
        raise CardRefused("update_multi must be declared true")
    header = card.get("header", {})
    _check_keys("header", header, HEADER)
    if header.get("template", "default") not in COLORS:
        raise CardRefused(f"template {header['template']}")
    for name in {"title", "subtitle"} & set(header):
        _check_text(header[name], {"plain_text", "lark_md"})
    _check_keys("body", card["body"], {"elements"} | LAYOUT)
    for element in card["body"]["elements"]:
        _check_component(element, 1)
    if _count_tags(card) > MAX_PLATFORM_ELEMENTS:
        raise CardRefused("element exceeds the limit")
    if _count_tables(card) > MAX_PLATFORM_TABLES:
        raise CardRefused("ErrCode: 11310; ErrMsg: card table number over limit")


def _check_component(element: Any, depth: int) -> None:
    if depth > 5:
        raise CardRefused("nested too deep")
    allowed = COMPONENTS.get(element.get("tag"))
    if allowed is None:
        raise CardRefused(f"ErrCode: 200861; unsupported tag {element.get('tag')}")
    _check_keys(element["tag"], element, allowed)
    if element["tag"] == "markdown":
        _check_markdown(element["content"])
    if element["tag"] == "div":
        _check_text(element["text"], {"plain_text", "lark_md"})
    if element["tag"] == "button":
        _check_button(element)
    if element["tag"] == "collapsible_panel":
        _check_keys("panel header", element["header"], PANEL_HEADER)
        _check_text(element["header"]["title"], {"plain_text", "markdown"})
        _check_keys("panel icon", element["header"].get("icon", {}), ICON)
        _check_keys("border", element.get("border", {}), {"color", "corner_radius"})
    for inner in (*element.get("elements", ()), *element.get("columns", ())):
        _check_component(inner, depth + 1)


def _check_markdown(content: Any) -> None:
    if not isinstance(content, str) or not content:
        raise CardRefused("markdown without content")
    words = CODE.sub("\0", content)
    if PICTURE.search(words):
        raise CardRefused("ErrCode: 11246; invalid image key")
    if TAG.search(words):
        raise CardRefused(f"a tag got through: {TAG.search(words)}")


def _check_button(element: Any) -> None:
    _check_text(element["text"], {"plain_text"})
    if not 0 < len(element["text"]["content"]) <= MAX_BUTTON_CHARS:
        raise CardRefused("text of a button")
    for behavior in element["behaviors"]:
        if behavior["type"] != "callback" or not isinstance(behavior["value"], dict):
            raise CardRefused("behaviors of a button")


def _check_text(text: Any, tags: set[str]) -> None:
    _check_keys("text", text, TEXT)
    if text.get("tag") not in tags or not isinstance(text.get("content"), str):
        raise CardRefused(f"text {text!r}")


def _check_keys(name: str, value: Any, allowed: set[str]) -> None:
    if not isinstance(value, dict):
        raise CardRefused(f"{name} is no object")
    if unknown := set(value) - allowed:
        raise CardRefused(f"ErrCode: 200621; {name} has unknown property {sorted(unknown)}")


def _count_tags(value: Any) -> int:
    if isinstance(value, dict):
        return ("tag" in value) + sum(_count_tags(each) for each in value.values())
    return sum(map(_count_tags, value)) if isinstance(value, list) else 0


def _count_tables(value: Any) -> int:
    if isinstance(value, dict):
        own = value.get("content") if value.get("tag") == "markdown" else None
        found = len(TABLE_RULE.findall(CODE.sub("\0", own))) if isinstance(own, str) else 0
        return found + sum(_count_tables(each) for each in value.values())
    return sum(map(_count_tables, value)) if isinstance(value, list) else 0


def list_texts(card: Any) -> list[str]:
    """Return every text of the body in order, what is folded too."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("tag") in {"markdown", "plain_text"}:
                found.append(value["content"])
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(card["body"])
    return found


def measure_request(card: Any) -> int:
    """Return the bytes of the largest request with a card: a new message with all its ids."""
    body = {
        "receive_id": "oc_" + "x" * 32, "msg_type": "interactive", "uuid": "u" * 50,
        "content": json.dumps(card, ensure_ascii=False, separators=(",", ":")),
    }  # fmt: skip
    return len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
