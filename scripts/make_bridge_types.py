"""Write electron-bridge/types/protocol.d.ts from the declarations in ``protocol/``.

``python scripts/make_bridge_types.py`` after a message has changed; a test notices if it was not.
"""

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 - the project must be found first
from codekernel import errors  # noqa: E402
from codekernel.dispatch.requests import HandlerReply, StreamedReply  # noqa: E402
from codekernel.dispatch.routing import Router  # noqa: E402
from codekernel.handlers.context import main_router, session_router  # noqa: E402
from codekernel.protocol.envelope import Message, ReplyData, get_message_type  # noqa: E402
from codekernel.protocol.handshake import PROTOCOL_VERSION  # noqa: E402
from codekernel.protocol.history_file import HistoryFile  # noqa: E402
from codekernel.protocol.messages.search import ChunkInfo  # noqa: E402
from codekernel.protocol.settings_file import SettingsFile  # noqa: E402
from msgspec import inspect  # noqa: E402

TARGET = ROOT / "electron-bridge" / "types" / "protocol.d.ts"
WIDTH = 100
Struct = type[msgspec.Struct]

# What is put together piece by piece has no declaration of its own.
LONG_ANSWERS: dict[str, tuple[str, Struct]] = {"getChunksInfo": ("chunkInfo", ChunkInfo)}

PLAIN: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.BoolType: "boolean",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.NoneType: "null",
    inspect.AnyType: "unknown",
}

HEADER = f"""\
/**
 * What is said on the wire, version {PROTOCOL_VERSION}; PROTOCOL.md explains it.
 *
 * Made by scripts/make_bridge_types.py from kernel/codekernel/protocol. Do not edit.
 */
"""


def main() -> int:
    """Write the file."""
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(generated(), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT).as_posix()}")
    return 0


def generated() -> str:
    """The whole file."""
    told = [kind for kind in _messages() if get_message_type(kind) not in _asked()]
    written = [*_data_structs(), HistoryFile]
    read = [*(route.declaration for route in _routes()), SettingsFile]
    to_kernel = _with_parts(read)
    # What goes both ways, the settings, is declared as the kernel takes it.
    from_kernel = [kind for kind in _with_parts([*told, *written]) if kind not in to_kernel]
    if both := {_name(kind) for kind in to_kernel} & {_name(kind) for kind in from_kernel}:
        raise NotImplementedError(f"{both} would be declared twice")
    blocks = [
        HEADER,
        _codes(),
        *(_interface(kind, by_kernel=True) for kind in to_kernel),
        *(_interface(kind, by_kernel=False) for kind in from_kernel),
        _requests("MainRequests", "What the main process may ask the kernel.", main_router),
        _requests("SessionRequests", "What a window may ask its session.", session_router),
        _tellings(told),
    ]
    return "\n".join(blocks)


def _messages() -> list[type[Message]]:
    return [kind for kind in Message.__subclasses__() if kind.__module__.startswith("codekernel.")]


def _routes() -> list[Any]:
    return [*main_router.routes.values(), *session_router.routes.values()]


def _asked() -> set[str]:
    return {get_message_type(route.declaration) for route in _routes()}


def _data_structs() -> list[Struct]:
    return [
        kind for kind in ReplyData.__subclasses__() if kind.__module__.startswith("codekernel.")
    ]


def _with_parts(kinds: Iterable[Struct]) -> list[Struct]:
    """The structs and those inside them, each once, by name."""
    found: dict[str, Struct] = {}

    def visit(kind: Struct) -> None:
        if _name(kind) in found:
            return
        found[_name(kind)] = kind
        for field in _info(kind).fields:
            for part in _structs_in(field.type):
                visit(part)

    for kind in kinds:
        visit(kind)
    return [found[name] for name in sorted(found)]


def _structs_in(kind: inspect.Type) -> Iterator[Struct]:
    match kind:
        case inspect.StructType():
            yield kind.cls
        case inspect.ListType():
            yield from _structs_in(kind.item_type)
        case inspect.DictType():
            yield from _structs_in(kind.value_type)
        case inspect.UnionType():
            for each in kind.types:
                yield from _structs_in(each)


def _info(kind: Struct) -> inspect.StructType:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - what msgspec promises
    return info


