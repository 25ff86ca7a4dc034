"""Write what electron-bridge takes from Python: message types, and what a page may call.

Run ``python scripts/make_bridge_types.py`` after a change of ``protocol/`` or of
``adapters/web/page_api.py``; a test fails until the files are up to date.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "kernel"), str(ROOT / "scripts")]

import msgspec  # noqa: E402 - the project must be found first
from codekernel import errors  # noqa: E402
from codekernel.adapters.web import page_api  # noqa: E402
from codekernel.adapters.web.page_api import PAGE_CALLS, CallTarget, PageKind  # noqa: E402
from codekernel.dispatch.dispatcher import HandlerReply, StreamedReply  # noqa: E402
from codekernel.dispatch.routing import Router  # noqa: E402
from codekernel.handlers.context import main_router, session_router  # noqa: E402
from codekernel.protocol import PROTOCOL_VERSION  # noqa: E402
from codekernel.protocol.envelope import Message, ReplyData, get_message_type  # noqa: E402
from codekernel.protocol.messages.conversation import HistoryFile  # noqa: E402
from codekernel.protocol.messages.search import ChunkInfo  # noqa: E402
from codekernel.protocol.settings_file import SettingsFile  # noqa: E402
from javascript_tables import (  # noqa: E402
    WIDTH,
    format_key,
    format_literal,
    format_module,
)
from msgspec import inspect  # noqa: E402

BRIDGE = ROOT / "electron-bridge"
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

MADE_FROM = "Made by scripts/make_bridge_types.py from kernel/codekernel/{}. Do not edit."
PAGE_API = MADE_FROM.format("adapters/web/page_api.py")

# Names of the Electron host for its messages to and from a window.
CHANNELS = {
    name.upper(): f"codekernel:{name}"
    for name in ("call", "converse", "stop", "read", "part", "event")
}

HEADER = f"""\
/**
 * What is said on the wire, version {PROTOCOL_VERSION}; PROTOCOL.md explains it.
 *
 * {MADE_FROM.format("protocol")}
 */
