import subprocess
import sys
from pathlib import Path

NOISY = """
import os, subprocess, sys
from codekernel.transport.descriptors import claim_stdio

wire = claim_stdio()
print("a stray print", flush=True)
os.write(1, b"a library that writes to descriptor 1\\n")
child = "import sys; print('a child', repr(sys.stdin.read()))"
subprocess.run([sys.executable, "-c", child])
wire.write(b'{"the only":"line"}\\n')
wire.write(b"echo:" + wire.read(100))
"""

SILENT = """
import os
os.close(2)
from codekernel.transport.descriptors import claim_stdio

wire = claim_stdio()
os.write(1, b"nowhere to go")
wire.write(b"wire\\n")
"""


def run(script: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", script], input=stdin, capture_output=True, check=True, cwd=root
    )


def test_nothing_but_the_wire_reaches_stdout_and_nothing_else_reads_stdin() -> None:
    done = run(NOISY, b"from the front end\n")
    assert done.stdout == b'{"the only":"line"}\necho:from the front end\n'
    stderr = done.stderr.decode()
    for stray in ("a stray print", "a library that writes", "a child ''"):
        assert stray in stderr


def test_a_process_started_without_stderr_can_still_be_claimed() -> None:
    assert run(SILENT, b"").stdout == b"wire\n"
