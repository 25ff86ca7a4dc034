"""Measure the kernel: ``python scripts/bench.py NAME [options]``, ``--help`` for the options.

startup, pump: the process; embed, models: the models; index, live, scale: the index from cold,
while files change, and at a million chunks; quality, query: how well and how fast searches find;
chat: what conversations add to their model; rivals: what others need for the same repositories;
callchain: how fast and how right calls are followed; impact: the tests that real commits break,
beside those it names; agent: what an agent adds to its model;
trust: campaigns of faults (kills, damages, full disks, races, secrets, connections, network);
rankings: whether searches answer as in another checkout, to the last bit;
compare: this checkout against another one; code_size: how much code there is and a request meets;
mcp: tokens of the tools' schemas and of typical answers; federation: one query to ten repositories;
clients: one kernel for terminals, front ends and MCP servers; hub: agent sessions on devices;
hub_kills: the same while hub, kernel and agents are killed; telegram_soak, lark_soak: a bot while
everything goes wrong; pages: the app in a browser; team: what a second developer saves by
the store of the team;
team_base: many repositories in one table of that store; base_vectors: kinds of index for it;
base_growth: it with a million chunks; team_edits: five hundred random changes over it; team_kills:
it while committers and readers are killed; team_faults: what a person reads when the store is
broken; ray_nodes: it on a cluster, one node of which dies;
team_clients: many clients of a team's kernel; remote_embedding: what codekernel adds to a server's
time; install: from the wheel to the first answer in an empty environment;
growth: time, memory and disk by size; vector_scan: a search of vectors alone; vector_lists: the
same in inverted lists; install_size: what is installed; all: renews docs/performance.md.

Prints figures with the work they were measured on. The machines are shared, so a target is a ratio
inside one run, or a latency of one run, never a comparison of two runs.
"""

import os
import subprocess
import sys

import environment

BENCHMARKS = (
    "startup", "pump", "embed", "models", "index", "live", "scale", "quality", "query", "chat",
    "rivals", "rankings", "callchain", "impact", "agent", "trust", "compare", "code_size",
    "mcp", "federation", "clients", "hub", "hub_kills", "telegram_soak", "lark_soak", "team",
    "team_base", "base_growth", "base_vectors", "team_edits", "team_kills", "team_faults",
    "ray_nodes", "team_clients",
    "remote_embedding",
    "install", "growth", "vector_scan", "vector_lists", "install_size", "all", "pages",
)  # fmt: skip

# A file called mcp.py would hide the library of that name.
SCRIPT_NAMES = {"mcp": "mcp_tokens", "all": "performance"}

# With a model for llama.cpp, which only tests and they need.
WITH_MODELS = {"remote_embedding"}


def main() -> int:
    """Run one benchmark in the project's environment."""
    chosen = sys.argv[1:2]
    if chosen and chosen[0] in BENCHMARKS:
        interpreter = environment.ensure(environment.RUNTIME_LOCK)
        if chosen[0] in WITH_MODELS:
            environment.add_models()
        # Users have compiled modules; without them every start would be measured with compiling.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        # Each benchmark measures a kernel of its own; ``clients`` asks for a shared one itself.
        os.environ["CODEKERNEL_STANDALONE"] = "1"
        name = SCRIPT_NAMES.get(chosen[0], chosen[0])
        script = environment.ROOT / "scripts" / "benchmarks" / f"{name}.py"
        return subprocess.run(
            [str(interpreter), str(script), *sys.argv[2:]], check=False
        ).returncode
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
