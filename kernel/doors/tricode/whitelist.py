"""Which tools an agent gets: those of ``--tools a,b``, and always its plan."""

from kernel.agent.loop_prompt import PLAN
from kernel.agent.registry import Registry


def whitelisted(
    usual: Registry, registry: Registry, names: str | None
) -> tuple[Registry, list[str]]:
    """The tools of a list with commas, plan first, and the names that nobody knows.

    Without a list, the usual ones. The others do not exist for the agent.
    """
    if names is None:
        return usual, []
    wanted = [stripped for name in names.split(",") if (stripped := name.strip())]
    unknown = [name for name in dict.fromkeys(wanted) if name not in registry]
    return registry.only([PLAN, *wanted]), unknown