def _name(kind: Struct) -> str:
    return kind.__name__


def _interface(kind: Struct, *, by_kernel: bool) -> str:
    hints = get_type_hints(kind)
    lines = [*_comment(kind.__doc__ or ""), f"export interface {_name(kind)} {{"]
    if kind.__struct_config__.tag is not None:
        lines.append(f"  {kind.__struct_config__.tag_field}: '{kind.__struct_config__.tag}';")
    for field in _info(kind).fields:
        may_be_unset = msgspec.UnsetType in get_args(hints[field.name])
        has_default = not field.required and not may_be_unset
        omits = kind.__struct_config__.omit_defaults
        missing = may_be_unset or (has_default and (by_kernel or omits))
        shown = _type(field.type)
        if missing and not by_kernel and field.default is None:
            shown = shown.removesuffix(" | null")  # what is null is left out
        lines.append(f"  {_key(field.encode_name)}{'?' if missing else ''}: {shown};")
    return "\n".join([*lines, "}\n"])


def _key(name: str) -> str:
    return name if name.isidentifier() else f"'{name}'"


def _comment(text: str) -> list[str]:
    paragraph = " ".join(text.replace("``", "`").split())
    single = f"/** {paragraph} */"
    if len(single) <= WIDTH:
        return [single]
    return ["/**", *(f" * {line}" for line in textwrap.wrap(paragraph, WIDTH - 3)), " */"]


def _type(kind: inspect.Type) -> str:
    match kind:
        case inspect.StructType():
            return _name(kind.cls)
        case inspect.ListType():
            item = _type(kind.item_type)
            return f"({item})[]" if " | " in item else f"{item}[]"
        case inspect.DictType():
            return f"Record<string, {_type(kind.value_type)}>"
        case inspect.UnionType():
            return " | ".join(_type(each) for each in kind.types)
        case inspect.EnumType():
            return " | ".join(f"'{member.value}'" for member in kind.cls)
    return PLAIN[type(kind)]


def _codes() -> str:
    found = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.KernelError)
    }
    lines = [f"  | '{code}'" for code in sorted(found)]
    comment = "/** The codes of a reply that failed, spelt as the wire spells them. */"
    return "\n".join([comment, "export type KernelCode =", *lines]) + ";\n"


def _requests(name: str, comment: str, router: Router[Any]) -> str:
    lines = [f"/** {comment} `data` is that of the reply. */", f"export interface {name} {{"]
    for kind, route in router.routes.items():
        fields = f"Omit<{_name(route.declaration)}, 'type'>"
        data = _reply_of(kind, route.handler)
        one_line = f"  {kind}: {{ fields: {fields}; data: {data} }};"
        if len(one_line) <= WIDTH:
            lines.append(one_line)
        else:
            lines += [f"  {kind}: {{", f"    fields: {fields};", f"    data: {data};", "  };"]
    return "\n".join([*lines, "}\n"])


def _reply_of(kind: str, handler: Any) -> str:
    """The data of a reply, from what the handler says that it returns or yields."""
    returned = get_type_hints(handler)["return"]
    if returned is StreamedReply:
        key, item = LONG_ANSWERS[kind]
        return f"{{ {key}: {_name(item)}[] }}"
    said = [each for each in _flat(returned) if isinstance(each, type)]
    data = [each for each in said if issubclass(each, msgspec.Struct)]
    known = (msgspec.Struct, errors.KernelError, HandlerReply, type(None))
    if not all(issubclass(each, known) for each in said):
        raise NotImplementedError(f"what does {kind} answer? {returned}")
    return " | ".join(map(_name, data)) or "undefined"


def _flat(hint: Any) -> Iterator[Any]:
    """The members of a union, of an iterator of them, or the type itself."""
    arguments = get_args(hint)
    if not arguments:
        yield hint
    for each in arguments:
        yield from _flat(each)


def _tellings(told: list[type[Message]]) -> str:
    comment = "/** What the kernel says of its own accord. */"
    lines = [f"  | {name}" for name in sorted(_name(kind) for kind in told)]
    return "\n".join([comment, "export type KernelMessage =", *lines]) + ";\n"


if __name__ == "__main__":
    sys.exit(main())
