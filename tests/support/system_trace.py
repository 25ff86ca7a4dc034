"""What a program and its children asked of the system: connections, name lookups, files written.

Linux only: ``strace -f`` sees native code too, which no hook inside Python does. Usable without
pytest, so that the campaign ``network`` runs it too.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from support.polling import wait_until

DNS_PORTS = frozenset({53, 853, 5353, 5355})
# Sockets of name resolution; a refused connection counts as an attempt.
RESOLVER_SOCKETS = re.compile(r"nscd|systemd/(resolve|userdb)|io\.systemd\.Resolve|avahi|mdns")
SYSTEM_CALLS = (
    "execve", "connect", "sendto", "sendmsg", "sendmmsg", "open", "openat", "openat2", "creat",
    "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat", "truncate",
)  # fmt: skip
LOG_ENDS_WITHIN_SECONDS = 60.0
POLL_SECONDS = 0.02

# The number of a thread, the name it goes by, and what it did.
_LINE = re.compile(r"^(\d+)(?:<(.*?)>)? +(.*)$")
_RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+|\?)(.*)$")
_ENDED = re.compile(r"^\+\+\+ (exited with|killed by)")
_UNFINISHED = " <unfinished ...>"
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<((?:[^<>\\]|\\.)*)>, )?"((?:[^"\\]|\\.)*)"')
_INTERNET = re.compile(
    r"sa_family=AF_INET6?, .*?sin6?_port=htons\((\d+)\).*?"
    r'(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"'
)
_LOCAL = re.compile(r'sa_family=AF_UNIX, sun_path=@?"((?:[^"\\]|\\.)*)"')
_WRITES = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
_MAKERS = frozenset(SYSTEM_CALLS) - {
    "execve", "connect", "sendto", "sendmsg", "sendmmsg", "open", "openat", "openat2",
}  # fmt: skip
# Devices that keep nothing, and what a process says of itself.
_NOWHERE = re.compile(r"^/dev/(null|zero|full|tty|ptmx|u?random|pts(/.*)?)$|^/proc/(self|\d+)/")


@dataclass(frozen=True, slots=True)
class Written:
    """A file or folder that was made, opened to be written or given another name."""

    path: str
    system_call: str
    program: str


@dataclass(slots=True)
class SystemTrace:
    """All that was seen; addresses are ``host:port``."""

    programs: list[str] = field(default_factory=list)
    lookups: list[str] = field(default_factory=list)
    connections: list[str] = field(default_factory=list)
    sockets: list[str] = field(default_factory=list)
    writes: list[Written] = field(default_factory=list)

    def outside(self, hosts: Iterable[str] = ()) -> list[str]:
        """The connections to neither loopback nor one of ``hosts``."""
        allowed = frozenset(hosts)
        return [one for one in self.connections if not _is_near(one.rpartition(":")[0], allowed)]

    def written_outside(self, *folders: Path) -> list[Written]:
        """What was written in none of ``folders``; compiled Python beside its source is let be."""
        roots = [os.path.realpath(folder) for folder in folders]
        return [
            one
            for one in self.writes
            if not any(_is_inside(os.path.realpath(one.path), root) for root in roots)
            and "/__pycache__/" not in f"{one.path}/"
        ]

    def written_inside(self, folder: Path) -> set[str]:
        """What was written below ``folder``, as relative paths with slashes."""
        root = os.path.realpath(folder)
        real = (os.path.realpath(one.path) for one in self.writes)
        return {path[len(root) + 1 :] for path in real if path.startswith(f"{root}/")}


def traced(command: Sequence[str], log: Path) -> list[str]:
    """The command under strace, as the same direct child; its log is whole after ``read_trace``."""
    return [
        str(shutil.which("strace")), "-D", "-f", "-y", "-Y", "-s", "4096", "--seccomp-bpf",
        "-e", f"trace={','.join(f'?{call}' for call in SYSTEM_CALLS)}", "-e", "signal=none",
        "-o", str(log), *command,
    ]  # fmt: skip


def read_trace(log: Path, folder: Path) -> SystemTrace:
    """Wait until every process of ``log`` has ended; ``folder`` is where the first one began."""
    what = f"{log} has no end: a process is still running"
    wait_until(lambda: not _is_written(log), what, LOG_ENDS_WITHIN_SECONDS)
    return parse_trace(log.read_text(errors="replace").splitlines(), folder)


def parse_trace(lines: Iterable[str], folder: Path) -> SystemTrace:
    """Read what ``strace -f -y`` wrote."""
    found = SystemTrace()
    folders: dict[str, str] = {}
    for process, program, call in _whole_calls(lines):
        matched = _CALL.match(call)
        if not matched:
            continue
        name, words, result, rest = matched.groups()
        if at := re.search(r"AT_FDCWD<((?:[^<>\\]|\\.)*)>", words):
            folders[process] = _plain(at[1])
        if name == "execve" and result == "0":
            found.programs.append(_program_of(words))
        elif name in {"connect", "sendto", "sendmsg", "sendmmsg"}:
            _note_address(found, words)
        elif _is_write(name, words, result, rest):
            paths = _paths_of(name, words, rest, folders.get(process, str(folder)))
            kept = (path for path in paths if not _NOWHERE.match(path))
            found.writes += [Written(path, name, program) for path in kept]
    return found


def _whole_calls(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Each call with its result, though another thread's may stand in the middle of it."""
    begun: dict[str, str] = {}
    for line in lines:
        if not (matched := _LINE.match(line)):
            continue
        process, program, call = matched.groups()
        if call.endswith(_UNFINISHED):
            begun[process] = call.removesuffix(_UNFINISHED)
        elif resumed := _RESUMED.match(call):
            yield process, program, begun.pop(process, "") + resumed[1]
        else:
            if process in begun and _ENDED.match(call):  # killed inside it: it was asked for
                yield process, program, begun.pop(process) + ") = ?"
            yield process, program, call
    yield from ((process, "", f"{call}) = ?") for process, call in begun.items())