"""


def main() -> int:
    """Write the files."""
    for file, text in generate_files().items():
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT).as_posix()}")
    return 0


def generate_languages(folder: Path) -> str:
    """Return the module that lists the further languages of the pages."""
    codes = sorted(file.stem for file in folder.glob("*.js") if file.stem != "index")
    names = {code: re.sub(r"\W", "_", code) for code in codes}
    imports = "".join(f"import {names[code]} from './{code}.js';\n" for code in codes)
    gap = "\n" if imports else ""
    return (
        "/** Made by scripts/make_bridge_types.py from this folder's files. Do not edit. */\n\n"
        f"{imports}{gap}/** @type {{import('../common/i18n.js').LanguageFile[]}} */\n"
        f"export const furtherLanguages = [{', '.join(names.values())}];\n"
    )


def generate_files() -> dict[Path, str]:
    """Return the text of each file that is made."""
    preload = BRIDGE / "preload.cjs"
    languages = BRIDGE / "app" / "pages" / "languages"
    return {
        languages / "index.js": generate_languages(languages),
        BRIDGE / "types" / "protocol.d.ts": generate_message_types(),
        BRIDGE / "types" / "page_api.d.ts": _page_types(),
        BRIDGE / "src" / "page_api.js": _host_tables(),
        BRIDGE / "app" / "pages" / "web" / "page_api.js": _browser_tables(),
        preload: _with_preload_tables(preload.read_text(encoding="utf-8")),
    }


def generate_message_types() -> str:
    """Return protocol.d.ts."""
    told = [kind for kind in _messages() if get_message_type(kind) not in _asked()]
    told.sort(key=get_message_type)  # not by which module was imported first
    written: list[Struct] = [*_data_structs(), HistoryFile]
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
        lines.append(f"  {format_key(field.encode_name)}{'?' if missing else ''}: {shown};")
    return "\n".join([*lines, "}\n"])


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
    router.import_all()
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


def _page_types() -> str:
    lines = [f"/** {PAGE_API} */\n"]
    lines.append("import type { MainRequests, SessionRequests } from './protocol.js';\n")
    lines.append(
        "/** The calls of `window.kernel` that are requests to the kernel, as they are. */"
    )
    lines.append("export interface ForwardedCalls {")
    routers: dict[CallTarget, tuple[str, Router[Any]]] = {
        CallTarget.KERNEL: ("MainRequests", main_router),
        CallTarget.SESSION: ("SessionRequests", session_router),
    }
    for call in PAGE_CALLS:
        if call.target in routers:
            requests, router = routers[call.target]
            request = f"{requests}['{call.name}']"
            has_fields = bool(_info(router.routes[call.name].declaration).fields)
            fields = f"fields: {request}['fields']" if has_fields else ""
            lines += _fitting(f"  {call.name}(", fields, f"): Promise<{request}['data']>;")
    lines.append("}\n")
    lines.append("/** The calls of `window.kernel.host`. */\nexport type HostCall =")
    lines += [f"  | '{name}'" for name in _names(CallTarget.HOST)]
    lines[-1] += ";"
    return "\n".join(lines) + "\n"


def _fitting(before: str, inner: str, after: str) -> list[str]:
    """Return a signature on one line, or on three as Prettier breaks it."""
    line = f"{before}{inner}{after}"
    return [line] if len(line) <= WIDTH else [before, f"    {inner},", f"  {after}"]


def _names(*targets: CallTarget, page: PageKind | None = None) -> list[str]:
    wanted = targets or tuple(target for target in CallTarget if target is not CallTarget.HOST)
    return [
        call.name
        for call in PAGE_CALLS
        if call.target in wanted and (page is None or page in call.pages)
    ]


def _host_tables() -> str:
    tables: dict[str, tuple[str, Any]] = {
        "CHANNELS": ("Between a window and the main process.", CHANNELS),
        "MAIN_PAGE_CALLS": (
            "What the list of repositories and the settings may call.",
            _names(page=PageKind.MAIN),
        ),
        "REPOSITORY_PAGE_CALLS": (
            "What the page of a repository may call.",
            _names(page=PageKind.REPOSITORY),
        ),
        "SESSION_CALLS": (
            "Requests to the session of the window that calls.",
            _names(CallTarget.SESSION),
        ),
        "HOST_CALLS": ("What the app itself answers.", _names(CallTarget.HOST)),
        "MAX_CONVERSATIONS": ("Of one window at a time.", page_api.MAX_CONVERSATIONS),
        "MAX_REPOSITORIES": ("That a window keeps open.", page_api.MAX_REPOSITORIES),
        "STATUS_FLUSH_INTERVAL_MS": (
            "Statuses of files are sent together so often.",
            page_api.STATUS_FLUSH_INTERVAL_MS,
        ),
        "MAX_CONSECUTIVE_RESTARTS": (
            "Of a kernel or a session that crashes.",
            page_api.MAX_CONSECUTIVE_RESTARTS,
        ),
        "STABLE_AFTER_MS": (
            "A crash after so long starts the count again.",
            page_api.STABLE_AFTER_SECONDS * 1000,
        ),
        "CALL_TIMEOUT_MS": ("For a reply.", page_api.CALL_TIMEOUT_SECONDS * 1000),
        "SLOW_CALL_TIMEOUT_MS": (
            "For a reply that takes longer.",
            {name: 1000 * it for name, it in page_api.SLOW_CALL_TIMEOUT_SECONDS.items()},
        ),
        "CONTENT_SECURITY_POLICY": ("Of every page.", page_api.CONTENT_SECURITY_POLICY),
        "MIME_TYPES": ("Suffix of a file -> its type.", page_api.MIME_TYPES),
        "EDITORS": ("Program -> its arguments, in the order of the search.", page_api.EDITORS),
        "WINDOWS_PROGRAMS": (
            "Program -> its file on Windows, beside the folder of its .cmd.",
            page_api.WINDOWS_PROGRAMS,
        ),
    }
    return format_module(PAGE_API, tables)


def _browser_tables() -> str:
    return format_module(
        PAGE_API,
        {
            "CALLS": ("The calls of `window.kernel`.", _names()),
            "EVENTS": ("What `window.kernel.on` takes.", page_api.PAGE_EVENTS),
            "CALL_TIMEOUT_SECONDS": ("For a reply.", page_api.CALL_TIMEOUT_SECONDS),
            "SLOW_CALL_TIMEOUT_SECONDS": (
                "For a reply that takes longer.",
                page_api.SLOW_CALL_TIMEOUT_SECONDS,
            ),
        },
    )


def _with_preload_tables(source: str) -> str:
    """Return preload.cjs with its tables replaced; it runs sandboxed and can import nothing."""
    tables = {"CHANNELS": CHANNELS, "CALLS": _names(), "EVENTS": page_api.PAGE_EVENTS}
    made = "".join(f"const {name} = {format_literal(value)};\n" for name, value in tables.items())
    block = f"// {PAGE_API}\n{made}// End of what is made.\n"
    replaced, count = re.subn(
        r"// Made by .*?// End of what is made\.\n", block, source, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError("preload.cjs must have one block that is made")
    return replaced


if __name__ == "__main__":
    sys.exit(main())