def _is_written(log: Path) -> bool:
    """Whether an strace still follows what it started; it is no child of ours to wait for."""
    word = os.fsencode(log)
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            words = each.read_bytes().split(b"\0")
            if words[0].endswith(b"strace") and word in words:
                return True
    return False


def _note_address(found: SystemTrace, words: str) -> None:
    if local := _LOCAL.search(words):
        path = _plain(local[1])
        (found.lookups if RESOLVER_SOCKETS.search(path) else found.sockets).append(path)
    for port, host in _INTERNET.findall(words):
        is_lookup = int(port) in DNS_PORTS
        (found.lookups if is_lookup else found.connections).append(f"{host}:{port}")


def _is_write(name: str, words: str, result: str, rest: str) -> bool:
    """Whether something was written, or would have been had it been allowed."""
    if result == "-1" and not re.search(r"\b(EACCES|EPERM|EROFS|ENOSPC|EDQUOT)\b", rest):
        return False
    return name in _MAKERS or _WRITES.search(words) is not None


def _paths_of(name: str, words: str, rest: str, here: str) -> Iterator[str]:
    if name in {"open", "openat", "openat2", "creat"} and (opened := re.match(r"<(.*)>$", rest)):
        yield _plain(opened[1]).removesuffix(" (deleted)")
        return
    named = [
        os.path.normpath(Path(_plain(beside) or here) / _plain(path))
        for beside, path in _PATH.findall(words)
    ]
    # A link's first word is what it says, not where it stands.
    yield from named[-1:] if "link" in name else named


def _program_of(words: str) -> str:
    """The program's file and, of Python, the module it was told to run."""
    given = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
    name = Path(given[0]).name if given else ""
    return f"{name} {given[given.index('-m') + 1]}" if "-m" in given[:-1] else name


def _plain(text: str) -> str:
    return text.encode("latin-1", "replace").decode("unicode_escape", "replace")


def _is_near(host: str, allowed: frozenset[str]) -> bool:
    address = ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or host in allowed


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")
